"""Runs the documents of one op in parallel. Each result is stored as soon as it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime

from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.ingest.views import open_view
from qagen_dagster.loop.calls import total_spent
from qagen_dagster.loop.index.semantic_search import SemanticSearch
from qagen_dagster.loop.questions.combination import CombinationPlan, finished
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels, question_models
from qagen_dagster.loop.questions.journal import DocumentJournal
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.spending import BudgetMeter, RunSpending
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.document import IndexEntry
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult

STOP_AFTER = 5  # consecutive permanent model failures, without any success, that end a shard early
Progress = Callable[[str, GenerationResult | None], None]


@dataclass
class ShardOutcome:
    """How a shard ended: document ids by outcome."""

    finished: list[str] = field(default_factory=list[str])
    reused: list[str] = field(default_factory=list[str])
    stopped: list[str] = field(default_factory=list[str])  # the budget ended; a later run resumes here
    failed: dict[str, str] = field(default_factory=dict[str, str])


def run_shard(
    workspace: Workspace,
    planned: CombinationPlan,
    document_ids: Sequence[str],
    run_id: str,
    progress: Progress | None = None,
    spending_id: str | None = None,
) -> ShardOutcome:
    """Work the named documents in parallel.

    A document whose model fails is reported, and the others continue. After STOP_AFTER permanent failures without any success the
    remaining documents are not tried. Runs with the same `spending_id` (default `run_id`) share a budget.
    Raises ConfigError when a model cannot be built.
    """
    wanted = set(document_ids)
    outcome = ShardOutcome()
    todo: list[IndexEntry] = []
    for entry in planned.documents:
        if entry.id not in wanted:
            continue
        if finished(workspace, planned, entry) is not None:
            outcome.reused.append(entry.id)
        else:
            todo.append(entry)
    if todo:
        models = question_models(workspace, planned.profile, planned.combination.mode, planned.strategy)
        spending = RunSpending(workspace.store, planned.combination.spending_folder(spending_id or run_id))
        run = _ShardRun(
            workspace,
            planned,
            models,
            workspace.parsers(),
            run_id,
            spending,
            _semantic_search(workspace, planned, spending),
        )
        _run_all(run, todo, outcome, progress)
    return outcome


def _semantic_search(
    workspace: Workspace, planned: CombinationPlan, spending: RunSpending
) -> SemanticSearch | None:
    """Semantic search, if the scenario wants it. Embeddings count toward the budgets of run and partition."""
    if not planned.corpus.scenario(planned.combination.scenario).search_meaning:
        return None
    shared = planned.budget.model_copy(update={"document": Allowance()})
    meter = None if shared.unlimited else BudgetMeter(shared, spending)
    return SemanticSearch(workspace, planned.corpus, planned.profile, meter)


@dataclass(frozen=True)
class _ShardRun:
    workspace: Workspace
    planned: CombinationPlan
    models: QAModels
    pool: ParserPool
    run_id: str
    spending: RunSpending
    meanings: SemanticSearch | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    succeeded: threading.Event = field(default_factory=threading.Event)
    permanent: list[str] = field(default_factory=list[str])  # documents with a permanent failure

    def document(self, entry: IndexEntry) -> GenerationResult | None:
        """Work one document and store its result; None when the shard was stopped before the document began."""
        if self.stop.is_set():
            return None
        try:
            result = self._work(entry)
        except PermanentModelError:
            self.permanent.append(entry.id)
            if len(self.permanent) >= STOP_AFTER and not self.succeeded.is_set():
                self.stop.set()
            raise
        self.succeeded.set()
        return result

    def _work(self, entry: IndexEntry) -> GenerationResult:
        planned, workspace = self.planned, self.workspace
        spec = planned.profile.spec(Role.GENERATOR, planned.combination.mode)
        view = open_view(
            planned.corpus, entry, workspace.store, self.pool, max_image_pixels=spec.max_image_pixels
        )
        scenario = planned.corpus.scenario(planned.combination.scenario)
        meaning = None if self.meanings is None else self.meanings.of(view)
        work = DocumentWork(
            combination=planned.combination,
            context=QAContext(planned.corpus.config, scenario, planned.combination.mode, view, meaning),
            limits=planned.limits,
            fingerprint=planned.fingerprint,
        )
        journal = planned.journal(entry, workspace)
        result = run_document(work, self._models(journal), journal)
        dated = result.model_copy(update={"run_id": self.run_id, "finished": datetime.now(UTC).isoformat()})
        partial = result.end is DocumentEnd.BUDGET_EXHAUSTED
        workspace.store.write((planned.partial_key if partial else planned.result_key)(entry), dated)
        return dated

    def _models(self, journal: DocumentJournal) -> QAModels:
        """The models, with the budget of the document if there is one."""
        if self.planned.budget.unlimited:
            return self.models
        spent = total_spent(call for event in journal.events for call in event.calls)
        budget = self.planned.budget
        # In order where that lets a budget end at the same step every time: one for each document, or one worker.
        overlap = budget.document.unlimited and self.workspace.settings.document_workers > 1
        return self.models.metered(BudgetMeter(budget, self.spending, spent), overlap=overlap)


def _run_all(
    run: _ShardRun, todo: Sequence[IndexEntry], outcome: ShardOutcome, progress: Progress | None
) -> None:
    workers = min(run.workspace.settings.document_workers, len(todo))
    threads = ThreadPoolExecutor(workers, thread_name_prefix="document")
    try:
        _gather(run, {threads.submit(run.document, entry): entry for entry in todo}, outcome, progress)
    except BaseException as error:
        run.stop.set()
        # An interrupt does not wait for calls in flight: journals keep the finished steps.
        threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    threads.shutdown()


def _gather(
    run: _ShardRun,
    futures: dict[Future[GenerationResult | None], IndexEntry],
    outcome: ShardOutcome,
    progress: Progress | None,
) -> None:
    for future in as_completed(futures):
        entry = futures[future]
        result: GenerationResult | None = None
        try:
            result = future.result()
        except ModelError as error:
            outcome.failed[entry.id] = str(error)
        else:
            if result is None:
                outcome.failed[entry.id] = f"not tried: {len(run.permanent)} documents failed for good"
            else:
                stopped = result.end is DocumentEnd.BUDGET_EXHAUSTED
                (outcome.stopped if stopped else outcome.finished).append(entry.id)
        if progress is not None:
            progress(entry.id, result)
