"""What the batch strategy knows of a document, and the steps it may take next. Values; deciding is `batch_qa`'s."""

from __future__ import annotations

from pydantic import Field

from qagen_dagster.loop.questions.batch.events import Draft
from qagen_dagster.loop.questions.batch.rules import Wanted
from qagen_dagster.loop.questions.states import Dedupe, Done, QAState, Validate
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.questions.results import Candidate


class Version(Record):
    """A wording of a question, graded once it is."""

    question: str
    grade: AnswerGrade | None = None


class Try(Record):
    """An attempt at the answer: no candidate where there was no answer, no grade where the gate refused it."""

    candidate: Candidate | None
    failure: str = ""
    grade: AnswerGrade | None = None


class Current(Record):
    """The question under way."""

    draft: Draft
    versions: tuple[Version, ...]
    rewrites: int = 0
    refused: tuple[tuple[str, str], ...] = ()  # offered in its place and not taken, with the reason
    tries: tuple[Try, ...] = ()


class Graded(Record):
    """The grade of an answer that left the work, accepted or not."""

    question: str
    answer: str
    grade: AnswerGrade


class BatchState(Record):
    """Everything the loop knows of a document. `qa` holds what became of questions."""

    qa: QAState = QAState()
    drafts: tuple[Draft, ...] = ()  # every one that was no repeat, in order
    taken: tuple[int, ...] = ()  # numbers of drafts that were taken up
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


class GradeAnswer(Record):
    current: Current
    candidate: Candidate


class Settle(Record):
    """The work on an answer is over: this is what goes to the gates, perhaps with what speaks against it."""

    candidate: Candidate


Step = Ask | GradeQuestion | Rewrite | Answer | GradeAnswer | Settle | Dedupe | Validate | Done
