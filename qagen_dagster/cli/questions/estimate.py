"""`qagen estimate`: forecasts the calls, tokens, cost and time of a run, before anything is paid."""

from collections.abc import Callable, Sequence

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress, open_quietly, unread
from qagen_dagster.cli.options import (
    Models,
    Selection,
    combination_options,
    documents_option,
    json_option,
    model_options,
    target_option,
)
from qagen_dagster.cli.output import Terminal, money, slashed, warn
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.estimate.amounts import Amounts, Range
from qagen_dagster.loop.estimate.combinations import BudgetEnd, CombinationEstimate, Estimate
from qagen_dagster.loop.estimate.combinations import estimate as estimate_run
from qagen_dagster.loop.questions.plan import RunOptions, blind_combinations
from qagen_dagster.loop.shared_budget import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings

_ENDS = ("low", "expected", "high")


@click.command()
@combination_options
@target_option
@documents_option
@model_options
@json_option
@click.pass_obj
def estimate(
    settings: Settings,
    chosen: Selection,
    target_count: int | None,
    num_documents: int | None,
    models: Models,
    as_json: bool,
) -> None:
    """Forecast calls, tokens, cost and time of a run.

    No model is called. The forecast is a range, computed from the sizes of the documents and from past runs. Similar
    past runs make the range narrower. Finished documents count as free. New documents are parsed first, as `qagen run`
    would do; that is free, too.
    """
    space = Workspace(settings)
    combinations = space.corpora.combinations(*chosen)
    options = RunOptions(target_count=target_count, num_documents=num_documents, **models.fields)
    blind = {} if chosen.mode is not None else blind_combinations(space, combinations, models.profile)
    combinations = tuple(one for one in combinations if one not in blind) or combinations
    for combination in combinations:  # reports an unusable profile before any work
        effective_budget(space.profile(space.profile_name(combination, models.profile)), options.limits)
    corpora = dict.fromkeys(combination.corpus for combination in combinations)
    _read_documents(space, list(corpora), quiet=as_json)
    found = estimate_run(space, combinations, options)
    warn((*space.corpora.faults, *(f"{one.key}: left out: {why}" for one, why in blind.items())))
    if as_json:
        echo(found.model_dump_json(indent=2))
        return
    console = Terminal()
    console.print(_table(found))
    for line in _notes(found):
        console.print(line, highlight=False)


def _read_documents(space: Workspace, corpora: Sequence[str], *, quiet: bool) -> None:
    """Parse new documents of the corpora with the graph, as a run would do. Raises StoreError when parsing fails."""
    to_read = unread(space, corpora)
    if not to_read:
        return
    failures: list[str] = []
    with Progress(Terminal(stderr=True), quiet=quiet) as progress, open_quietly(space, progress) as graph:
        progress.begin(len(to_read))
        for key in to_read:
            failures += graph.documents(key)
    if failures:
        raise StoreError(failures[0])


def _table(found: Estimate) -> Table:
    """Three lines for each combination: low, expected, high."""
    table = Table(
        title="Forecast of the run: low, expected and high, one below the other",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("combination", overflow="fold")
    for name in (
        "documents\nto do", "model\ncalls", "input\ntokens", "of them\ncached", "output\ntokens", "cost", "time",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.combinations:
        table.add_row(
            f"[bold]{slashed(row.combination)}[/bold]", f"{row.to_do} of {row.documents}", *_amounts(row)
        )
        table.add_section()
    if len(found.combinations) > 1:
        to_do = sum(row.to_do for row in found.combinations)
        documents = sum(row.documents for row in found.combinations)
        table.add_row("[bold]total[/bold]", f"{to_do} of {documents}", *_amounts(found.total))
    return table


def _amounts(sums: Amounts) -> list[str]:
    counts = (sums.calls, sums.input_tokens, sums.cached_tokens, sums.output_tokens)
    return [
        *(_lines(count, _count) for count in counts),
        _lines(sums.usd, money),
        _lines(sums.seconds, _time),
    ]


def _notes(found: Estimate) -> list[str]:
    """Lines on the basis of the forecast, its gaps and the budgets. Combinations with the same basis share a line."""
    bases: dict[str, list[CombinationEstimate]] = {}
    for row in found.combinations:
        bases.setdefault(row.basis, []).append(row)
    lines = [
        escape(
            f"{basis}" if len(bases) == 1 else f"{basis} ({', '.join(row.combination for row in several)})"
        )
        for basis, several in bases.items()
    ]
    done = sum(row.done for row in found.combinations)
    begun = sum(row.begun for row in found.combinations)
    without = sum(row.without_work for row in found.combinations)
    if done or begun or without:
        lines.append(
            f"Documents: {done} finished, which cost nothing; {begun} started, whose finished steps cost nothing; "
            f"{without} with nothing to ask about."
        )
    if found.unknown_prices:
        names = ", ".join(found.unknown_prices)
        lines.append(
            escape(
                f"The cost is unknown: the profile has no usd_per_million_input and usd_per_million_output for {names}."
            )
        )
    batches = dict.fromkeys(
        f"{role.role} ({role.model})" for row in found.combinations for role in row.roles if role.by_batch
    )
    if batches:
        lines.append(
            escape(
                f"Sent in batches at the lower batch price: {', '.join(batches)}. The time does not include waiting for batches."
            )
        )
    return lines + [_budget(end) for end in found.budgets]


def _budget(end: BudgetEnd) -> str:
    """A sentence on how far the work is likely to get before it reaches a limit."""
    amount = {
        "max_usd": f"${end.allowed:,.2f}" if end.allowed >= 0.01 or not end.allowed else f"${end.allowed:g}",
        "max_tokens": f"{end.allowed:,.0f} tokens",
        "max_calls": f"{end.allowed:,.0f} calls",
    }[end.limit]
    least, about, most = (int(getattr(end.documents, name)) for name in _ENDS)
    where = f" of {end.combination}" if end.combination else ""
    if end.scope == "document":
        share = f"{end.documents.low / end.of:.0%} to {end.documents.high / end.of:.0%}"
        return f"The budget of {amount} per document{where} covers {share} of the forecast for one document."
    if end.documents.expected < end.of:
        return f"The budget of {amount}{where} is enough for about {about:,} of {end.of:,} documents ({least:,} to {most:,})."
    return f"The budget of {amount}{where} may be too small: by the high forecast it covers {least:,} of {end.of:,} documents."


def _lines(span: Range | None, shown: Callable[[float], str]) -> str:
    if span is None:
        return "unknown"
    if not span.high:
        return shown(0.0)
    return "\n".join(shown(getattr(span, end)) for end in _ENDS)


def _count(value: float) -> str:
    """A count: in full below ten thousand, else three digits and a unit."""
    if value < 9_999.5:
        return f"{value:,.0f}"
    scaled, unit = next(
        (value / size, unit)
        for size, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G"))
        if value < 999.5 * size or unit == "G"
    )
    return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"


def range_text(span: Range, shown: Callable[[float], str]) -> str:
    """A range on one line. `shown` formats its ends."""
    low, high = shown(span.low), shown(span.high)
    return low if low == high else f"{low} to {high}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
