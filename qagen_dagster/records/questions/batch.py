"""The submissions of the agents of the batch strategy: the argument schemas of their terminal tools.

Models read the docstrings and the descriptions of the fields, which are part of the prompt.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.questions import submissions

_MOST_QUOTES = 20


def as_type(value: object) -> object:
    """A question type in its standard form, such as multi_hop for "Multi-hop". A value that is not text is unchanged."""
    if not isinstance(value, str):
        return value
    name = "_".join(value.strip(" .:()[]*`").casefold().replace("-", " ").replace("_", " ").split())
    return "multi_hop" if name == "multihop" else name


AskedType = Annotated[
    QuestionType,
    BeforeValidator(as_type),
    WithJsonSchema({"type": "string", "enum": [kind.value for kind in QuestionType]}),
]


class DraftQuestion(Record):
    """One question."""

    question: str = Field(description=submissions.SELF_CONTAINED)
    question_type: AskedType = Field(description="The type that it was asked for as.")


class NotPossible(Record):
    """A type that the document cannot give."""

    question_type: Annotated[
        AskedType, WithJsonSchema({"type": "string", "description": "One of the types of questions."})
    ]
    reason: str = Field(description="What the document lacks, in one sentence.")


class SubmitQuestions(Record):
    """Submit all questions at once."""

    questions: tuple[DraftQuestion, ...] = Field(max_length=200)
    not_possible: tuple[NotPossible, ...] = Field(
        default=(), description="Types for which the document gives no more good questions than you submit."
    )


class SubmitRewrite(Record):
    """Submit the question that takes the place of the rejected one."""

    question: str = Field(description="The new question; empty if the document gives none of this type.")


class SubmitGroundedAnswer(Record):
    """Submit the answer with the passages that support it."""

    answer: str = Field(min_length=1, description="The answer, in whole sentences and complete.")
    evidence: tuple[submissions.EvidenceQuote, ...] = Field(
        default=(),
        max_length=_MOST_QUOTES,
        description="Every passage the answer rests on, and no other. Empty only with insufficient information.",
    )
    computation: submissions.Computation | None = Field(
        default=None,
        description="Only if a number of the answer is computed or counted: code computes it again.",
    )


class NumberedAnswer(SubmitGroundedAnswer):
    """The answer to one of the questions."""

    number: int = Field(ge=1, description="Number of the question.")


class SubmitGroundedAnswers(Record):
    """Submit the answers to all questions, each with the passages that support it."""

    answers: tuple[NumberedAnswer, ...] = Field(min_length=1, max_length=40)

    _single = model_validator(mode="before")(submissions.in_list("answers", NumberedAnswer))


class AnsweredQuestion(submissions.SubmitQA):
    """A question with its answer, in the form that the evidence check takes."""

    evidence: tuple[submissions.EvidenceQuote, ...] = Field(min_length=1, max_length=_MOST_QUOTES)
