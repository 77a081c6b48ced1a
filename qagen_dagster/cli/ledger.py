"""`qagen ledger`: removes entries of the ledger of paid model responses. `qagen doctor` checks them."""

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import print_json
from qagen_dagster.loop.ledger import UNUSED_DAYS, prunable, remove
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


@click.group()
def ledger() -> None:
    """Remove stored model responses."""


@ledger.command()
@click.option("--unused", is_flag=True, help="Also remove entries that no journal, result or set refers to.")
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    default=UNUSED_DAYS,
    show_default=True,
    metavar="DAYS",
    help="With --unused: only entries older than this many days.",
)
@click.option(
    "--yes", is_flag=True, help="Remove the entries and files. Default: only show what would be removed."
)
@json_option
@click.pass_obj
def prune(settings: Settings, unused: bool, older_than: float, yes: bool, as_json: bool) -> None:
    """Remove entries that nothing needs any more.

    These are corrupt entries, entries whose response cannot be used, records of batches that ended at least two days ago,
    temporary files and locks of killed processes and, with --unused, unused entries. Nothing is removed without --yes.
    """
    store = Store(settings.assets)
    found = prunable(store, unused=unused, older_than_days=older_than)
    removed = remove(store, found) if yes else 0
    if as_json:
        print_json({"removed": removed, **found.model_dump()})
        return
    for what, keys in (
        ("corrupt entries", found.corrupt),
        ("unusable entries", found.unusable),
        ("unused entries", found.unused),
        ("corrupt batch records", found.corrupt_batches),
        ("records of finished batches", found.finished_batches),
        ("temporary files", found.leftovers),
        ("locks of dead processes", found.locks),
    ):
        echo(f"{len(keys):,} {what}")
    echo(
        f"removed: {removed:,}"
        if yes
        else f"would remove {found.count:,} ({_size(found.bytes)}); use --yes to remove"
    )


def _size(count: int) -> str:
    """A number of bytes in a readable unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
