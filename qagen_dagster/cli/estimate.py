"""`qagen estimate`: what a run would take, told before anything is paid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.graph import open_quietly, unread
from qagen_dagster.cli.options import (
    budget_options,
    combination_options,
    json_option,
    mode_of,
    profile_option,
)
from qagen_dagster.cli.progress import Progress
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.estimate.combinations import Amounts, CombinationEstimate, Estimate
from qagen_dagster.loop.estimate.combinations import estimate as estimate_run
from qagen_dagster.loop.estimate.cost import BudgetEnd
from qagen_dagster.loop.estimate.forecast import Range
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.spending import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.settings import Settings

_ENDS = ("low", "expected", "high")


@click.command()
@combination_options
@click.option("--target-count", type=click.IntRange(1, 1000), help="Accepted questions per document.")
@profile_option
@budget_options
@json_option
@click.pass_obj
def estimate(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: str | None,
    target_count: int | None,
    profile: str | None,
    max_usd: float | None,
    max_tokens: int | None,
    max_calls: int | None,
    as_json: bool,
) -> None:
    """Forecast calls, tokens, cost and time of a run, as ranges; no model is asked.

    From the documents' sizes and from past runs: the more alike a past run, the narrower the range. Documents that have
    their result cost nothing. Those that were never read are read first, as `qagen run` does; that is free.
    """
    space = Workspace(settings)
    if not space.corpora.corpora and space.corpora.faults:
        raise space.corpora.faults[0]
    combinations = space.corpora.combinations(corpus, scenario, mode_of(mode))
    allowance = Allowance(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
    options = RunOptions(profile, target_count, None if allowance.unlimited else allowance)
    for combination in combinations:  # a profile that cannot be used is told before any work
        effective_budget(space.profile(space.profile_name(combination, profile)), options.run_budget)
    _read_documents(space, list(dict.fromkeys(one.corpus for one in combinations)), quiet=as_json)
    found = estimate_run(space, combinations, options)
    for fault in space.corpora.faults:
        click.echo(f"qagen: warning: {fault}", err=True)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    console = Console()
    console.print(_table(found))
    for line in _notes(found):
        console.print(line, highlight=False)


def _read_documents(space: Workspace, corpora: Sequence[str], *, quiet: bool) -> None:
    """Read what is new in the corpora, by the graph, so that a run finds it. Raises StoreError when that fails."""
    to_read = unread(space, corpora)
    if not to_read:
        return
    failures: list[str] = []
    with Progress(Console(stderr=True), quiet=quiet) as progress, open_quietly(space, progress) as graph:
        progress.begin(len(to_read))
        for key in to_read:
            failures += graph.documents(key)
    if failures:
        raise StoreError(failures[0])


def _table(found: Estimate) -> Table:
    """Three lines a combination: low, expected, high."""
    table = Table(
        title="What a run would take: low, expected, high", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("combination", overflow="fold")
    for name in ("to do", "calls", "tokens in", "cached", "tokens out", "cost", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.combinations:
        table.add_row(f"[bold]{one.combination}[/bold]", f"{one.to_do} of {one.documents}", *_amounts(one))
        table.add_section()
    if len(found.combinations) > 1:
        to_do = sum(one.to_do for one in found.combinations)
        documents = sum(one.documents for one in found.combinations)
        table.add_row("[bold]together[/bold]", f"{to_do} of {documents}", *_amounts(found.total))
    return table


def _amounts(one: Amounts) -> list[str]:
    return [
        _lines(one.calls, _count),
        _lines(one.input_tokens, _count),
        _lines(one.cached_tokens, _count),
        _lines(one.output_tokens, _count),
        _lines(one.usd, _money),
        _lines(one.seconds, _time),
    ]


def _notes(found: Estimate) -> list[str]:
    """What the numbers rest on; the same words of several combinations once."""
    bases: dict[str, list[CombinationEstimate]] = {}
    for one in found.combinations:
        bases.setdefault(one.basis, []).append(one)
    lines = [
        escape(
            f"{basis}" if len(bases) == 1 else f"{basis} ({', '.join(one.combination for one in several)})"
        )
        for basis, several in bases.items()
    ]
    done = sum(one.done for one in found.combinations)
    begun = sum(one.begun for one in found.combinations)
    without = sum(one.without_work for one in found.combinations)
    if done or begun or without:
        lines.append(
            f"Documents: {done} done, which cost nothing; {begun} begun, whose finished steps cost nothing; "
            f"{without} without anything to ask about."
        )
    if found.unknown_prices:
        names = ", ".join(found.unknown_prices)
        lines.append(
            escape(f"The cost is unknown: the profile has no usd_per_million_input and _output of {names}.")
        )
    batches = dict.fromkeys(
        f"{role.role} ({role.model})" for one in found.combinations for role in one.roles if role.by_batch
    )
    if batches:
        lines.append(
            escape(
                f"By batch, at the lower price: {', '.join(batches)}. Waiting for batches is not in the time."
            )
        )
    return lines + [_budget(end) for end in found.budgets]


def _budget(end: BudgetEnd) -> str:
    """Where a limit is likely to end the work."""
    amount = {
        "max_usd": f"${end.allowed:,.2f}" if end.allowed >= 0.01 or not end.allowed else f"${end.allowed:g}",
        "max_tokens": f"{end.allowed:,.0f} tokens",
        "max_calls": f"{end.allowed:,.0f} calls",
    }[end.limit]
    least, about, most = (int(getattr(end.documents, name)) for name in _ENDS)
    where = f" of {end.combination}" if end.combination else ""
    if end.scope == "document":
        share = f"{end.documents.low / end.of:.0%} to {end.documents.high / end.of:.0%}"
        return f"The budget of {amount} for a document{where} is enough for {share} of what one takes."
    if end.documents.expected < end.of:
        return f"The budget of {amount}{where} ends this at about {about:,} of {end.of:,} documents ({least:,} to {most:,})."
    return f"The budget of {amount}{where} may end this, at {least:,} of {end.of:,} documents should they take the most."


def _lines(one: Range | None, told: Callable[[float], str]) -> str:
    if one is None:
        return "unknown"
    if not one.high:
        return told(0.0)
    return "\n".join(told(getattr(one, end)) for end in _ENDS)


def _count(value: float) -> str:
    """Whole below ten thousand, else three digits and a unit."""
    if value < 9_999.5:
        return f"{value:,.0f}"
    scaled, unit = next(
        (value / size, unit)
        for size, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G"))
        if value < 999.5 * size or unit == "G"
    )
    return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"


def _money(value: float) -> str:
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
