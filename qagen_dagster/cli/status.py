"""`qagen status`: an overview of the catalog, and the state of each combination."""

from collections.abc import Sequence
from enum import StrEnum

import click
from rich import box
from rich.table import Table

from qagen_dagster.catalog import queries
from qagen_dagster.cli.catalog import current_catalog
from qagen_dagster.cli.graph import unread
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal, print_json
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.questions.publication.publish import is_up_to_date
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
