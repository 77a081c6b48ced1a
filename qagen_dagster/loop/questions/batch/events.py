"""The events of the batch strategy on a document, as its journal stores them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.loop.questions.events import Carried, Compared, Controlled, Judged, Mended, Proposed
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.questions.batch import NotPossible
from qagen_dagster.records.questions.results import CallSummary, Candidate, DuplicateStep
from qagen_dagster.records.questions.submissions import JudgingAnswer


class Draft(Record):
    """A question that was written and is not a duplicate. `number` counts from 1 over all rounds."""

    number: int
    question: str
    question_type: QuestionType
    parts: tuple[int, ...] = ()  # parts of the document that were shown when it was written; empty: all
    lines: tuple[int, ...] = ()  # where the passages begin that its answer rests on, as the generator says


class DuplicateDraft(Record):
    """A question that was written but is a duplicate of an earlier one."""

    draft: Draft
    of: str
    detail: str
    score: float  # similarity; 1 for equal words
    step: DuplicateStep


class Asked(Record):
    """A round: the questions of the generator, or why it wrote none."""

    kind: Literal["asked"] = "asked"
    drafts: tuple[Draft, ...] = ()
    repeats: tuple[DuplicateDraft, ...] = ()
    not_possible: tuple[NotPossible, ...] = ()
    parts: tuple[int, ...] = ()
    failure: str = ""
    calls: tuple[CallSummary, ...] = ()


class QuestionGraded(Record):
    """The newest wording of a question was graded. The first time, work on the question also began."""

    kind: Literal["question_graded"] = "question_graded"
    number: int
    grade: AnswerGrade

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        return self.grade.calls


class Rewritten(Record):
    """The generator was asked for another wording of the current question; an empty one leaves the question unchanged.

    Then `failure` may say why, and `refused` is the wording that was not accepted.
    """

    kind: Literal["rewritten"] = "rewritten"
    question: str
    failure: str = ""
    refused: str = ""
    calls: tuple[CallSummary, ...] = ()


class Answered(Record):
    """The current question was answered, or `failure` says why it was not."""

    kind: Literal["answered"] = "answered"
    candidate: Candidate | None
    failure: str = ""
    calls: tuple[CallSummary, ...] = ()


class PreparedAnswer(Record):
    """The answer to a waiting question, by its number; None: it was asked with others and got no answer."""

    number: int
    candidate: Candidate | None


class Prepared(Record):
    """Several waiting questions were answered in one request."""

    kind: Literal["prepared"] = "prepared"
    answers: tuple[PreparedAnswer, ...]
    calls: tuple[CallSummary, ...] = ()


class BlindAnswered(Record):
    """The validator answered several questions in one request, without seeing their answers; None: one got no answer there."""

    kind: Literal["blind_answered"] = "blind_answered"
    answers: dict[str, JudgingAnswer | None]  # by question
    calls: tuple[CallSummary, ...] = ()


class Reanswered(Record):
    """The answerer corrected a candidate that the validator refused; without a grade where the evidence check refused it again."""

    kind: Literal["reanswered"] = "reanswered"
    mended: Mended
    grade: AnswerGrade | None = None

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        return self.mended.calls


class AnswerGraded(Record):
    """The newest answer was graded."""

    kind: Literal["answer_graded"] = "answer_graded"
    grade: AnswerGrade

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        return self.grade.calls


BatchEvent = Annotated[
    Carried
    | Asked
    | QuestionGraded
    | Rewritten
    | Answered
    | Prepared
    | AnswerGraded
    | BlindAnswered
    | Reanswered
    | Proposed
    | Compared
    | Judged
    | Controlled,
    Field(discriminator="kind"),
]
