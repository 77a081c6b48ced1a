"""`qagen run`: materializes the matching combinations on the project's Dagster instance, and prints a summary of each."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import click
from pydantic import Field
from rich.table import Table

from qagen_dagster.agents.next_step import GiveUpReason, ended_by
from qagen_dagster.cli.graph import Progress, open_quietly
from qagen_dagster.cli.options import (
    Models,
    Selection,
    combination_options,
    documents_option,
    json_option,
    model_options,
    target_option,
)
from qagen_dagster.cli.output import Terminal, fail, print_json, warn
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.corpus_files import discover
from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.loop.dagster_home import check_owner, instance_home, open_home
from qagen_dagster.loop.outdated import OutOfDate, Task, find_out_of_date, refresh_fields
from qagen_dagster.loop.parallel import in_background
from qagen_dagster.loop.product_table import Product, Scope
from qagen_dagster.loop.questions.before_run import refused, why_kept
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions, blind_combinations, check_usable
from qagen_dagster.loop.shared_budget import unique_calls
from qagen_dagster.loop.unfinished import is_unfinished
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import CorpusIndex, Outcome
from qagen_dagster.records.ids import Combination, Mode, normalise
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.run import CallSummary, cost_of
from qagen_dagster.settings import Settings, load_settings

if TYPE_CHECKING:
    from qagen_dagster.defs.in_process import Graph


_NAMED = 5  # maximum number of unusable files that are named for each corpus


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
    help="Let the run replace published questions by an empty set, by a set of fewer documents, or by a set made by free models.",
)
@model_options
@json_option
@click.pass_obj
def run(
    settings: Settings,
    chosen: Selection,
    target_count: int | None,
    num_documents: int | None,
    shard_size: int | None,
    force: bool,
    replace: bool,
    models: Models,
    as_json: bool,
) -> int:
    """Generate, validate and publish question sets.

    Runs the asset graph for every combination (corpus, scenario and mode) that matches the options and is not up to
    date. Finished work is kept: after a failure or an interruption, run the same command again to resume.
    """
    space = Workspace(settings)
    combinations = space.corpora.combinations(*chosen)
    options = RunOptions(
        target_count=target_count,
        num_documents=num_documents,
        shard_size=shard_size,
        replace=replace,
        **models.fields,
    )
    blind = {} if chosen.mode is not None else blind_combinations(space, combinations, models.profile)
    combinations = tuple(one for one in combinations if one not in blind) or combinations
    empty = _without_documents(space, combinations)
    if len(empty) == len({one.corpus for one in combinations}):
        raise ConfigError(empty[0])
    for combination in combinations:  # reports an unusable profile before any work
        check_usable(space, combination, options)
    with Progress(Terminal(stderr=True), quiet=as_json) as progress, Work(space) as work:
        failures = materialize(work, Scope(combinations, options, force), progress)
    reports = [report(space, combination) for combination in combinations]
    _print(space, reports, failures, as_json)
    left_out = (f"{one.key}: not run: {why}" for one, why in blind.items() if one not in combinations)
    too_long = (
        f"{row.combination}: replies were {row.too_long.partition(': ')[2]}"
        for row in reports
        if row.too_long
    )
    warn((*space.corpora.faults, *empty, *left_out, *_unusable(space, combinations), *too_long))
    return fail(failures)


def materialize(work: Work, scope: Scope, progress: Progress) -> list[str]:
    """Make everything in `scope` that is out of date. Returns a line for each error. Raises ConfigError if a paid model is refused.

    Dagster takes seconds to load, so the work of the runs begins on a thread before their graph is open.
    """
    space, options = work.space, scope.options
    found, kept = _to_run(space, scope)
    if not found.due():
        check_owner(instance_home(space.settings), space.settings.assets)
        progress.note("nothing can be run" if kept else "everything is up to date")
        return kept
    open_home(space.settings)  # raises ConfigError before any work begins
    asking = _combinations(found.of(Product.QUESTIONS))
    to_read = found.of(Product.DOCUMENTS)
    probe = in_background(lambda: refused(space, asking, options, work.spending_id))
    work.announce(task.partition for task in to_read)
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
        for combination in _combinations(found.due(Product.QUESTIONS)):
            failures += graph.questions(combination, options)
        failures += _follow(graph, space, scope, found)
        failures += graph.catalog()
    return failures + kept


def _begin(
    work: Work, scope: Scope, wanted: tuple[OutOfDate, list[str]], probe: Future[list[str]]
) -> tuple[OutOfDate, list[str]]:
    """Begin the work of the runs, unless `probe` has faults. Returns what is to run after the parsing, in the form of `_to_run`."""
    found, kept = wanted
    if probe.result():
        return wanted
    if found.of(Product.DOCUMENTS):
        work.parse()
        found, kept = _to_run(work.space, scope)  # parsing may have changed which documents there are
    work.ask(_combinations(found.due(Product.QUESTIONS)), scope.options)
    return found, kept


def _to_run(space: Workspace, scope: Scope) -> tuple[OutOfDate, list[str]]:
    """The tasks that are or may become due, and a line for each combination left out because its published set must not be replaced."""
    found = find_out_of_date(space, scope)
    if scope.options.replace:
        return found, []
    kept: dict[str, str] = {}
    for combination in _combinations(found.of(Product.QUESTIONS)):
        why = why_kept(space, combination, scope.options)
        if why is not None:
            kept[combination.key] = why
    rest = (
        task for task in found.tasks if task.product is not Product.QUESTIONS or task.partition not in kept
    )
    return replace(found, tasks=tuple(rest)), [f"{key}: {why}" for key, why in kept.items()]


def _combinations(tasks: Iterable[Task]) -> tuple[Combination, ...]:
    return tuple(Combination.from_key(task.partition) for task in tasks)


def _follow(graph: Graph, space: Workspace, scope: Scope, found: OutOfDate) -> list[str]:
    """Bring up to date what exists beside the question sets: grades and search indexes, then evaluations and exports."""
    failures: list[str] = []

    def refresh(task: Task) -> list[str]:
        fields = refresh_fields(task, scope.options)
        return graph.make(task.product, partition=task.partition, fields=fields, title=task.name)

    for task in found.due(Product.GRADING, Product.INDEX):
        failures += refresh(task)
    later = (Product.CLOSED_BOOK, Product.RETRIEVAL, Product.ANSWERS, Product.EXPORTS)
    if found.of(*later):  # whether these are out of date depends on the new questions
        for task in find_out_of_date(space, replace(scope, force=False)).due(*later):
            failures += refresh(task)
    return failures


def _print(space: Workspace, reports: list[CombinationReport], failures: list[str], as_json: bool) -> None:
    settings, distinct = space.settings, distinct_questions(space, reports)
    if as_json:
        rows = [state.model_dump(mode="json") for state in reports]
        totals = {"distinct_questions": distinct}
        print_json({"ok": not failures, "failures": failures, "combinations": rows} | totals)
        return
    console = Terminal()
    console.print(as_table(reports))
    accepted = sum(state.accepted for state in reports)
    console.print(
        f"{accepted} accepted questions, {distinct} of them distinct, in {settings.assets}/published/<corpus>/<scenario>/<mode>/corpus.json"
    )
    usual = settings.assets == load_settings().assets
    command = "make ui" if usual else f"qagen --assets {shlex.quote(settings.assets)} ui"
    console.print(f"Dagster instance: {instance_home(settings)}. To see the runs in its UI: {command}")


def _without_documents(space: Workspace, combinations: Sequence[Combination]) -> list[str]:
    """A line for each corpus that has no files, and had none when it was last parsed."""
    corpora = {one.corpus: space.corpus(one.corpus) for one in combinations}
    known = {key for key in corpora if space.store.exists(CorpusIndex.key(key)) and space.entries(key)}
    unread = (one for key, one in corpora.items() if key not in known)
    return [f"{one.documents_folder}: there are no documents" for one in unread if not discover(one)]


def _unusable(space: Workspace, combinations: Sequence[Combination]) -> Iterator[str]:
    """For each corpus, a line for each of the first files that none of its modes can use, and a line with the number of further files."""
    modes: dict[str, set[Mode]] = {}
    for combination in combinations:
        modes.setdefault(combination.corpus, set()).add(combination.mode)
    for corpus, asked in modes.items():
        usable = USABLE if Mode.VISUAL in asked else (Outcome.PARSED,)
        known = space.store.exists(CorpusIndex.key(corpus))
        bad = [entry for entry in space.entries(corpus) if entry.outcome not in usable] if known else []
        for entry in bad[:_NAMED]:
            yield f"{corpus}/documents/{entry.source}: {entry.outcome}" + (
                f", {entry.detail}" if entry.detail else ""
            )
        if bad[_NAMED:]:
            yield f"{corpus}: {len(bad) - _NAMED} more documents cannot be used; see: qagen documents --corpus {corpus}"


class CombinationReport(Record):
    """The state of one combination, read from the store."""

    combination: str
    documents: int = 0
    outcomes: dict[str, int] = Field(default_factory=dict)
    accepted: int = 0
    distinct: int = 0  # number of accepted questions, in which equal questions count once
    rejected: dict[str, int] = Field(default_factory=dict)
    model_calls: int = 0
    usd: float | None = 0.0  # None: the price of some calls is unknown
    at_least: bool = False  # calls of failed or unfinished documents may be missing in model_calls and usd
    published: str | None = None
    too_long: str | None = None  # if replies were cut off: the limit that they reached, and how to raise it


def report(space: Workspace, combination: Combination) -> CombinationReport:
    store, made, questions = (
        space.store,
        results.CandidateSet.key(combination),
        results.ValidatedSet.key(combination),
    )
    unfinished = is_unfinished(store, combination.key, ("candidate_qa",))
    if store.find_head(made, results.CandidateSet, results.CandidateDocument) is None:
        usd = None if unfinished else 0.0
        return CombinationReport(combination=combination.key, usd=usd, at_least=unfinished)
    validated = store.find_head(questions, results.ValidatedSet, results.QAPair)
    removed = validated.removed if validated else ()
    asked = asked_questions(space, combination) if validated else []
    rejected = Counter(question.rejection_reason.value for question in removed)
    outcomes, too_long = Counter[str](), Counter[str]()

    def read() -> Iterator[CallSummary]:
        for document in store.rows(made, results.CandidateSet, results.CandidateDocument):
            outcomes[document.end.value] += 1
            if document.result_key is not None:
                result = store.read(document.result_key, results.GenerationResult)
                rejected.update(candidate.rejection_reason.value for candidate in result.rejected)
                details = (candidate.rejection_detail for candidate in result.rejected)
                too_long.update(detail for detail in details if ended_by(detail, GiveUpReason.OUTPUT_LIMIT))
                yield from result.calls

    calls = unique_calls(chain(read(), validated.calls if validated else ()))
    key = CorpusGenerationResult.key(combination)
    at_least = unfinished or results.DocumentEnd.BUDGET_EXHAUSTED.value in outcomes
    usd = cost_of(calls) if calls or not at_least else None
    return CombinationReport(
        combination=combination.key,
        documents=outcomes.total(),
        outcomes=dict(outcomes),
        accepted=len(asked),
        distinct=len(set(asked)),
        rejected=dict(rejected.most_common()),
        model_calls=len(calls),
        usd=None if usd is None else round(usd, 6),
        at_least=at_least,
        published=space.store.path(key) if space.store.exists(key) else None,
        too_long=max(too_long, default=None),
    )


def asked_questions(space: Workspace, combination: Combination) -> list[str]:
    """The normalised texts of the accepted questions."""
    rows = space.store.rows(results.ValidatedSet.key(combination), results.ValidatedSet, results.QAPair)
    return [normalise(row.question) for row in rows]


def distinct_questions(space: Workspace, reports: Sequence[CombinationReport]) -> int:
    """The number of different questions in all sets together: the textual and the visual set may have a question in common."""
    combinations = (Combination.from_key(state.combination) for state in reports if state.accepted)
    return len({text for combination in combinations for text in asked_questions(space, combination)})


def as_table(reports: Sequence[CombinationReport]) -> Table:
    """The reports as a terminal table that fits 80 columns."""
    table = Table(title="Question sets", show_lines=True)
    table.add_column("combination", overflow="fold", ratio=1)
    for name in ("documents", "accepted", "rejected", "calls", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for state in reports:
        details = (
            f"documents by outcome: {_counts(state.outcomes)}\nrejected by reason: {_counts(state.rejected)}"
        )
        table.add_row(
            f"[bold]{state.combination}[/bold]\n[dim]{details}[/dim]",
            str(state.documents),
            str(state.accepted),
            str(sum(state.rejected.values())),
            str(state.model_calls),
            _cost(state),
        )
    return table


def _cost(state: CombinationReport) -> str:
    """The cost. If documents failed or a budget was exhausted, it is a minimum, because calls for these documents may be missing."""
    if state.usd is None:
        return "unknown"
    least = "at least\n" if state.at_least else ""
    return f"{least}${state.usd:.4f}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"
