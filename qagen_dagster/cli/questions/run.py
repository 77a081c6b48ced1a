"""`qagen run`: materializes the matching combinations on the project's Dagster instance."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import click

from qagen_dagster.cli.graph import open_quietly, unread
from qagen_dagster.cli.options import (
    budget_options,
    combination_options,
    documents_option,
    json_option,
    profile_option,
    target_option,
)
from qagen_dagster.cli.output import Terminal, fail, print_json, warn
from qagen_dagster.cli.progress import Progress
from qagen_dagster.cli.questions.report import CombinationReport, as_table, report
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.catalog.source import catalog_knows
from qagen_dagster.loop.instance_home import instance_home
from qagen_dagster.loop.parallel import in_background
from qagen_dagster.loop.questions.combination import RunOptions, check_usable
from qagen_dagster.loop.questions.paid_models import refused
from qagen_dagster.loop.questions.publish import is_up_to_date
from qagen_dagster.loop.questions.replacement import why_kept
from qagen_dagster.loop.unfinished import QUESTIONS, is_unfinished
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.settings import Settings, load_settings


@dataclass(frozen=True)
class RunWishes:
    """What the command line asks for beyond the configuration."""

    options: RunOptions
    shard_size: int | None
    force: bool
    replace: bool


@click.command()
@combination_options
@target_option
@documents_option
@click.option(
    "--shard-size",
    type=click.IntRange(1),
    help="Documents per Dagster op. Default: QAGEN_SHARD_SIZE, else 1, or more if there would be over 32 ops.",
)
@click.option("--force", is_flag=True, help="Also run combinations that are up to date.")
@click.option(
    "--replace",
    is_flag=True,
    help="Let the run replace published questions by an empty set, by a set of fewer documents, or by one of free models.",
)
@budget_options
@profile_option
@json_option
@click.pass_obj
def run(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: Mode | None,
    target_count: int | None,
    num_documents: int | None,
    shard_size: int | None,
    force: bool,
    replace: bool,
    budget: Allowance | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Generate, validate and publish question sets.

    Runs the asset graph for every combination (corpus, scenario and mode) that matches the options and is not up to
    date. Finished work is kept: after a failure or an interruption, run the same command again to resume.
    """
    space = Workspace(settings)
    combinations = space.corpora.combinations(corpus, scenario, mode)
    wishes = RunWishes(RunOptions(profile, target_count, budget, num_documents), shard_size, force, replace)
    for combination in combinations:  # reports an unusable profile before any work
        check_usable(space, combination, wishes.options)
    with Progress(Terminal(stderr=True), quiet=as_json) as progress:
        failures = _materialize(space, combinations, wishes, progress)
    reports = [report(space, combination) for combination in combinations]
    _print(settings, reports, failures, as_json)
    warn(space.corpora.faults)
    return fail(failures)


def _materialize(
    space: Workspace, combinations: tuple[Combination, ...], wishes: RunWishes, progress: Progress
) -> list[str]:
    corpora = list(dict.fromkeys(combination.corpus for combination in combinations))
    to_read = corpora if wishes.force else unread(space, corpora)
    due, kept = _to_run(space, combinations, wishes)
    if not to_read and not due and catalog_knows(space.store, combinations):
        progress.note("nothing can be run" if kept else "everything is up to date")
        return kept
    failures: list[str] = []
    if to_read:
        space.parsers().start()  # while this process loads Dagster
    asking = [one for one in combinations if one in due or one.corpus in to_read]
    probe = in_background(lambda: refused(space, asking, wishes.options))  # meanwhile, too
    with open_quietly(space, progress) as graph:
        faults = probe.result()
        if faults:
            raise ConfigError("; ".join(faults))
        progress.begin(len(to_read) + len(due) + 1)
        for key in to_read:
            failures += graph.documents(key)
        due, kept = _to_run(space, combinations, wishes)  # reading may have changed which documents there are
        progress.begin(len(to_read) + len(due) + 1)
        graph.start(space, due, wishes.options)
        progress.watch(graph.document_counts)
        for one in due:
            options = wishes.options
            failures += graph.questions(
                one,
                options.profile,
                options.target_count,
                wishes.shard_size,
                options.run_budget,
                num_documents=options.num_documents,
                replace=wishes.replace,
            )
        failures += graph.catalog()
    return failures + kept


def _to_run(
    space: Workspace, combinations: tuple[Combination, ...], wishes: RunWishes
) -> tuple[tuple[Combination, ...], list[str]]:
    """The combinations to run, and a line for each whose published set must not be replaced.

    A combination that is up to date is run if its last run did not succeed. That run pays nothing and succeeds.
    """
    due = set(_due(space, combinations, wishes))
    wanted = [one for one in combinations if one in due or is_unfinished(space.store, one.key, QUESTIONS)]
    kept = {} if wishes.replace else {one: why_kept(space, one, wishes.options) for one in wanted}
    lines = [f"{one.key}: {why}" for one, why in kept.items() if why is not None]
    return tuple(one for one in wanted if kept.get(one) is None), lines


def _due(
    space: Workspace, combinations: tuple[Combination, ...], wishes: RunWishes
) -> tuple[Combination, ...]:
    return tuple(one for one in combinations if wishes.force or not is_up_to_date(space, one, wishes.options))


def _print(settings: Settings, reports: list[CombinationReport], failures: list[str], as_json: bool) -> None:
    if as_json:
        rows = [one.model_dump(mode="json") for one in reports]
        print_json({"ok": not failures, "failures": failures, "combinations": rows})
        return
    console = Terminal()
    console.print(as_table(reports))
    accepted = sum(one.accepted for one in reports)
    console.print(
        f"{accepted} accepted questions in {settings.assets}/published/<corpus>/<scenario>/<mode>/corpus.json"
    )
    console.print(f"Dagster instance: {instance_home(settings)}. To see the runs in its UI: {_ui(settings)}")


def _ui(settings: Settings) -> str:
    usual = settings.assets == load_settings().assets
    return "make ui" if usual else f"qagen --assets {shlex.quote(settings.assets)} ui"
