"""The work of one run on a combination: hands its documents to a pool, and each op waits for the documents of its shard.

Each result is stored as soon as it is complete. The first op hands all documents to the pool, in order. So the documents of a later op
are worked on while an earlier op still waits. The agents search by meaning in the index of the corpus; documents that are not in it are
embedded when they are searched.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, as_completed, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial

from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.errors import ModelError, StoreError
from qagen_dagster.index.search import ChunkSource, Indexed, index_fingerprint
from qagen_dagster.ingest.corpus_files import open_view
from qagen_dagster.loop.index import embedder_of, open_index
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.parallel import EarlyStop, WorkOutcome
from qagen_dagster.loop.questions.across_documents import AcrossStage
from qagen_dagster.loop.questions.carry_over import EarlierSet, is_finished, is_same_content, moved
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentPool, DocumentWork, QAModels, question_models
from qagen_dagster.loop.questions.imported import DOCUMENTS, ImportStage, Matched
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages
from qagen_dagster.loop.questions.no_answer.stage import (
    Stage,
    StageEvent,
    StageJournal,
    reproved,
    without_stages,
)
from qagen_dagster.loop.questions.plan import CombinationPlan, finished
from qagen_dagster.loop.questions.result import result_of
from qagen_dagster.loop.questions.run_document import run_document, unusable
from qagen_dagster.loop.questions.state import Done, QAState
from qagen_dagster.loop.questions.stopping import loop_limits
from qagen_dagster.loop.review_decisions import rejected_by_reviewers
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, total_spent
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance, Meter
from qagen_dagster.records.corpus_options import NoAnswerKind, Span, Strategy
from qagen_dagster.records.document import ChunkHit, IndexEntry, SearchIndex
from qagen_dagster.records.ids import Mode, fingerprint
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult, RejectedQA
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.search_passages import Meaning

STOP_AFTER = 5  # a combination ends early after this many permanent model failures without any success
Progress = Callable[[str, GenerationResult | None], None]
_Results = dict[str, Future[GenerationResult | None]]


class SemanticSearch:
    """Finds passages in documents of one corpus with the embedder of the profile. Thread-safe.

    The results do not depend on the index: an index with another embedder or chunking is not used, and a document that is
    not in the index is embedded when it is first searched.
    """

    def __init__(
        self, space: Workspace, corpus: Corpus, profile: Profile, meter: Meter | None = None
    ) -> None:
        """`meter` checks the budget for embeddings and records their cost. Raises ConfigError if the embedder cannot be built."""
        options = corpus.config.index
        index = _indexed(space, corpus.key, index_fingerprint(profile.embedder, options), meter)
        self._chunks = ChunkSource(embedder_of(space, profile.embedder, meter=meter), options, index)

    def of(self, view: DocumentView) -> Meaning:
        """A function that searches in one document."""
        text = "\n".join(view.lines)

        def find(query: str, most: int) -> Sequence[ChunkHit]:
            try:
                return self._chunks.searcher(view.document.id, text).search(view.document.id, query, most)
            except StoreError as error:
                raise ModelError(str(error)) from None

        return find


def _indexed(space: Workspace, corpus: str, wanted: str, meter: Meter | None) -> Indexed | None:
    known = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if known is None or known.fingerprint != wanted:
        return None
    try:
        opened = open_index(space, corpus, meter)
    except StoreError:  # the index is incomplete: all documents are embedded when they are searched
        return None
    return Indexed(opened.searcher, opened.index.texts)


@dataclass(frozen=True, eq=False)
class CombinationRun:
    """The work of one run on the named documents of a combination. Runs with the same `spending_id` share a budget.

    If a model fails on a document, the document is reported and the others continue. After STOP_AFTER permanent failures without any
    success, the remaining documents are not tried.
    """

    workspace: Workspace
    planned: CombinationPlan
    document_ids: tuple[str, ...]
    run_id: str
    spending_id: str
    pool: DocumentPool
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    _results: _Results = field(default_factory=_Results)
    _begun: threading.Event = field(default_factory=threading.Event)
    _stop: EarlyStop = field(default_factory=lambda: EarlyStop(STOP_AFTER))
    ended: list[str] = field(default_factory=list[str])  # ids of the documents whose work has ended

    def begin(self) -> list[Callable[[], None]]:
        """Tasks for the pool, one for each document without a result. The list is empty if the tasks were handed out before.

        Raises ConfigError.
        """
        if self._begun.is_set():
            return []
        wanted = set(self.document_ids)
        tasks = self._tasks([entry for entry in self.planned.documents if entry.id in wanted])
        self._begun.set()
        return tasks

    def wait_for(self, document_ids: Sequence[str], progress: Progress | None) -> WorkOutcome[str]:
        """Begin the run's work if it has not begun, and wait for `document_ids`. Raises ConfigError."""
        self.pool.add(self.begin())
        wanted = set(document_ids)
        entries = [entry for entry in self.planned.documents if entry.id in wanted]
        without_future = [entry for entry in entries if entry.id not in self._results]
        self.pool.add(self._tasks(without_future))
        outcome, results = WorkOutcome[str](), _Results()
        for entry in entries:
            if entry.id in self._results:
                results[entry.id] = self._results.pop(entry.id)
            else:
                outcome.reused.append(entry.id)
        try:
            self._gather(results, outcome, progress)
        except BaseException as error:
            for future in results.values():
                future.cancel()
            if isinstance(error, Exception):
                wait(results.values())
            else:  # After an interrupt, calls in flight are not awaited. Journals keep the finished steps.
                self.cancel()
            raise
        return outcome

    def cancel(self) -> None:
        """Start no further document."""
        self._stop.stop()

    @cached_property
    def _models(self) -> QAModels:
        planned = self.planned
        mode, shares = planned.combination.mode, planned.scenario.writers
        return question_models(self.workspace, planned.profile, mode, planned.strategy, shares)

    @cached_property
    def _spending(self) -> RunSpending:
        return RunSpending(self.workspace.store, self.planned.combination.spending_folder(self.spending_id))

    @cached_property
    def _earlier(self) -> EarlierSet:
        return self.planned.earlier(self.workspace)

    @cached_property
    def _avoided(self) -> tuple[RejectedQA, ...]:
        return rejected_by_reviewers(self.workspace, self.planned.combination)

    @cached_property
    def _passages(self) -> CorpusPassages | None:
        """The search in the whole corpus; None in visual mode, or if neither the scenario nor imported questions need it."""
        planned = self.planned
        searches = planned.scenario.searches_corpus or planned.log is not None
        if not searches or planned.combination.mode is Mode.VISUAL:
            return None
        return CorpusPassages(
            self.workspace, planned.combination.corpus, planned.profile_name, self._shared_meter
        )

    @cached_property
    def _matched(self) -> tuple[Matched, ...]:
        """The imported questions with the passages that a search finds for them."""
        log, corpus = self.planned.log, self._passages
        if log is None or corpus is None:
            return ()
        return tuple((one, corpus.best(one.question, "", 1)[:DOCUMENTS]) for one in log.questions)

    @property
    def _shared_meter(self) -> BudgetMeter | None:
        """The meter of embeddings, which count toward the budgets of run and partition; None if both are unlimited."""
        shared = self.planned.budget.model_copy(update={"document": Allowance()})
        return None if shared.unlimited else BudgetMeter(shared, self._spending)

    @cached_property
    def _meanings(self) -> SemanticSearch | None:
        """The semantic search; None if the scenario does not use it."""
        planned = self.planned
        if not planned.scenario.search_meaning:
            return None
        return SemanticSearch(self.workspace, planned.corpus, planned.profile, self._shared_meter)

    def _tasks(self, entries: Iterable[IndexEntry]) -> list[Callable[[], None]]:
        todo = [entry for entry in entries if finished(self.workspace, self.planned, entry) is None]
        if todo:  # build the shared objects here, so that the caller gets their errors
            _ = (
                self._models,
                self._spending,
                self._meanings,
                self._earlier.lines,
                self._avoided,
                self._passages,
                self._matched,
            )
        self._results.update((entry.id, Future()) for entry in todo)
        return [partial(self._fulfil, self._results[entry.id], entry) for entry in todo]

    def _fulfil(self, future: Future[GenerationResult | None], entry: IndexEntry) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(self._stop.run(lambda: self._work(entry)))
        except BaseException as error:
            future.set_exception(error)
        self.ended.append(entry.id)

    def open(self, entry: IndexEntry) -> DocumentWork:
        """Open a document, and return the work on it."""
        planned, workspace = self.planned, self.workspace
        mode = planned.combination.mode
        spec = planned.profile.spec(Role.GENERATOR, mode)
        view = open_view(
            planned.corpus,
            entry,
            workspace.store,
            workspace.parsers(),
            max_image_pixels=spec.max_image_pixels,
        )
        meaning = None if self._meanings is None else self._meanings.of(view)
        staged = sum(planned.staged(entry.id).values())
        limits = loop_limits(planned.limits, staged, len(planned.missing(entry.id)))
        mix = Mix.of(planned.scenario, mode, limits.target_count, entry.id, view.visuals)
        return DocumentWork(
            combination=planned.combination,
            context=QAContext(planned.corpus.config, planned.scenario, mode, view, meaning),
            limits=limits.model_copy(update={"mix": mix}),
            fingerprint=planned.fingerprint,
            avoided=self._avoided,
            missing=planned.missing(entry.id),
        )

    def _work(self, entry: IndexEntry) -> GenerationResult:
        planned, workspace, work = self.planned, self.workspace, self.open(entry)
        journal = planned.journal(entry, workspace)
        all_writers = self._models_of(journal)
        models = all_writers.writing(entry.id)
        if planned.strategy is Strategy.ACROSS:
            return self._kept(
                entry, self._with_imported(entry, work, models, self._across(entry, work, models))
            )
        before = self._earlier.result_for(entry)
        earlier = None if before is None else without_stages(before)
        if earlier is not None and not journal.events and self._is_current(work, earlier):
            result = moved(work, earlier)
        else:
            writers = all_writers if planned.strategy is Strategy.AGENT else models
            result = run_document(work, writers, journal, earlier)
        result = self._with_staged(entry, work, models, result, before)
        return self._kept(entry, self._with_imported(entry, work, models, result))

    def _across(self, entry: IndexEntry, work: DocumentWork, models: QAModels) -> GenerationResult:
        end = unusable(work.context)
        if end is not None or self._passages is None:
            no_index = Done(end=DocumentEnd.NOT_USABLE, detail="the corpus has no search index")
            return result_of(work, models, QAState(), end or no_index)
        journal = self._stage_journal(entry, self.planned.proof_work(entry))
        return AcrossStage(work, models, self._passages, journal).run()

    def _kept(self, entry: IndexEntry, result: GenerationResult) -> GenerationResult:
        """Store the result of a document with the run's id and the present time. Returns the stored result."""
        planned, workspace = self.planned, self.workspace
        dated = result.model_copy(update={"run_id": self.run_id, "finished": datetime.now(UTC).isoformat()})
        partial_ = result.end is DocumentEnd.BUDGET_EXHAUSTED
        workspace.store.write((planned.partial_key if partial_ else planned.result_key)(entry), dated)
        return dated

    def _with_staged(
        self,
        entry: IndexEntry,
        work: DocumentWork,
        models: QAModels,
        result: GenerationResult,
        before: GenerationResult | None,
    ) -> GenerationResult:
        """The result plus the unanswerable and the cross-document questions that the scenario's mix wants."""
        wanted, corpus, proof = self.planned.staged(entry.id), self._passages, self.planned.proof_work(entry)
        if not wanted or not is_finished(result) or corpus is None:
            return result
        across = wanted.get(Span.ACROSS, 0)
        none = {kind: count for kind, count in wanted.items() if isinstance(kind, NoAnswerKind)}
        if none:
            stage = Stage(work, models, corpus, self._stage_journal(entry, proof), none)
            result = stage.add(result, () if before is None else reproved(work, before))
        if across and is_finished(result):
            journal = self._stage_journal(entry, fingerprint([proof, Span.ACROSS]))
            result = AcrossStage(work, models, corpus, journal).add(result, across)
        return result

    def _with_imported(
        self, entry: IndexEntry, work: DocumentWork, models: QAModels, result: GenerationResult
    ) -> GenerationResult:
        """The result with the imported questions that the document answers."""
        mine = [one for one in self._matched if entry.id in {each.document_id for each in one[1]}]
        corpus = self._passages
        if not mine or corpus is None or not is_finished(result):
            return result
        journal = self._stage_journal(entry, self.planned.import_work(entry))
        stage = ImportStage(work, models, corpus, journal, lambda name: self.open(corpus.entry(name)))
        return stage.add(result, mine)

    def _stage_journal(self, entry: IndexEntry, proof: str) -> JournalFile[StageEvent]:
        key = GenerationResult.journal_key(self.planned.combination, entry.id, proof)
        return JournalFile(self.workspace.store, key, proof, StageJournal)

    def _is_current(self, work: DocumentWork, earlier: GenerationResult) -> bool:
        """Whether the earlier work on the document has ended, and its configuration and the content of the document are unchanged."""
        made = self._earlier.made
        same = made is not None and made.configuration == self.planned.configuration
        return same and is_finished(earlier) and is_same_content(work, earlier)

    def _models_of(self, journal: DocumentJournal) -> QAModels:
        """The models, with the limit of the pool. If there is a budget, they also have a meter for the document."""
        if self.planned.budget.unlimited:
            return self._models.changed(self.pool.limited)
        spent = total_spent(call for event in journal.events for call in event.calls)
        budget = self.planned.budget
        # A document budget or a single worker excludes overlap, so that the budget ends at the same step in every run.
        overlap = budget.document.unlimited and self.workspace.settings.document_workers > 1
        meter = BudgetMeter(budget, self._spending, spent)
        return self._models.metered(meter, overlap=overlap).changed(self.pool.limited)

    def _gather(self, results: _Results, outcome: WorkOutcome[str], progress: Progress | None) -> None:
        names = {future: name for name, future in results.items()}
        for future in as_completed(names):
            name = names[future]
            result: GenerationResult | None = None
            try:
                result = future.result()
            except ModelError as error:
                outcome.failed[name] = str(error)
            else:
                if result is None:
                    outcome.failed[name] = f"not tried: {self._stop.failures} documents failed for good"
                else:
                    stopped = result.end is DocumentEnd.BUDGET_EXHAUSTED
                    (outcome.stopped if stopped else outcome.finished).append(name)
            if progress is not None:
                progress(name, result)
