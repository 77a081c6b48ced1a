"""`qagen catalog`: describes the tables of the catalog database from the comments in it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog.database import dictionary, snapshot
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal, print_json, warn
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.catalog import catalog_file, is_behind, rebuild_catalog
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

_LOCK_SECONDS = 60.0  # a command that only reads waits no longer for a rebuild by another process


@contextmanager
def current_catalog(store: Store) -> Generator[Path]:
    """The catalog, which is rebuilt if it is older than the store: runs in the Dagster UI can make sets without rebuilding the catalog.

    If the catalog cannot be rebuilt, the older catalog is used, with a warning. Raises StoreError when there is no catalog.
    """
    if is_behind(store):
        try:
            rebuild_catalog(store, _LOCK_SECONDS)
        except (OSError, StoreError) as error:
            warn([f"the catalog is older than the store and cannot be rebuilt: {error}"])
    with catalog_file(store) as file:
        yield file


@click.group()
def catalog() -> None:
    """Describe the tables of the catalog database."""


@catalog.command()
@click.argument("table", required=False)
@json_option
@click.pass_obj
def describe(settings: Settings, table: str | None, as_json: bool) -> None:
    """Show what the catalog holds: all tables and views, or the columns of TABLE.

    The texts are the comments in the catalog database.
    """
    with catalog_file(Store(settings.assets)) as file, snapshot(file) as connection:
        found = dictionary(connection)
    if table is not None and table not in found:
        raise ConfigError(f"there is no table {table!r} in the catalog (there are: {', '.join(found)})")
    if as_json:
        print_json(list(found.values()) if table is None else found[table])
    elif table is not None:
        _show_one(found[table])
    else:
        for relation in found.values():
            echo(f"{relation['kind']:<5}  {relation['name']:<20}  {relation['comment']}")


def _show_one(relation: dict[str, Any]) -> None:
    echo(f"{relation['kind']} {relation['name']}: {relation['comment']}")
    if not relation["columns"]:
        return
    columns = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("column", "type", "meaning"):
        columns.add_column(heading, overflow="fold")
    for column in relation["columns"]:
        columns.add_row(column["name"], column["type"], escape(column["comment"]))
    Terminal().print(columns)
