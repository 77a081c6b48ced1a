"""`qagen ledger`: what lies in the ledger of paid responses, whether it is whole, and what may go."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.table import Table

from qagen_dagster.cli.options import json_option
from qagen_dagster.loop.ledger import entries
from qagen_dagster.loop.ledger.batches import BatchStats
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings


@click.group()
def ledger() -> None:
    """Look after the stored model responses."""


@ledger.command()
@json_option
@click.pass_obj
def stats(settings: Settings, as_json: bool) -> None:
    """Show entries, bytes and tokens, by model."""
    found = entries.statistics(Workspace(settings).store)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    table = Table(caption=f"{found.entries:,} entries, {_size(found.bytes)}, {found.corrupt:,} corrupt")
    table.add_column("model", overflow="fold", ratio=1)
    for name in ("entries", "size", "tokens in", "out", "oldest", "newest"):
        table.add_column(name, no_wrap=True)
    for one in found.models:
        table.add_row(
            one.model,
            f"{one.entries:,}",
            _size(one.bytes),
            *(
                "-" if one.uncounted == one.entries else f"{tokens:,}"
                for tokens in (one.input_tokens, one.output_tokens)
            ),
            one.oldest[:10],
            one.newest[:10],
        )
    Console().print(table)
    if found.batches != BatchStats():
        click.echo(_batches(found.batches))


@ledger.command()
@json_option
@click.pass_obj
def verify(settings: Settings, as_json: bool) -> int:
    """Read every entry and every batch's record, and check it. Exit 1 when one is corrupt: it will be paid again."""
    found = entries.check(Workspace(settings).store)
    if as_json:
        click.echo(json.dumps({"ok": found.good, **found.model_dump()}, indent=2))
    else:
        for path in found.foreign:
            click.echo(f"foreign: {path}")
        click.echo(
            f"{found.whole:,} whole, {len(found.corrupt):,} corrupt, {len(found.foreign):,} foreign files"
        )
        if found.batches:
            click.echo(f"{found.batches:,} batches can be read")
    for fault in found.corrupt:
        click.echo(f"qagen: error: {fault.path}: {fault.reason}", err=True)
    return 0 if found.good else 1


@ledger.command()
@click.option("--unused", is_flag=True, help="Also entries that no journal, result or set refers to.")
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    default=entries.UNUSED_DAYS,
    show_default=True,
    metavar="DAYS",
    help="Of the unused, only those of before so many days.",
)
@click.option("--dry-run", is_flag=True, help="Show what would go; so it is unless --yes is given.")
@click.option("--yes", is_flag=True, help="Remove it.")
@json_option
@click.pass_obj
def prune(
    settings: Settings, unused: bool, older_than: float, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Remove corrupt entries, batches that ended two days ago and more, what killed processes left, and unused entries."""
    if dry_run and yes:
        raise click.UsageError("--dry-run and --yes cannot both be meant")
    store = Workspace(settings).store
    found = entries.prunable(store, unused=unused, older_than_days=older_than)
    removed = entries.prune(store, found) if yes else 0
    if as_json:
        click.echo(json.dumps({"removed": removed, **found.model_dump()}, indent=2))
        return
    for what, keys in (
        ("corrupt entries", found.corrupt),
        ("unused entries", found.unused),
        ("corrupt records of batches", found.corrupt_batches),
        ("finished batches", found.finished_batches),
        ("temporary files", found.leftovers),
        ("locks of dead processes", found.locks),
    ):
        click.echo(f"{len(keys):,} {what}")
    click.echo(
        f"removed {removed:,}" if yes else f"{found.count:,} would go ({_size(found.bytes)}): --yes removes"
    )


def _batches(found: BatchStats) -> str:
    """How many there are, and how long the oldest has been waited for."""
    parts = [f"{found.open:,} open", f"{found.sending:,} being sent", f"{found.finished:,} finished"]
    parts += [f"{found.corrupt:,} corrupt"] if found.corrupt else []
    told = f"batches: {', '.join(parts)}"
    if found.oldest is not None:
        hours = (datetime.now(UTC) - datetime.fromisoformat(found.oldest)).total_seconds() / 3600
        told += f"; {found.requests:,} requests wait, the oldest for {hours:.1f} h"
    return told


def _size(count: int) -> str:
    """Bytes for people."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
