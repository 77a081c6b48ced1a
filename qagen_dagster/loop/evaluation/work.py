"""The questions of an evaluation on their way: side by side, each document durable as soon as it is done.

What belongs here: order, accounting, what a failure does. What does not: which questions (`published_set.py`), and what one is put to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from qagen_dagster.agents.accounting import response_summaries
from qagen_dagster.errors import (
    BudgetExhaustedError,
    MalformedResponseError,
    ModelError,
    PermanentModelError,
)
from qagen_dagster.loop.evaluation.published_set import Evaluation, Piece, Pieces
from qagen_dagster.loop.parallel import side_by_side
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.records.call import CallSummary
from qagen_dagster.records.evaluation import DocumentEvaluation, EvaluatedQuestion
from qagen_dagster.records.questions.results import QAPair

PATIENCE = 5  # questions in a row for which no model could be had: then it is not they who are at fault

QuestionT = TypeVar("QuestionT", bound=EvaluatedQuestion)
ResultT = TypeVar("ResultT", bound=EvaluatedQuestion, covariant=True)
Progress = Callable[[int, int, str], None]  # questions done, of how many, the last one's document


class Witness:
    """A `Model` that keeps what was answered, and how it failed."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.responses: list[Response] = []
        self.error: ModelError | None = None

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def respond(self, request: Request) -> Response:
        """As the model does."""
        try:
            response = self._model.respond(request)
        except ModelError as error:
            self.error = error
            raise
        self.responses.append(response)
        return response


@dataclass
class Hearing:
    """The models that are asked about one question; their calls are accounted for, however it ends."""

    pair: QAPair
    _witnesses: list[tuple[str, Witness]] = field(default_factory=list[tuple[str, Witness]])

    def of(self, model: Model, role: str) -> Witness:
        """The model, listened to."""
        witness = Witness(model)
        self._witnesses.append((role, witness))
        return witness

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        attempt = self.pair.generation_metadata.attempt_number
        return tuple(
            call
            for role, one in self._witnesses
            for call in response_summaries(one.responses, role, one.spec, self.pair.document_id, attempt)
        )


class Examiner(Protocol[ResultT]):
    """What a question is put to. Called by many threads."""

    def blank(self, pair: QAPair) -> ResultT:
        """The question without a result."""
        ...

    def ask(self, hearing: Hearing) -> ResultT:
        """The question with its result. Raises ModelError when no model could be had."""
        ...


@dataclass
class Work(Generic[QuestionT]):
    """The questions of an evaluation on their way."""

    found: Evaluation
    examiner: Examiner[QuestionT]
    record: type[DocumentEvaluation[QuestionT]]
    progress: Progress | None = None
    _done: int = 0
    _in_a_row: int = 0
    _fault: ModelError | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def run(self, planned: Pieces, workers: int) -> tuple[QuestionT, ...]:
        """All questions in order, those of earlier runs among them.

        Raises ModelError when no model can be had for several questions in a row; what is finished is kept.
        """
        store = self.found.space.store
        kept = {one.key: store.find_valid(one.key, self.record) for one in planned.pieces}
        todo = [one for one in planned.pieces if kept[one.key] is None]
        units = [(piece, number) for piece in todo for number in range(len(piece.questions))]
        open_: dict[str, dict[int, QuestionT]] = {one.key: {} for one in todo}

        def unit(at: int) -> None:
            piece, number = units[at]
            result = self._ask(piece.questions[number])
            with self._guard:
                results = open_[piece.key]
                results[number] = result
                ended = len(results) == len(piece.questions)
            if ended:
                whole = tuple(results[place] for place in range(len(results)))
                kept[piece.key] = self._keep(piece, whole)
            self._tell(len(units), piece.document_id)

        side_by_side([()] * len(units), unit, workers=workers)
        if self._fault is not None:
            raise PermanentModelError(
                f"{PATIENCE} questions in a row could not be asked, the last: {self._fault}"
            )
        return tuple(question for one in planned.pieces for question in _of(kept[one.key]).questions)

    def _ask(self, pair: QAPair) -> QuestionT:
        hearing = Hearing(pair)
        if self._fault is not None:
            return self._failed(hearing, "not asked: the model failed for others", unheard=True)
        try:
            result = self.examiner.ask(hearing)
        except (BudgetExhaustedError, MalformedResponseError) as error:
            return self._failed(hearing, _told(error), unheard=isinstance(error, BudgetExhaustedError))
        except ModelError as error:
            self._count(error)
            return self._failed(hearing, _told(error), unheard=True)
        self._count(None)
        return result.model_copy(update={"calls": (*result.calls, *hearing.calls)})

    def _failed(self, hearing: Hearing, why: str, *, unheard: bool) -> QuestionT:
        blank = self.examiner.blank(hearing.pair)
        return blank.model_copy(update={"failure": why, "unheard": unheard, "calls": hearing.calls})

    def _count(self, error: ModelError | None) -> None:
        with self._guard:
            self._in_a_row = 0 if error is None else self._in_a_row + 1
            if self._in_a_row >= PATIENCE:
                self._fault = error

    def _keep(self, piece: Piece, questions: tuple[QuestionT, ...]) -> DocumentEvaluation[QuestionT]:
        record = self.record(document_id=piece.document_id, questions=questions)
        if not any(one.unheard for one in questions):
            self.found.space.store.write(piece.key, record)
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
        raise AssertionError("every piece has been worked")
    return record
