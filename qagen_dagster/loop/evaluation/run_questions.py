"""Runs the questions of an evaluation in parallel. Each document is stored as soon as it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from qagen_dagster.agents.runner import response_summaries
from qagen_dagster.errors import BudgetExhaustedError, MalformedResponseError, ModelError, PermanentModelError
from qagen_dagster.loop.evaluation.published_set import DocumentQuestions, Evaluation, EvaluationPlan
from qagen_dagster.loop.parallel import run_in_parallel
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.records.call import CallSummary
from qagen_dagster.records.evaluation import DocumentEvaluation, EvaluatedQuestion
from qagen_dagster.records.questions.results import QAPair

MAX_FAILURES = 5  # questions in a row without a response: then the models fail, not the questions

QuestionT = TypeVar("QuestionT", bound=EvaluatedQuestion)
ResultT = TypeVar("ResultT", bound=EvaluatedQuestion, covariant=True)
Progress = Callable[[int, int, str], None]  # questions done, all questions, document of the last one


class RecordingModel:
    """A `Model` that remembers its responses and its last error."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.responses: list[Response] = []
        self.error: ModelError | None = None

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def respond(self, request: Request) -> Response:
        try:
            response = self._model.respond(request)
        except ModelError as error:
            self.error = error
            raise
        self.responses.append(response)
        return response


@dataclass
class Session:
    """The models that are asked about one question. Their calls are recorded however the question ends."""

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
            call
            for role, one in self._models
            for call in response_summaries(one.responses, role, one.spec, self.pair.document_id, attempt)
        )


class Evaluator(Protocol[ResultT]):
    """Evaluates one question. Called from many threads."""

    def blank(self, pair: QAPair) -> ResultT:
        """The question without a result."""
        ...

    def ask(self, session: Session) -> ResultT:
        """The question with its result. Raises ModelError when no model is available."""
        ...


@dataclass
class EvaluationRun(Generic[QuestionT]):
    """One evaluation in progress."""

    found: Evaluation
    evaluator: Evaluator[QuestionT]
    record: type[DocumentEvaluation[QuestionT]]
    progress: Progress | None = None
    _done: int = 0
    _in_a_row: int = 0
    _fault: ModelError | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def run(self, planned: EvaluationPlan, workers: int) -> tuple[QuestionT, ...]:
        """Evaluate the questions that no earlier run has, and return all of them in order.

        Raises ModelError when the models fail for several questions in a row. Finished documents are kept.
        """
        store = self.found.space.store
        kept = {one.key: store.find_valid(one.key, self.record) for one in planned.documents}
        todo = [one for one in planned.documents if kept[one.key] is None]
        units = [(document, number) for document in todo for number in range(len(document.questions))]
        open_: dict[str, dict[int, QuestionT]] = {one.key: {} for one in todo}

        def unit(at: int) -> None:
            document, number = units[at]
            result = self._ask(document.questions[number])
            with self._guard:
                results = open_[document.key]
                results[number] = result
                ended = len(results) == len(document.questions)
            if ended:
                whole = tuple(results[place] for place in range(len(results)))
                kept[document.key] = self._keep(document, whole)
            self._tell(len(units), document.document_id)

        run_in_parallel([()] * len(units), unit, workers=workers)
        if self._fault is not None:
            raise PermanentModelError(
                f"{MAX_FAILURES} questions in a row could not be asked, the last: {self._fault}"
            )
        return tuple(question for one in planned.documents for question in _of(kept[one.key]).questions)

    def _ask(self, pair: QAPair) -> QuestionT:
        session = Session(pair)
        if self._fault is not None:
            return self._failed(session, "not asked: the model failed for others", unheard=True)
        try:
            result = self.evaluator.ask(session)
        except (BudgetExhaustedError, MalformedResponseError) as error:
            return self._failed(session, _told(error), unheard=isinstance(error, BudgetExhaustedError))
        except ModelError as error:
            self._count(error)
            return self._failed(session, _told(error), unheard=True)
        self._count(None)
        return result.model_copy(update={"calls": (*result.calls, *session.calls)})

    def _failed(self, session: Session, why: str, *, unheard: bool) -> QuestionT:
        blank = self.evaluator.blank(session.pair)
        return blank.model_copy(update={"failure": why, "unheard": unheard, "calls": session.calls})

    def _count(self, error: ModelError | None) -> None:
        with self._guard:
            self._in_a_row = 0 if error is None else self._in_a_row + 1
            if self._in_a_row >= MAX_FAILURES:
                self._fault = error

    def _keep(
        self, document: DocumentQuestions, questions: tuple[QuestionT, ...]
    ) -> DocumentEvaluation[QuestionT]:
        record = self.record(document_id=document.document_id, questions=questions)
        if not any(one.unheard for one in questions):
            self.found.space.store.write(document.key, record)
        return record

    def _tell(self, total: int, document_id: str) -> None:
        with self._guard:
            self._done += 1
            if self.progress is not None:
                self.progress(self._done, total, document_id)


def _told(error: ModelError) -> str:
    return f"{type(error).__name__.removesuffix('Error')}: {error}"[:500]


def _of(record: DocumentEvaluation[QuestionT] | None) -> DocumentEvaluation[QuestionT]:
    if record is None:
        raise AssertionError("every document has been worked")
    return record
