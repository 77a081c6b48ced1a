"""The state of the batch strategy on a document, and its steps."""

from __future__ import annotations

from pydantic import Field

from qagen_dagster.loop.questions.batch.events import Draft
from qagen_dagster.loop.questions.batch.limits import Wanted
from qagen_dagster.loop.questions.state import Dedupe, Done, Mend, QAState, Validate
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.questions.results import Candidate
from qagen_dagster.records.questions.submissions import JudgingAnswer


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
    not_possible: dict[QuestionType, str] = Field(default_factory=dict[QuestionType, str])
    graded: tuple[Graded, ...] = ()
    parts: tuple[int, ...] = ()  # shown to the generator; empty: all


class Ask(Record):
    round: int
    wanted: Wanted


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
