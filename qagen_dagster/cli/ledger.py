"""`qagen ledger`: counts and removes entries of the ledger of paid model responses. `qagen doctor` checks them."""

from datetime import UTC, datetime

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal, print_json
from qagen_dagster.loop.ledger import UNUSED_DAYS, BatchStats, prunable, remove, statistics
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


@click.group()
def ledger() -> None:
    """Count and remove stored model responses."""


@ledger.command()
@json_option
@click.pass_obj
def stats(settings: Settings, as_json: bool) -> None:
    """Show entries, bytes and tokens of each model."""
    found = statistics(Store(settings.assets))
    if as_json:
        echo(found.model_dump_json(indent=2))
        return
    table = Table(
        caption=f"{found.entries:,} entries, {_size(found.bytes)}, {found.corrupt:,} corrupt",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("model", overflow="fold")
    for name in ("entries", "size", "tokens in", "tokens out", "oldest\nnewest"):
        table.add_column(name, no_wrap=True, justify="right")
    for stored in found.models:
        table.add_row(
            escape(stored.model),
            f"{stored.entries:,}",
            _size(stored.bytes),
            *(
                "-" if stored.uncounted == stored.entries else f"{tokens:,}"
                for tokens in (stored.input_tokens, stored.output_tokens)
            ),
            f"{stored.oldest[:10]}\n{stored.newest[:10]}",
        )
    Terminal().print(table)
    if found.batches != BatchStats():
        echo(_batches(found.batches))


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
@click.option("--dry-run", is_flag=True, help="Only show what would be removed. This is the default.")
@click.option("--yes", is_flag=True, help="Remove the entries and files.")
@json_option
@click.pass_obj
def prune(
    settings: Settings, unused: bool, older_than: float, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Remove entries that nothing needs any more.

    These are corrupt entries, entries whose response cannot be used, records of batches that ended at least two days ago, temporary files and locks of killed
    processes and, with --unused, unused entries. Nothing is removed without --yes.
    """
    if dry_run and yes:
        raise click.UsageError("--dry-run and --yes exclude each other")
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


def _batches(found: BatchStats) -> str:
    """Batches by state, and how long the oldest request has been waiting."""
    parts = [f"{found.open:,} open", f"{found.sending:,} being sent", f"{found.finished:,} finished"]
    parts += [f"{found.corrupt:,} corrupt"] if found.corrupt else []
    line = f"batches: {', '.join(parts)}"
    if found.oldest is not None:
        hours = (datetime.now(UTC) - datetime.fromisoformat(found.oldest)).total_seconds() / 3600
        line += f"; {found.requests:,} requests are waiting, the oldest for {hours:.1f} h"
    return line


def _size(count: int) -> str:
    """A number of bytes in a readable unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
