"""What agents submit: the argument schemas of their terminal tools.

Field descriptions are read by models: they are part of the prompt.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.records.base import Record


class EvidenceQuote(Record):
    """A passage copied from the document."""

    quote: Annotated[
        str,
        Field(
            min_length=1,
            description="One contiguous passage in the document's own words and punctuation, line numbers left out. "
            "Spaces and line breaks do not matter.",
        ),
    ]
    start_line: Annotated[
        int | None, Field(ge=1, description="Line the quote starts on; null only in a document without text.")
    ] = None


class SubmitQA(Record):
    """Submit one question with its answer and the passages that prove it."""

    question: Annotated[
        str,
        Field(
            min_length=8,
            description="One self-contained question. Its reader knows only the corpus, not which document is meant.",
        ),
    ]
    answer: Annotated[str, Field(min_length=1, description="The shortest complete answer.")]
    evidence: Annotated[
        tuple[EvidenceQuote, ...],
        Field(
            min_length=1, max_length=6, description="Every passage needed to prove the answer, and no other."
        ),
    ]
    question_type: Annotated[
        str,
        Field(
            description="multi_hop only if the answer needs two passages that stand apart (not a header row and its data row); "
            "else one of factual, definition, numeric, temporal, causal, comparison, procedural, structure (layout, arrows, "
            "parts); or another word the scenario uses."
        ),
    ] = "factual"


class SubmitVisualQA(SubmitQA):
    """Submit one question about tables or figures, with its answer and what proves it."""

    visuals: Annotated[
        tuple[str, ...],
        Field(
            min_length=1,
            description="Labels, as list_visual_content shows them, of the tables and figures one must look at.",
        ),
    ]


class ReportExhausted(Record):
    """Report that the document holds no further good question."""

    reason: Annotated[
        str, Field(min_length=1, description="What was looked at and why nothing more can be asked.")
    ]


class BlindAnswer(Record):
    """Answer the question from the document alone."""

    answerable: Annotated[
        bool,
        Field(description="True if the document answers the whole question; false if only a part of it."),
    ]
    answer: Annotated[
        str, Field(description="Only what is asked, as short as it can be. Empty if not answerable.")
    ]
    evidence: Annotated[
        tuple[EvidenceQuote, ...],
        Field(description="The passages your answer, or the part of it you found, rests on."),
    ] = ()
    unambiguous: Annotated[
        bool,
        Field(
            description="False if a careful reader could defend two different answers, or cannot tell what is asked."
        ),
    ]
    note: Annotated[
        str,
        Field(
            description="One sentence, only if needed: which other answer is possible, or what is missing."
        ),
    ] = ""


class Comparison(Record):
    """Compare your own answer with the proposed one and judge the question by the four criteria."""

    matches: Annotated[bool, Field(description="Criterion 1.")]
    non_trivial: Annotated[bool, Field(description="Criterion 2.")]
    unambiguous: Annotated[bool, Field(description="Criterion 3.")]
    relevant: Annotated[bool, Field(description="Criterion 4.")]
    explanation: Annotated[
        str,
        Field(
            min_length=1,
            description="The reason for every false, in one or two sentences, and why differing answers match if they do; "
            '"all hold" if there is nothing to explain.',
        ),
    ]


class DuplicateVerdict(Record):
    """Say whether the new question asks the same as one of the numbered ones."""

    explanation: Annotated[
        str,
        Field(
            description="One short sentence: which fact the new question asks for, and which the nearest one does."
        ),
    ] = ""
    verdict: Literal["unique", "duplicate"]
    duplicate_of: Annotated[
        int | None,
        Field(
            ge=1,
            description="Number of the accepted question it repeats, the closest if several; null if unique.",
        ),
    ] = None
