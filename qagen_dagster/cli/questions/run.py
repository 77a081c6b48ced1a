"""`qagen run`: materializes the matching combinations on the project's Dagster instance."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from qagen_dagster.cli.graph import open_quietly
from qagen_dagster.cli.options import (
    asset_config,
    budget_options,
    combination_options,
    documents_option,
    json_option,
    profile_option,
    target_option,
)
from qagen_dagster.cli.output import Terminal, fail, print_json, warn
from qagen_dagster.cli.progress import Progress
from qagen_dagster.cli.questions.combination_summary import (
    CombinationReport,
    as_table,
    distinct_questions,
    report,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.loop.instance_home import check_owner, instance_home, open_home
from qagen_dagster.loop.parallel import in_background
from qagen_dagster.loop.questions.before_run import refused, why_kept
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions, check_usable, why_blind
from qagen_dagster.loop.refresh.products import Product, Scope
from qagen_dagster.loop.refresh.tasks import OutOfDate, Task, find_out_of_date, refresh_fields
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.document import CorpusIndex, Outcome
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.settings import Settings, load_settings

if TYPE_CHECKING:
    from qagen_dagster.defs.in_process import Graph


_NAMED = 5  # files that cannot be used, of each corpus


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
    options = RunOptions(
        target_count=target_count,
        num_documents=num_documents,
        shard_size=shard_size,
        replace=replace,
        **asset_config(profile, budget),
    )
    blind = {} if mode is not None else _blind(space, combinations, options)
    combinations = [one for one in combinations if one not in blind] or combinations
    for combination in combinations:  # reports an unusable profile before any work
        check_usable(space, combination, options)
    with Progress(Terminal(stderr=True), quiet=as_json) as progress, Work(space) as work:
        failures = _materialize(work, Scope(combinations, options, force), progress)
    reports = [report(space, combination) for combination in combinations]
    _print(space, reports, failures, as_json)
    left_out = (f"{one.key}: not run: {why}" for one, why in blind.items() if one not in combinations)
    warn((*space.corpora.faults, *left_out, *_unusable(space, combinations)))
    return fail(failures)


def _blind(
    space: Workspace, combinations: Iterable[Combination], options: RunOptions
) -> dict[Combination, str]:
    """The combinations whose models cannot look at pages, with the reason."""
    names = {one: space.profile_name(one, options.profile) for one in combinations}
    why = {one: why_blind(space.profile(name), name, one.mode) for one, name in names.items()}
    return {one: said for one, said in why.items() if said is not None}


def _materialize(work: Work, scope: Scope, progress: Progress) -> list[str]:
    """Make what is out of date, and return the errors.

    Dagster takes seconds to load, so the work of the runs begins on a thread before their graph is open.
    """
    space, options = work.space, scope.options
    found, kept = _to_run(space, scope)
    if not found.due():
        check_owner(instance_home(space.settings), space.settings.assets)
        progress.note("nothing can be run" if kept else "everything is up to date")
        return kept
    open_home(space.settings)  # refuses before anything is begun
    asking = _combinations(found.of(Product.QUESTIONS))
    to_read = found.of(Product.DOCUMENTS)
    probe = in_background(lambda: refused(space, asking, options, work.spending_id))
    work.announce(one.partition for one in to_read)
    begun = in_background(lambda: _begin(work, scope, (found, kept), probe))
    failures: list[str] = []
    with open_quietly(space, progress, work) as graph:
        faults = probe.result()
        if faults:
            raise ConfigError("; ".join(faults))
        progress.begin(len(found.tasks))
        for task in to_read:
            failures += graph.documents(task.partition)
        found, kept = begun.result()
        progress.begin(len(to_read) + len(found.tasks))
        progress.watch(work.document_counts)
        for one in _combinations(found.due(Product.QUESTIONS)):
            failures += graph.questions(one, options)
        failures += _follow(graph, space, scope, found)
        failures += graph.catalog()
    return failures + kept


def _begin(
    work: Work, scope: Scope, wanted: tuple[OutOfDate, list[str]], probe: Future[list[str]]
) -> tuple[OutOfDate, list[str]]:
    """Begin the work of the runs, unless a paid model is refused. Returns what is wanted then, as `_to_run` does."""
    found, kept = wanted
    if probe.result():
        return wanted
    if found.of(Product.DOCUMENTS):
        work.parse()
        found, kept = _to_run(work.space, scope)  # parsing may have changed which documents there are
    work.ask(_combinations(found.due(Product.QUESTIONS)), scope.options)
    return found, kept


def _to_run(space: Workspace, scope: Scope) -> tuple[OutOfDate, list[str]]:
    """What is out of date, and a line for each combination that is left out because its published set must not be replaced."""
    found = find_out_of_date(space, scope)
    if scope.options.replace:
        return found, []
    kept: dict[str, str] = {}
    for one in _combinations(found.of(Product.QUESTIONS)):
        why = why_kept(space, one, scope.options)
        if why is not None:
            kept[one.key] = why
    rest = (one for one in found.tasks if one.product is not Product.QUESTIONS or one.partition not in kept)
    return replace(found, tasks=tuple(rest)), [f"{key}: {why}" for key, why in kept.items()]


def _combinations(tasks: Iterable[Task]) -> tuple[Combination, ...]:
    return tuple(Combination.from_key(one.partition) for one in tasks)


def _follow(graph: Graph, space: Workspace, scope: Scope, found: OutOfDate) -> list[str]:
    """Bring up to date what exists beside the question sets: gradings and search indexes, then evaluations and exports."""
    failures: list[str] = []
    for task in found.due(Product.GRADING, Product.INDEX):
        failures += _refresh(graph, task, scope)
    later = (Product.CLOSED_BOOK, Product.RETRIEVAL, Product.ANSWERS, Product.EXPORTS)
    if found.of(*later):  # the new questions decide whether they are out of date
        now = find_out_of_date(space, replace(scope, force=False))
        for task in now.due(*later):
            failures += _refresh(graph, task, scope)
    return failures


def _refresh(graph: Graph, task: Task, scope: Scope) -> list[str]:
    fields = refresh_fields(task, scope.options)
    return graph.make(task.product, partition=task.partition, fields=fields, title=task.name)


def _print(space: Workspace, reports: list[CombinationReport], failures: list[str], as_json: bool) -> None:
    settings, distinct = space.settings, distinct_questions(space, reports)
    if as_json:
        rows = [one.model_dump(mode="json") for one in reports]
        totals = {"distinct_questions": distinct}
        print_json({"ok": not failures, "failures": failures, "combinations": rows} | totals)
        return
    console = Terminal()
    console.print(as_table(reports))
    accepted = sum(one.accepted for one in reports)
    console.print(
        f"{accepted} accepted questions, {distinct} of them distinct, in {settings.assets}/published/<corpus>/<scenario>/<mode>/corpus.json"
    )
    console.print(f"Dagster instance: {instance_home(settings)}. To see the runs in its UI: {_ui(settings)}")


def _unusable(space: Workspace, combinations: Sequence[Combination]) -> Iterator[str]:
    """A line for each of the first files of which no mode can use the text or the pages."""
    modes: dict[str, set[Mode]] = {}
    for one in combinations:
        modes.setdefault(one.corpus, set()).add(one.mode)
    for corpus, asked in modes.items():
        usable = USABLE if Mode.VISUAL in asked else (Outcome.PARSED,)
        known = space.store.exists(CorpusIndex.key(corpus))
        bad = [one for one in space.entries(corpus) if one.outcome not in usable] if known else []
        for one in bad[:_NAMED]:
            yield f"{corpus}/documents/{one.source}: {one.outcome}" + (
                f", {one.detail}" if one.detail else ""
            )
        if bad[_NAMED:]:
            yield f"{corpus}: {len(bad) - _NAMED} more documents cannot be used; see: qagen documents --corpus {corpus}"


def _ui(settings: Settings) -> str:
    usual = settings.assets == load_settings().assets
    return "make ui" if usual else f"qagen --assets {shlex.quote(settings.assets)} ui"
