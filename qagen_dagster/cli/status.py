"""`qagen status`: an overview of the catalog, and the state of each combination. `qagen stale`: what is out of date and why, with the
estimated calls and cost of question sets, and the calls of problem sets."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog import queries
from qagen_dagster.cli.catalog import current_catalog
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import unread
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal, money, print_json, warn
from qagen_dagster.cli.questions.estimate import range_text
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.estimate.combinations import Estimate, estimate
from qagen_dagster.loop.problems.bank import plan_problem_set
from qagen_dagster.loop.problems.outdated import expected_calls, told_calls
from qagen_dagster.loop.problems.plan import ProblemOptions
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.questions.publication.publish import is_up_to_date
from qagen_dagster.loop.refresh.products import Product
from qagen_dagster.loop.refresh.tasks import OutOfDate, find_out_of_date, whole_project
from qagen_dagster.loop.unfinished import QUESTIONS, is_unfinished
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import Settings


class State(StrEnum):
    """The state of a combination, which decides what the next `qagen run` does with it."""

    UP_TO_DATE = "up to date"
    STALE = "stale"  # documents, models, prompts or settings have changed, or documents are not finished
    UNFINISHED = "unfinished"  # the last run did not succeed, or is not over
    NEVER_RUN = "never run"
    NOT_CONFIGURED = "not configured"  # only the store has the combination
    UNUSABLE = "unusable"  # an error prevents a run, such as a profile that cannot be used


@click.command()
@json_option
@click.pass_obj
def status(settings: Settings, as_json: bool) -> None:
    """Show the state of corpora and combinations."""
    space = Workspace(settings)
    with current_catalog(space.store) as file:
        found = queries.status(file)
    states = _states(space, found.combinations)
    if as_json:
        print_json(found | {"states": states})
        return
    console = Terminal()
    console.print(_documents(found.corpora))
    console.print(_sets(found, states))
    console.print(f"catalog built at {found.built_at:%Y-%m-%d %H:%M:%S}; times are UTC", highlight=False)


def _states(space: Workspace, known: Sequence[queries.Row]) -> dict[str, State]:
    """The state of each combination that is configured or known, by key."""
    run = {row.combination for row in known}
    changed = set(unread(space, space.corpora.corpora))
    every = [
        combination for corpus in space.corpora.corpora.values() for combination in corpus.combinations()
    ]
    states = {combination.key: _state(space, combination, changed, run) for combination in every}
    return dict.fromkeys(sorted(run), State.NOT_CONFIGURED) | states


def _state(space: Workspace, combination: Combination, changed: set[str], run: set[str]) -> State:
    if is_unfinished(space.store, combination.key, QUESTIONS):
        return State.UNFINISHED
    if combination.key not in run:
        return State.NEVER_RUN
    try:
        current = combination.corpus not in changed and is_up_to_date(space, combination, RunOptions())
    except QagenError:
        return State.UNUSABLE
    return State.UP_TO_DATE if current else State.STALE


def _documents(corpora: Sequence[queries.Row]) -> Table:
    table = _table("Documents", "corpus")
    for name in ("documents", "pages", "visuals"):
        table.add_column(name, justify="right")
    table.add_column("outcomes", overflow="fold")
    for row in corpora:
        outcomes = ", ".join(f"{name} {count}" for name, count in row.outcomes.items())
        table.add_row(row.corpus, str(row.documents), str(row.pages), str(row.visuals), outcomes)
    return table


def _sets(found: queries.Row, states: dict[str, State]) -> Table:
    table = _table(
        f"Question sets: {found.questions} accepted questions, {found.distinct_questions} of them distinct",
        "combination",
    )
    for name in ("accepted", "rejected"):
        table.add_column(name, justify="right")
    table.add_column("state", no_wrap=True)
    known = {row.combination: row for row in found.combinations}
    for key, state in states.items():
        row = known.get(key)
        if row is None:
            table.add_row(f"[bold]{key}[/bold]", "-", "-", state.value)
            continue
        ended = f"{row.run_ended:%Y-%m-%d %H:%M}" if row.run_ended else "never"
        details = f"{row.documents_done}/{row.documents} documents, {row.profile or 'no profile'}, {ended}"
        table.add_row(
            f"[bold]{key}[/bold]\n[dim]{details}[/dim]", str(row.accepted), str(row.rejected), state.value
        )
    return table


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.add_column(first, overflow="fold")
    return table


@click.command()
@json_option
@click.pass_obj
def stale(settings: Settings, as_json: bool) -> None:
    """Show what is out of date, and why.

    Lists what the sensors and the nightly schedule would run. `qagen run` runs the same, apart from relevance
    labels, answer panels, exams and problem sets. No model is called. The estimate leaves out the question sets of
    corpora with files to parse, because their cost is known only when the files are parsed. `qagen estimate` parses them.
    """
    space = Workspace(settings)
    found = find_out_of_date(space, whole_project(space))
    due = [Combination.from_key(one.partition) for one in found.of(Product.QUESTIONS)]
    unread = {one.partition for one in found.of(Product.DOCUMENTS)}
    known = [one for one in due if one.corpus not in unread]
    unknown = [one.key for one in due if one.corpus in unread]
    cost = estimate(space, known, RunOptions()) if known else None
    calls: Counter[str] = Counter()
    for one in found.of(Product.PROBLEMS):
        chosen = find_problem_set(space.settings.corpora, one.partition)
        calls += expected_calls(space, plan_problem_set(space, chosen, ProblemOptions(refresh=True)))
    warn((*found.faults, *found.gone))
    if as_json:
        tasks = [task.model_dump(mode="json", exclude={"state"}) for task in found.tasks]
        print_json(
            {
                "tasks": tasks,
                "faults": found.faults,
                "gone": found.gone,
                "not_estimated": unknown,
                "problem_calls": calls,
                "estimate": None if cost is None else cost.model_dump(mode="json"),
            }
        )
        return
    _print_stale(found, cost, unknown)
    if calls:
        echo(f"Problem sets: {told_calls(calls)}.")


def _print_stale(found: OutOfDate, cost: Estimate | None, unknown: list[str]) -> None:
    console = Terminal()
    if not found.tasks:
        console.print("everything is up to date")
        return
    table = Table(title="Out of date", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("product", no_wrap=True)
    table.add_column("partition", overflow="fold")
    table.add_column("why", overflow="fold", ratio=1)
    for task in found.tasks:
        table.add_row(task.product.value, escape(task.partition), escape("\n".join(task.reasons)))
    console.print(table)
    if cost is not None:
        usd = "unknown" if cost.total.usd is None else range_text(cost.total.usd, money)
        calls = range_text(cost.total.calls, lambda value: f"{value:,.0f}")
        console.print(f"Estimate for the question sets: {calls} model calls, cost {usd}.", highlight=False)
    if unknown:
        console.print(
            f"Not estimated: {', '.join(unknown)}. Their calls depend on files that are not parsed yet; `qagen estimate` "
            "parses them, which is free.",
            highlight=False,
            soft_wrap=True,
        )
