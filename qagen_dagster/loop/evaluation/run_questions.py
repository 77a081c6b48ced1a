"""The common part of all evaluations of a published set: its questions, models and budget, the parallel run, and the stored reports.

The results of a document are stored as soon as all its questions are evaluated, unless the next run must ask some of them again.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Generic, TypeVar

from qagen_dagster.agents.next_step import is_unusable, says_nothing
from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.errors import BudgetExhaustedError, MalformedResponseError, ModelError, StoreError
from qagen_dagster.grounding.judge import RecordingModel
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.parallel import FailuresInARow, counter, map_in_parallel, worker_count
from qagen_dagster.loop.questions.publication.publish import dropped
from qagen_dagster.loop.shared_budget import BudgetMeter, effective_budget, metered, partition_meter
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.document import Document, IndexEntry
from qagen_dagster.records.evaluation import (
    REPORTS,
    DocumentEvaluation,
    EvaluatedQuestion,
    EvaluationReport,
    Kind,
)
from qagen_dagster.records.ids import Combination, fingerprint
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import QAPair, ValidatedSet
from qagen_dagster.records.run import CallSummary
from qagen_dagster.store import Store

PUBLISH_HINT = "`qagen run`, or materializing the asset `corpus_json`, makes it"

QuestionT = TypeVar("QuestionT", bound=EvaluatedQuestion)


@dataclass(frozen=True)
class Evaluation:
    """The published questions of one combination, and the models and the budget for evaluating them."""

    space: Workspace
    combination: Combination
    run: RunMark
    profile_name: str
    profile: Profile
    budget: Budget
    questions: tuple[QAPair, ...]

    @cached_property
    def entries(self) -> Mapping[str, IndexEntry]:
        """The documents of the corpus by id. Raises StoreError if the corpus was never parsed."""
        return {entry.id: entry for entry in self.space.index(self.combination.corpus).documents}

    @cached_property
    def meter(self) -> BudgetMeter | None:
        """The meter that keeps the paid calls within the budget; None if there is no limit."""
        folder = self.combination.spending_folder(self.run.launch)
        return partition_meter(self.space.store, self.budget, folder)

    def model(self, spec: ModelSpec) -> Model:
        """The model, within the budget of the run. Raises ModelError if it is not available."""
        return metered(self.space.model(spec), self.meter)

    def document(self, document_id: str) -> Document | None:
        """The record of a document; None if the document was never parsed."""
        return self.space.store.find(Document.key(self.combination.corpus, document_id), Document)

    def text(self, document_id: str) -> str:
        """The parsed text of a document; empty if the document has none."""
        return (self.space.store.get(Document.text_key(self.combination.corpus, document_id)) or b"").decode(
            "utf-8"
        )


def open_evaluation(
    space: Workspace,
    combination: Combination,
    run: RunMark,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> Evaluation:
    """Open the evaluation of a combination's published questions. Raises ConfigError, and StoreError if nothing is published."""
    published = space.store.find(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    validated = space.store.find(ValidatedSet.key(combination), ValidatedSet)
    if published is None or validated is None:
        raise StoreError(f"{combination.key} has no published set: {PUBLISH_HINT}")
    known = {question.id for question in published.questions} | dropped(space, combination)
    # Questions that an earlier evaluation dropped are evaluated again. Questions without an answer are not evaluated.
    questions = tuple(pair for pair in validated.questions if pair.id in known and pair.no_answer is None)
    return replace(
        configured_evaluation(space, combination, profile, run_budget), run=run, questions=questions
    )


def configured_evaluation(
    space: Workspace,
    combination: Combination,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> Evaluation:
    """An evaluation without questions, from which its models and settings can be read. Raises ConfigError."""
    name = space.profile_name(combination, profile)
    chosen = space.profile(name)
    return Evaluation(
        space=space,
        combination=combination,
        run=RunMark("", ""),
        profile_name=name,
        profile=chosen,
        budget=effective_budget(chosen, run_budget),
        questions=(),
    )


@dataclass(frozen=True)
class Setup:
    """Everything that an evaluation depends on besides the questions, the documents and the search index.

    Attributes:
        how: the parts of its fingerprint: versions, models, prompts and options.
        model: the name of the model that answers; empty if the embedder of the index answers.
        judge: the model that is asked where code cannot decide; None if no model is asked.
        specs: the models whose settings are shown when they change.
    """

    how: tuple[str, ...]
    model: str = ""
    judge: ModelSpec | None = None
    specs: Mapping[Role, ModelSpec] = field(default_factory=dict[Role, ModelSpec])

    @property
    def judge_name(self) -> str:
        return "" if self.judge is None else self.judge.name


def identities(*specs: ModelSpec | None) -> tuple[str, ...]:
    """The parts of a fingerprint for models; None gives no part."""
    return tuple(json.dumps(spec.identity(), sort_keys=True) for spec in specs if spec is not None)


@dataclass(frozen=True)
class DocumentQuestions:
    """The questions of one document, and the store key of their results. The key covers everything that decides the results."""

    document_id: str
    key: str
    questions: tuple[QAPair, ...]


@dataclass(frozen=True)
class EvaluationPlan:
    """The questions to evaluate, by document."""

    documents: tuple[DocumentQuestions, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint(document.key for document in self.documents)


def plan_evaluation(found: Evaluation, kind: Kind, how: Callable[[str], Sequence[str]]) -> EvaluationPlan:
    """Plan an evaluation of the published questions.

    `how` takes the id of a document. It returns everything that the results depend on, except the questions.
    """
    by_document: dict[str, list[QAPair]] = {}
    for pair in found.questions:
        by_document.setdefault(pair.document_id, []).append(pair)
    documents: list[DocumentQuestions] = []
    for name, pairs in by_document.items():
        asked = (text for pair in pairs for text in (pair.id, pair.question, pair.answer))
        key = DocumentEvaluation.key(found.combination, kind, name, fingerprint([*how(name), *asked]))
        documents.append(DocumentQuestions(name, key, tuple(pairs)))
    return EvaluationPlan(tuple(documents))


def blank(kind: type[QuestionT], pair: QAPair) -> QuestionT:
    """A published question without a result."""
    return kind(question_id=pair.id, document_id=pair.document_id, question=pair.question, answer=pair.answer)


def make_report(
    found: Evaluation,
    kind: Kind,
    questions: tuple[EvaluatedQuestion, ...],
    metrics: Mapping[str, float],
    fingerprint: str,
    setup: Setup,
) -> EvaluationReport[Any]:
    """Make a report of evaluated questions, and store it as the latest one and in the history of its run."""
    made = REPORTS[kind](
        kind=kind,
        corpus=found.combination.corpus,
        scenario=found.combination.scenario,
        mode=found.combination.mode,
        run_id=found.run.run_id,
        launch=found.run.launch,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        profile=found.profile_name,
        metrics=dict(metrics),
        questions=questions,
        fingerprint=fingerprint,
        model=setup.model,
        judge_model=setup.judge_name,
    )
    found.space.store.write(found.combination.history_key(made.run_id, f"{kind.value}.json"), made)
    found.space.store.write(EvaluationReport.key(found.combination, kind), made)
    return made


def latest_report(store: Store, combination: Combination, kind: Kind) -> EvaluationReport[Any] | None:
    """The latest report of a kind; None if there is none, or if it is damaged and must be remade."""
    return store.find_valid(EvaluationReport.key(combination, kind), REPORTS[kind])


def earlier_reports(store: Store, combination: Combination, kind: Kind) -> list[EvaluationReport[Any]]:
    """All readable reports of a kind by all runs, newest first."""
    keys = [key for key in store.list(f"history/{combination.key}") if key.endswith(f"/{kind.value}.json")]
    found = (report for key in keys if (report := store.find_valid(key, REPORTS[kind])) is not None)
    return sorted(found, key=lambda one: one.created, reverse=True)


def report_version(report: EvaluationReport[Any]) -> str:
    """A hash of the results, which does not depend on the run, its time or its cost."""
    return fingerprint(
        [report.fingerprint, *(question.model_dump_json(exclude={"calls"}) for question in report.questions)]
    )


MAX_FAILURES = 5  # consecutive questions without a response, after which the models count as broken

Progress = Callable[[int, int, str], None]  # questions done, all questions, id of the last document


@dataclass
class Session:
    """One question while it is evaluated. The calls of its models are recorded even if it ends with an error."""

    pair: QAPair
    _models: list[tuple[str, RecordingModel]] = field(default_factory=list[tuple[str, RecordingModel]])

    def recorded(self, model: Model, role: str) -> RecordingModel:
        """The model, with its responses recorded."""
        recording = RecordingModel(model)
        self._models.append((role, recording))
        return recording

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        attempt = self.pair.generation_metadata.attempt_number
        return tuple(
            call for role, one in self._models for call in one.calls(role, self.pair.document_id, attempt)
        )


@dataclass
class EvaluationRun(Generic[QuestionT]):
    """One evaluation in progress.

    Attributes:
        ask: evaluates one question. It is called from many threads, and raises ModelError if a call of a model fails.
        kind: the class of evaluated questions.
        record: the class of the stored results of a document.
    """

    found: Evaluation
    ask: Callable[[Session], QuestionT]
    kind: type[QuestionT]
    record: type[DocumentEvaluation[QuestionT]]
    progress: Progress | None = None
    _failures: FailuresInARow = field(default_factory=lambda: FailuresInARow(MAX_FAILURES))
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self, planned: EvaluationPlan, slowest: Model | None, workers: int | None = None
    ) -> tuple[QuestionT, ...]:
        """Evaluate the questions of each document that no earlier run has finished. Returns all questions in order.

        `slowest` is the model that a question waits for longest. `workers` replaces the number of threads in the settings.
        Raises ModelError if the models fail for several consecutive questions. Finished documents are kept.
        """
        store, usual = self.found.space.store, workers or self.found.space.settings.document_workers
        threads = worker_count(slowest, usual, unlimited=self.found.budget.unlimited)
        kept = {
            document.key: found
            for document in planned.documents
            if (found := store.find_valid(document.key, self.record)) is not None
        }
        todo = [one for one in planned.documents if one.key not in kept]
        units = [(document, number) for document in todo for number in range(len(document.questions))]
        unfinished: dict[str, dict[int, QuestionT]] = {one.key: {} for one in todo}

        count = counter(self.progress, len(units))

        def unit(place: tuple[DocumentQuestions, int]) -> None:
            document, number = place
            result = self._ask(document.questions[number])
            with self._guard:
                results = unfinished[document.key]
                results[number] = result
                ended = len(results) == len(document.questions)
            if ended:
                whole = tuple(results[place] for place in range(len(results)))
                kept[document.key] = self._keep(document, whole)
            count(document.document_id)

        map_in_parallel(unit, units, workers=threads)
        self._failures.check("questions in a row could not be asked")
        return tuple(question for one in planned.documents for question in kept[one.key].questions)

    def _ask(self, pair: QAPair) -> QuestionT:
        session = Session(pair)
        if self._failures.fault is not None:
            return self._failed(session, "not asked: the model failed for other questions")
        try:
            result = self.ask(session)
        except (BudgetExhaustedError, MalformedResponseError) as error:
            return self._failed(session, _one_line(error))
        except ModelError as error:
            self._failures.failed(error)
            return self._failed(session, _one_line(error))
        self._failures.succeeded()
        heard = {"unheard": result.unheard or is_unusable(result.failure)}
        return result.model_copy(update={"calls": (*result.calls, *session.calls), **heard})

    def _failed(self, session: Session, why: str) -> QuestionT:
        update = {"failure": why, "unheard": True, "calls": session.calls}
        return blank(self.kind, session.pair).model_copy(update=update)

    def _keep(
        self, document: DocumentQuestions, questions: tuple[QuestionT, ...]
    ) -> DocumentEvaluation[QuestionT]:
        if all(says_nothing(question.failure) for question in questions):
            questions = tuple(one.model_copy(update={"unheard": True}) for one in questions)
        record = self.record(document_id=document.document_id, questions=questions)
        if not any(question.unheard for question in questions):
            self.found.space.store.write(document.key, record)
        return record


def _one_line(error: ModelError) -> str:
    return f"{type(error).__name__.removesuffix('Error')}: {error}"[:500]
