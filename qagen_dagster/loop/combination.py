"""The work of one combination: plan it, run a shard of documents, collect what they gave.

Each finished document is a durable file named by everything it depends on, so what is there already is
never generated again, whoever asks and after whatever crash. The pool of documents is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime

from qagen_dagster.agents.qa.context import QAContext
from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.ingest.views import open_view
from qagen_dagster.loop.fingerprint import prompt_hashes, work_fingerprint
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.qa import QALimits
from qagen_dagster.loop.qa_document import run_document
from qagen_dagster.loop.work import DocumentWork, QAModels
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus import ScenarioConfig
from qagen_dagster.records.document import IndexEntry
from qagen_dagster.records.ids import Combination, fingerprint
from qagen_dagster.records.question import (
    CandidateDocument,
    CandidateSet,
    DocumentEnd,
    GenerationResult,
)
from qagen_dagster.store import Keys

STOP_AFTER = 5  # permanent model failures in a row, with no success, that end a shard early
Progress = Callable[[str, GenerationResult | None], None]


@dataclass(frozen=True)
class RunOptions:
    """What a run may wish differently from its configuration."""

    profile: str | None = None
    target_count: int | None = None


@dataclass(frozen=True)
class CombinationPlan:
    """Everything that decides a combination's results, and the documents it is about."""

    combination: Combination
    corpus: Corpus
    profile_name: str
    profile: Profile
    limits: QALimits
    fingerprint: str
    documents: tuple[IndexEntry, ...]

    def result_key(self, entry: IndexEntry) -> str:
        parts = [self.fingerprint, entry.version, entry.text_sha256, self.limits.model_dump_json()]
        return Keys.result(self.combination, entry.id, fingerprint(parts))

    def journal(self, entry: IndexEntry, workspace: Workspace) -> JournalFile:
        work = fingerprint([self.fingerprint, entry.version, entry.text_sha256])
        return JournalFile(workspace.store, Keys.journal(self.combination, entry.id, work), work)


@dataclass
class ShardOutcome:
    """How a shard ended: document ids by what became of them."""

    finished: list[str] = field(default_factory=list[str])
    reused: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])


def plan(workspace: Workspace, combination: Combination, options: RunOptions) -> CombinationPlan:
    """Resolve configuration and documents. Raises ConfigError or StoreError."""
    corpus = workspace.corpus(combination.corpus)
    scenario = corpus.scenario(combination.scenario)
    name = workspace.profile_name(combination, options.profile)
    profile = workspace.profile(name)
    return CombinationPlan(
        combination=combination,
        corpus=corpus,
        profile_name=name,
        profile=profile,
        limits=_limits(scenario, options.target_count),
        fingerprint=work_fingerprint(profile, corpus.config, combination.scenario, combination.mode),
        documents=workspace.index(combination.corpus).documents,
    )


def unfinished(workspace: Workspace, planned: CombinationPlan) -> list[str]:
    """Ids of the documents that have no result yet, in order."""
    return [e.id for e in planned.documents if not workspace.store.exists(planned.result_key(e))]


def effective_fingerprint(workspace: Workspace, combination: Combination) -> str:
    """Changes when the configuration of exactly this combination does: models, prompts, scenario, limits.

    Raises ConfigError when its profile cannot be used.
    """
    corpus = workspace.corpus(combination.corpus)
    profile = workspace.profile(workspace.profile_name(combination, None))
    work = work_fingerprint(profile, corpus.config, combination.scenario, combination.mode)
    return _configuration(work, _limits(corpus.scenario(combination.scenario), None))


def _configuration(work: str, limits: QALimits) -> str:
    return fingerprint([work, limits.model_dump_json()])


def _limits(scenario: ScenarioConfig, target_count: int | None) -> QALimits:
    target = target_count or scenario.target_count
    return QALimits(
        target_count=target,
        max_consecutive_failures=scenario.max_consecutive_failures,
        max_attempts=scenario.max_attempts or max(10, 4 * target),
    )


def run_shard(
    workspace: Workspace,
    planned: CombinationPlan,
    document_ids: Sequence[str],
    run_id: str,
    progress: Progress | None = None,
) -> ShardOutcome:
    """Work the named documents side by side; each is durable as soon as it is done.

    A document whose model fails is reported and the others go on; after STOP_AFTER permanent failures
    without one success the rest is not tried. Raises ConfigError when a model cannot be built.
    """
    wanted = set(document_ids)
    outcome = ShardOutcome()
    todo: list[IndexEntry] = []
    for entry in planned.documents:
        if entry.id not in wanted:
            continue
        if workspace.store.exists(planned.result_key(entry)):
            outcome.reused.append(entry.id)
        else:
            todo.append(entry)
    if todo:
        models = workspace.models(planned.profile, planned.combination.mode)
        run = _ShardRun(workspace, planned, models, workspace.parsers(), run_id)
        _run_all(run, todo, outcome, progress)
    return outcome


@dataclass(frozen=True)
class _ShardRun:
    workspace: Workspace
    planned: CombinationPlan
    models: QAModels
    pool: ParserPool
    run_id: str
    stop: threading.Event = field(default_factory=threading.Event)
    succeeded: threading.Event = field(default_factory=threading.Event)
    permanent: list[str] = field(default_factory=list[str])  # documents that failed for good

    def document(self, entry: IndexEntry) -> GenerationResult | None:
        """Work one document and store its result; None when the shard was stopped before it began."""
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
        work = DocumentWork(
            combination=planned.combination,
            context=QAContext(planned.corpus.config, scenario, planned.combination.mode, view),
            limits=planned.limits,
            fingerprint=planned.fingerprint,
        )
        result = run_document(work, self.models, planned.journal(entry, workspace))
        finished = result.model_copy(
            update={"run_id": self.run_id, "finished": datetime.now(UTC).isoformat()}
        )
        workspace.store.write(planned.result_key(entry), finished)
        return finished


def _run_all(
    run: _ShardRun, todo: Sequence[IndexEntry], outcome: ShardOutcome, progress: Progress | None
) -> None:
    workers = min(run.workspace.settings.document_workers, len(todo))
    threads = ThreadPoolExecutor(workers, thread_name_prefix="document")
    try:
        _gather(run, {threads.submit(run.document, entry): entry for entry in todo}, outcome, progress)
    except BaseException as error:
        run.stop.set()
        # Who interrupts does not wait for calls in flight: journals keep what was finished.
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
                outcome.finished.append(entry.id)
        if progress is not None:
            progress(entry.id, result)


def collect(
    workspace: Workspace,
    planned: CombinationPlan,
    *,
    run_id: str,
    started: str,
    ended: str,
) -> CandidateSet:
    """Gather the results of all documents into the combination's candidate set, and store it."""
    mode = planned.combination.mode
    candidates = CandidateSet(
        corpus=planned.combination.corpus,
        scenario=planned.combination.scenario,
        mode=mode,
        run_id=run_id,
        profile=planned.profile_name,
        models={role.value: planned.profile.spec(role, mode).name for role in Role},
        prompts=prompt_hashes(mode),
        fingerprint=planned.fingerprint,
        configuration=_configuration(planned.fingerprint, planned.limits),
        target_count=planned.limits.target_count,
        started=started,
        ended=ended,
        documents=tuple(_line(workspace, planned, entry) for entry in planned.documents),
    )
    workspace.store.write(Keys.run(run_id, planned.combination), candidates)
    workspace.store.write(Keys.candidate_set(planned.combination), candidates)
    return candidates


def _line(workspace: Workspace, planned: CombinationPlan, entry: IndexEntry) -> CandidateDocument:
    key = planned.result_key(entry)
    result = workspace.store.find(key, GenerationResult)
    if result is None:
        return CandidateDocument(
            document_id=entry.id,
            document_version=entry.version,
            result_key=None,
            end=DocumentEnd.MODEL_ERROR,
            end_detail="no result was stored",
        )
    return CandidateDocument(
        document_id=entry.id,
        document_version=entry.version,
        result_key=key,
        end=result.end,
        end_detail=result.end_detail,
        accepted=len(result.accepted),
        rejected=len(result.rejected),
    )
