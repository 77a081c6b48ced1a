"""What happens while the batch strategy works on a document (events), and what follows from it (state).

All of them are values; no work is done here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.loop.questions.limits import Fit, Wanted
from qagen_dagster.loop.questions.state import (
    Carried,
    Compared,
    Controlled,
    Dedupe,
    Done,
    Judged,
    Mend,
    Mended,
    Proposed,
    QAState,
    Validate,
)
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.questions.batch import NotPossible
from qagen_dagster.records.questions.results import CallSummary, Candidate, DuplicateStep
from qagen_dagster.records.questions.submissions import JudgingAnswer

DOUBTFUL = 0.5  # score of an undecided sentence; below, the document lacks most of it


def fault_of(grade: AnswerGrade, least: float, *, whole: bool = True, computed: bool = False) -> str | None:
    """Why a text is not grounded enough; None when it is, or when nothing could be measured.

    An answer must be grounded as a `whole`. A question states little, so only its confidence counts. An answer that is undecided
    is asked for again only if the document lacks most of what a sentence of it says, unless code has `computed` it from the quotes.
    """
    if grade.confidence is None and computed:
        return None
    if grade.confidence is None:
        doubtful = [one.score is not None and one.score < DOUBTFUL for one in grade.sentences]
        return "; ".join(grade.issues) if any(doubtful) else None
    if grade.confidence >= least and (grade.is_grounded is not False or not whole):
        return None
    told = "; ".join(grade.issues) or "the document does not say this"
    if not whole:
        return told
    if grade.is_grounded is False:
        return f"{told} (every sentence must be grounded)"
    return f"{told} (confidence {grade.confidence:.2f} is below {least:.2f})"


def rank_of(grade: AnswerGrade | None) -> tuple[bool, bool, float]:
    """Sort key of attempts, best last: graded, grounded, confident."""
    if grade is None:
        return False, False, 0.0
    return True, grade.is_grounded is not False, grade.confidence or 0.0


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
    fit: Fit = Fit()  # fewer if the reply was cut off
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
    fit: Fit = Fit()
    calls: tuple[CallSummary, ...] = ()


class BlindAnswered(Record):
    """The validator answered several questions in one request, without seeing their answers; None: one got no answer there."""

    kind: Literal["blind_answered"] = "blind_answered"
    answers: dict[str, JudgingAnswer | None]  # by question
    fit: Fit = Fit()
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


class Version(Record):
    """A wording of a question, with its grade if it has one."""

    question: str
    grade: AnswerGrade | None = None


class Try(Record):
    """An attempt at the answer. It has no candidate if there was no answer, and no grade if the evidence check rejected it."""

    candidate: Candidate | None
    failure: str = ""
    grade: AnswerGrade | None = None


class Current(Record):
    """The question that is being worked on."""

    draft: Draft
    versions: tuple[Version, ...]
    rewrites: int = 0
    refused: tuple[tuple[str, str], ...] = ()  # refused wordings with their reasons
    tries: tuple[Try, ...] = ()
    prepared: Candidate | None = None  # its answer as it was written, from a request with several questions


class Graded(Record):
    """The grade of an answer whose work is finished, accepted or not."""

    question: str
    answer: str
    grade: AnswerGrade


class BatchState(Record):
    """The state of the loop for a document. `qa` has the outcomes of questions."""

    qa: QAState = QAState()
    drafts: tuple[Draft, ...] = ()  # all drafts that were not duplicates, in order
    taken: tuple[int, ...] = ()  # numbers of the drafts whose work began
    prepared: dict[int, Candidate | None] = Field(
        default_factory=dict[int, Candidate | None]
    )  # by number of the draft
    blind: dict[str, JudgingAnswer | None] = Field(
        default_factory=dict[str, JudgingAnswer | None]
    )  # what the validator answered, by question
    current: Current | None = None
    rounds: int = 0
    forgiven_rounds: int = 0  # of runs in which no reply was of use
    not_possible: dict[QuestionType, str] = Field(default_factory=dict[QuestionType, str])
    graded: tuple[Graded, ...] = ()
    parts: tuple[int, ...] = ()  # shown to the generator; empty: all
    fit: Fit = Fit()  # what replies that were cut off have shown


class Ask(Record):
    """Ask for questions, at most so many in one reply."""

    round: int
    wanted: Wanted
    most: int


class GradeQuestion(Record):
    draft: Draft
    question: str


class Rewrite(Record):
    current: Current
    question: str
    reason: str


class Answer(Record):
    current: Current
    question: str
    rejected: tuple[tuple[str, str], ...]


class Prepare(Record):
    """Answer several waiting questions in one request."""

    drafts: tuple[Draft, ...]


class AnswerBlind(Record):
    """Let the validator answer the question of the candidate that it has to judge next, and waiting questions with it."""

    questions: tuple[str, ...]
    attempt: int


class GradeAnswer(Record):
    current: Current
    candidate: Candidate


class Settle(Record):
    """The work on an answer is finished: this candidate goes to the final checks, with its fault if it has one."""

    candidate: Candidate


Step = (
    Ask
    | GradeQuestion
    | Rewrite
    | Answer
    | Prepare
    | GradeAnswer
    | Settle
    | Dedupe
    | AnswerBlind
    | Validate
    | Mend
    | Done
)
