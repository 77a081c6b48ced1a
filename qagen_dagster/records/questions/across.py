"""Questions that need several documents: what an agent submits. Models read the docstrings and the descriptions of the fields."""

from typing import Annotated

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_config import AcrossKind
from qagen_dagster.records.questions.submissions import AnswerText, Computed, EvidenceQuote, QuestionText


class DocumentQuote(EvidenceQuote):
    """A passage copied from one of the documents."""

    document: Annotated[int, Field(ge=1, description="Number of the document that has it.")]


class DraftAcross(Record):
    """One question that no single document answers."""

    kind: Annotated[AcrossKind, Field(description="Its kind.")]
    question: QuestionText
    answer: AnswerText
    evidence: Annotated[
        tuple[DocumentQuote, ...],
        Field(
            min_length=2,
            max_length=20,
            description="Every passage needed to prove the answer, of each document at least one.",
        ),
    ]
    computation: Computed = None


class SubmitAcross(Record):
    """Submit all questions at once; none if the documents give none."""

    questions: Annotated[tuple[DraftAcross, ...], Field(max_length=10)]
