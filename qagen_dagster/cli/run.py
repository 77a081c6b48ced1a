"""`qagen run`: materialize the matching combinations on the project's Dagster instance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console

from qagen_dagster.cli.graph import open_quietly, unread
from qagen_dagster.cli.options import (
    budget_options,
    combination_options,
    json_option,
    mode_of,
    profile_option,
)
from qagen_dagster.cli.progress import Progress
from qagen_dagster.cli.report import CombinationReport, as_table, report
from qagen_dagster.loop.catalog.source import catalog_knows
from qagen_dagster.loop.questions.combination import RunOptions, check_usable
from qagen_dagster.loop.questions.publish import is_up_to_date
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import Settings, dagster_home


@dataclass(frozen=True)
class RunWishes:
    """What the command line asks for beyond the configuration."""

    profile: str | None
    target_count: int | None
    shard_size: int | None
    force: bool
    budget: Allowance | None

    @property
    def options(self) -> RunOptions:
        return RunOptions(self.profile, self.target_count, self.budget)


@click.command()
@combination_options
@click.option("--target-count", type=click.IntRange(1, 1000), help="Accepted questions per document.")
@click.option("--shard-size", type=click.IntRange(1), help="Documents per op; 1 is one op per document.")
@click.option("--force", is_flag=True, help="Run combinations that are up to date, too.")
@budget_options
@profile_option
@json_option
@click.pass_obj
def run(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: str | None,
    target_count: int | None,
    shard_size: int | None,
    force: bool,
    max_usd: float | None,
    max_tokens: int | None,
    max_calls: int | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Generate, validate and publish question sets.

    Runs the asset graph for every combination of corpus, scenario and mode that matches and is not up
    to date. What is finished already is kept; a rerun after a failure or an interruption goes on from there.
    """
    space = Workspace(settings)
    if not space.corpora.corpora and space.corpora.faults:
        raise space.corpora.faults[0]
    combinations = space.corpora.combinations(corpus, scenario, mode_of(mode))
    allowance = Allowance(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
    wishes = RunWishes(profile, target_count, shard_size, force, None if allowance.unlimited else allowance)
    for combination in combinations:  # a profile that cannot be used is told before any work
        check_usable(space, combination, wishes.options)
    console = Console(stderr=True)
    with Progress(console, quiet=as_json) as progress:
        failures = _materialize(space, combinations, wishes, progress)
    reports = [report(space, combination) for combination in combinations]
    _print(settings, reports, failures, as_json)
    for fault in space.corpora.faults:
        click.echo(f"qagen: warning: {fault}", err=True)
    for failure in failures:
        click.echo(f"qagen: error: {failure}", err=True)
    return 1 if failures else 0


def _materialize(
    space: Workspace, combinations: tuple[Combination, ...], wishes: RunWishes, progress: Progress
) -> list[str]:
    corpora = list(dict.fromkeys(combination.corpus for combination in combinations))
    to_read = corpora if wishes.force else unread(space, corpora)
    due = _due(space, combinations, wishes)
    if not to_read and not due and catalog_knows(space.store, combinations):
        progress.note("everything is up to date")
        return []
    failures: list[str] = []
    with open_quietly(space, progress) as graph:
        progress.begin(len(to_read) + len(due) + 1)
        for key in to_read:
            failures += graph.documents(key)
        due = _due(space, combinations, wishes)  # what was read again need not have changed, or may have
        progress.begin(len(to_read) + len(due) + 1)
        for one in due:
            failures += graph.questions(
                one, wishes.profile, wishes.target_count, wishes.shard_size, wishes.budget
            )
        failures += graph.catalog()
    return failures


def _due(
    space: Workspace, combinations: tuple[Combination, ...], wishes: RunWishes
) -> tuple[Combination, ...]:
    return tuple(one for one in combinations if wishes.force or not is_up_to_date(space, one, wishes.options))


def _print(settings: Settings, reports: list[CombinationReport], failures: list[str], as_json: bool) -> None:
    if as_json:
        value: dict[str, Any] = {
            "ok": not failures,
            "failures": failures,
            "combinations": [one.model_dump(mode="json") for one in reports],
        }
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    console = Console()
    console.print(as_table(reports))
    accepted = sum(one.accepted for one in reports)
    console.print(
        f"{accepted} accepted questions in {settings.assets}/published/<corpus>/<scenario>/<mode>/corpus.json"
    )
    console.print(f"Dagster instance: {dagster_home()}. See it all in the UI: make ui")
