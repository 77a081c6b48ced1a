"""The submissions of agents: the argument schemas of their terminal tools.

Language models read the docstrings of these records and the descriptions of their fields. Both are part of the prompt.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field, field_validator, model_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import AcrossKind


class EvidenceQuote(Record):
    """A passage copied from the document."""

    quote: str = Field(
        min_length=1,
        description="One contiguous passage in the document's own words and punctuation, line numbers left out. "
        "Spaces and line breaks do not matter.",
    )
    start_line: int | None = Field(
        default=None, ge=1, description="Line the quote starts on; null only in a document without text."
    )


class Step(Record):
    """One operation on values in the quotes."""

    operation: Literal[
        "sum",
        "difference",
        "product",
        "ratio",
        "percent_change",
        "mean",
        "median",
        "count",
        "maximum",
        "minimum",
        "rank",
        "days",
    ]
    items: tuple[str, ...] = Field(
        min_length=1,
        max_length=60,
        description="The values as the quotes write them, in the order of the operation: ratio is first by second, "
        "percent_change is from second to first, days is from the second date to the first. For count: the words of each thing that is "
        "counted, as the quotes write them. For maximum, minimum and rank: each name with its value, such as GSO: 31; rank is the "
        "place of the first one among all, from the largest.",
    )
    result: str = Field(
        description="The number that comes out; for maximum and minimum the name or the value that wins; for rank the place."
    )


class Computation(Step):
    """How an answer is worked out from values in the quotes; the result is a number or a name of the answer."""

    steps: tuple[Step, ...] = Field(
        default=(),
        max_length=6,
        description="Only if other results come first: those operations. Their results may be items of later ones.",
    )


SELF_CONTAINED = "One self-contained question. Its reader knows only the corpus, not which document is meant."
QuestionText = Annotated[str, Field(min_length=8, description=SELF_CONTAINED)]
AnswerText = Annotated[str, Field(min_length=1, description="The shortest complete answer.")]
Computed = Annotated[
    Computation | None,
    Field(description="Only if the answer is computed or counted: code computes it again."),
]


class SubmitQA(Record):
    """Submit one question with its answer and the passages that prove it."""

    question: QuestionText
    answer: AnswerText
    evidence: tuple[EvidenceQuote, ...] = Field(
        min_length=1, max_length=20, description="Every passage needed to prove the answer, and no other."
    )
    question_type: str = Field(
        default="factual",
        description="multi_hop only if the answer needs two passages: two sentences, which may follow each other, or more "
        "(the rows of a table with its head are one passage); else one of factual, definition, numeric, temporal, causal, comparison, procedural, structure (layout, arrows, "
        "parts); or another word the scenario uses.",
    )
    computation: Computed = None
    also_seen: tuple[str, ...] = Field(
        default=(),
        description="Only if you used tools: up to five other facts you saw that are worth a question, each in one short sentence "
        "with its line or label. The next attempt sees these notes, and nothing else of what you looked at.",
    )


class SubmitVisualQA(SubmitQA):
    """Submit one question about tables or figures, with its answer and what proves it."""

    visuals: tuple[str, ...] = Field(
        min_length=1,
        description="Labels, as list_visual_content shows them, of the tables and figures one must look at.",
    )


class ReportExhausted(Record):
    """Report that the document holds no further good question."""

    reason: str = Field(min_length=1, description="What was looked at and why nothing more can be asked.")


def _explained_last(schema: dict[str, Any]) -> None:
    """Move `note` and `explanation` to the end of the schema, because inherited fields come before the verdicts that a class adds."""
    fields = schema["properties"]
    for name in ("note", "explanation"):
        if name in fields:
            fields[name] = fields.pop(name)


class BlindAnswer(Record):
    """Answer the question from the document alone."""

    model_config = ConfigDict(json_schema_extra=_explained_last)

    answerable: bool = Field(
        description="True if the document answers the whole question; false if only a part of it."
    )
    answer: str = Field(
        description="Only what is asked, as short as it can be; of two possible answers the better one. Empty if not answerable."
    )
    evidence: tuple[EvidenceQuote, ...] = Field(
        default=(), description="The passages your answer, or the part of it you found, rests on."
    )
    premise_holds: bool = Field(
        default=True,
        description="False if the question takes for granted what the document denies or calls only likely.",
    )
    unambiguous: bool = Field(
        description="False if a careful reader could defend two different answers, or cannot tell what is asked."
    )
    note: str = Field(
        default="",
        description="One sentence, only if needed: which other answer is possible, or what is missing.",
    )


class JudgingAnswer(BlindAnswer):
    """Answer the question from the document alone, and judge the question."""

    self_contained: bool = Field(
        description="False if a reader who knows the corpus, but not which document is meant, cannot tell what is asked."
    )
    relevant: bool = Field(description="False if the question does not serve the corpus and the scenario.")
    note: str = Field(
        default="",
        description="One sentence, only if needed: which other answer is possible, what is missing, or the reason for another false.",
    )

    @model_validator(mode="before")
    @classmethod
    def _unsaid(cls, value: object) -> object:
        """Set criteria that the model left out to False, so that the comparison judges them. Drop `non_trivial` of older journals."""
        if not isinstance(value, dict):
            return value
        said = {name: one for name, one in cast("dict[str, object]", value).items() if name != "non_trivial"}
        return {**dict.fromkeys(("self_contained", "relevant"), False), **said}


def in_list(name: str, item: type[Record]) -> Callable[[object], object]:
    """A validator for models that write the fields of a single `item` directly: it puts them into the list `name`, with the number 1."""

    def read(value: object) -> object:
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, object]", value)
        known = {field: one for field, one in given.items() if field in item.model_fields}
        wrapped: dict[str, object] = {name: [{"number": 1, **known}]}
        return wrapped if known and name not in given else given

    return read


class NumberedFinding(BlindAnswer):
    """The answer to one of the questions."""

    number: int = Field(ge=1, description="Number of the question.")


class SubmitSeenAnswers(Record):
    """Answer every question from the document alone."""

    answers: tuple[NumberedFinding, ...] = Field(min_length=1, max_length=40)

    _single = model_validator(mode="before")(in_list("answers", NumberedFinding))


class NumberedJudgement(JudgingAnswer):
    """The answer to one of the questions, and what you find about the question."""

    number: int = Field(ge=1, description="Number of the question.")


class SubmitAnswers(Record):
    """Answer every question from the document alone, and judge each question by itself."""

    answers: tuple[NumberedJudgement, ...] = Field(min_length=1, max_length=40)

    _single = model_validator(mode="before")(in_list("answers", NumberedJudgement))


class Comparison(Record):
    """Compare your own answer with the proposed one and judge the question by the seven criteria."""

    model_config = ConfigDict(json_schema_extra=_explained_last)

    supported: bool = Field(description="Criterion 1, before you look at your own answer.")
    matches: bool = Field(description="Criterion 2.")
    premise_holds: bool = Field(description="Criterion 3.")
    unambiguous: bool = Field(description="Criterion 4.")
    self_contained: bool = Field(description="Criterion 5.")
    relevant: bool = Field(description="Criterion 6.")
    # True by default, because models that cannot judge types leave it out
    of_type: bool = Field(default=True, description="Criterion 7.")
    explanation: str = Field(
        min_length=1,
        description="The reason for every false, in one or two sentences, and why differing answers match if they do; "
        '"all hold" if there is nothing to explain.',
    )


class NumberedComparison(Comparison):
    """The comparison of one pair of answers."""

    number: int = Field(ge=1, description="Number of the pair.")


class SubmitComparisons(Record):
    """Compare your own answer with the proposed one, and judge the question, of every pair by itself."""

    comparisons: tuple[NumberedComparison, ...] = Field(min_length=1, max_length=40)

    _single = model_validator(mode="before")(in_list("comparisons", NumberedComparison))


class DuplicateVerdict(Record):
    """Say whether the new question asks the same as one of the numbered ones."""

    verdict: Literal["unique", "duplicate"]
    duplicate_of: int | None = Field(
        default=None,
        ge=1,
        description="Number of the accepted question it repeats, the closest if several; null if unique.",
    )
    explanation: str = Field(
        default="",
        description="One short sentence: which fact the new question asks for, and which the nearest one does.",
    )


class GroundingVerdict(Record):
    """Say whether the document supports every claim of the answer."""

    reason: str = Field(
        default="",
        max_length=2000,
        description="One or two sentences: the claim that fails and what the document says instead, or the lines that "
        "prove the answer. Write this first.",
    )
    verdict: Literal["SUPPORTED", "NOT_SUPPORTED"] = Field(
        description="NOT_SUPPORTED if a single claim is contradicted, changed or not in the document."
    )
    confidence: float = Field(
        ge=0, le=1, allow_inf_nan=False, description="How sure you are of the verdict, from 0 to 1."
    )

    @field_validator("reason", mode="before")
    @classmethod
    def _shortened(cls, value: object) -> object:
        return value[:2000] if isinstance(value, str) else "" if value is None else value

    @field_validator("verdict", mode="before")
    @classmethod
    def _spelt(cls, value: object) -> object:
        """Accept other spellings of the two verdicts. Partial support counts as NOT_SUPPORTED."""
        if not isinstance(value, str):
            return value
        letters = re.sub(r"[^A-Z]", "", value[:40].upper())
        if re.fullmatch(r"(?:NOT|UN|PARTIALLY|PARTLY)SUPPORTED|CONTRADICTED", letters):
            return "NOT_SUPPORTED"
        return "SUPPORTED" if letters in ("SUPPORTED", "FULLYSUPPORTED") else value

    @field_validator("confidence", mode="before")
    @classmethod
    def _of_one(cls, value: object) -> object:
        """Accept percentages. A number between 1 and 10 may be on another scale, so it is unchanged, and the limit of 1 refuses it."""
        if isinstance(value, str):
            number = re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,9})?)\s*(%?)\s*", value)
            if number is not None:
                value = float(number.group(1)) / (100 if number.group(2) else 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None if isinstance(value, bool) else value
        return value / 100 if 10 < value <= 100 else value


class DocumentQuote(EvidenceQuote):
    """A passage copied from one of the documents."""

    document: int = Field(ge=1, description="Number of the document that has it.")


class DraftAcross(Record):
    """One question that no single document answers."""

    kind: AcrossKind = Field(description="Its kind.")
    question: QuestionText
    answer: AnswerText
    evidence: tuple[DocumentQuote, ...] = Field(
        min_length=2,
        max_length=20,
        description="Every passage needed to prove the answer, of each document at least one.",
    )
    computation: Computed = None


class SubmitAcross(Record):
    """Submit all questions at once; none if the documents give none."""

    questions: tuple[DraftAcross, ...] = Field(max_length=10)
