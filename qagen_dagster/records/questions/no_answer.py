"""Questions that the corpus does not answer as they are asked: the submissions of agents, and the record of the proof.

Models read the docstrings and the descriptions of the fields of what they submit, which are part of the prompt.
"""

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.document import LineRange
from qagen_dagster.records.questions.submissions import EvidenceQuote, QuestionText


class Searched(Record):
    """A part of the corpus from which the validator was asked for the answer, and the reply of the validator.

    Attributes:
        document_id: the document; None: the passages of all searched documents together.
        lines: the passages that were shown; empty: the whole document, or the passages of all documents if `document_id` is None.
        answered: whether the validator gave an answer. The correction of a false premise is no answer.
        said: the answer, or the note that there is no answer.
    """

    document_id: str | None
    lines: tuple[LineRange, ...] = ()
    answered: bool
    said: str = ""


class ReadingProof(Record):
    """One way to read an underspecified question: the question in this reading, and its answer with evidence."""

    question: str
    answer: str
    quote: str
    start_line: int | None


class NoAnswer(Record):
    """The reason why a question has no answer, and the searches that prove this. `documents` is the number of searched documents."""

    kind: NoAnswerKind
    reason: str
    documents: int = 0
    searched: tuple[Searched, ...] = ()
    readings: tuple[ReadingProof, ...] = ()


class Reading(Record):
    """One way to read an underspecified question."""

    question: str = Field(min_length=8, description="The question with what it leaves open filled in.")
    answer: str = Field(min_length=1, description="Its shortest complete answer.")
    evidence: EvidenceQuote


class DraftNoAnswer(Record):
    """One question that the documents do not answer as it is asked."""

    kind: NoAnswerKind = Field(description="The kind that it was asked for as.")
    question: QuestionText
    reason: str = Field(
        min_length=1,
        description="One sentence. unanswerable: which fact is missing, and what is there instead. false_premise: what the question "
        "takes for granted. underspecified: what it leaves open.",
    )
    answer: str = Field(
        min_length=1,
        description="One sentence that a good system would say. unanswerable: that the documents do not give this fact. "
        "false_premise: what is true instead. underspecified: the readings with their answers.",
    )
    evidence: tuple[EvidenceQuote, ...] = Field(
        min_length=1,
        max_length=6,
        description="unanswerable: the passages that come nearest. false_premise: the passages that deny it. underspecified: those of the readings.",
    )
    readings: tuple[Reading, ...] = Field(
        default=(),
        max_length=4,
        description="Only for underspecified: two or more readings with different answers.",
    )


class SubmitNoAnswer(Record):
    """Submit all questions at once; none of a kind for which the document has no material."""

    questions: tuple[DraftNoAnswer, ...] = Field(max_length=40)
