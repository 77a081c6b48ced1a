"""Claims that join statements: supported by code when each statement is, and never when one is not."""

from __future__ import annotations

import pytest

from qagen_dagster.grounding.grade_by_code import grade_by_code, grade_by_keywords, parts_of
from qagen_dagster.grounding.source import Source

SOURCE = Source(
    "John was arrested. Peter was also arrested. Anna may be arrested. Mary Hale was fined in Boston in 1990. "
    "The mill was not sold. Rain fell. The bridge was built in 1803. The mill was burned in 1810 by soldiers.\nNew York"
)


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        ("Both John and Peter were arrested.", ("John was arrested", "Peter was arrested")),
        ("Ann, Bob and Mr. Cole are judges", ("Ann is judges", "Bob is judges", "Mr. Cole is judges")),
        ("The bridge was built, and the mill was burned", ("The bridge was built", "the mill was burned")),
        ("John and Peter were brothers", ()),
        ("John and Peter were not arrested", ()),
        ("John and Peter were arrested together", ()),
        ("The price of bread and the price of milk rose", ()),
        ("John, who was rich, and Peter were arrested", ()),
        ("The mill was large and old", ()),
        ("John was arrested", ()),
    ],
)
def test_what_is_joined(claim: str, parts: tuple[str, ...]) -> None:
    assert parts_of(claim) == parts


@pytest.mark.parametrize(
    "claim",
    [
        "Both John and Peter were arrested.",
        "John and Peter were arrested",
        "According to the document, both John and Peter were arrested.",
        "The bridge was built in 1803 and the mill was burned in 1810 by soldiers.",
    ],
)
@pytest.mark.parametrize("question", ["", "Who was arrested?", "What happened?"])
def test_supported_parts_support_the_whole(claim: str, question: str) -> None:
    assert grade_by_code(claim, SOURCE, question=question).is_grounded is True


@pytest.mark.parametrize(
    "claim",
    [
        "Both John and Paul were arrested.",
        "John, Peter and Anna were arrested.",
        "Both John and Mary Hale were fined in Boston in 1990.",
        "The bridge was built in 1803 and the mill was burned in 1820 by soldiers.",
        "John was arrested and the mill was sold.",
        "John and Peter were not arrested.",
    ],
)
def test_one_part_that_is_not_supported_leaves_the_whole_unsupported(claim: str) -> None:
    assert grade_by_code(claim, SOURCE).is_grounded is not True


@pytest.mark.parametrize(
    "claim",
    [
        "John was arrested.",
        "Rain fell.",
        "Peter was also arrested.",
        "Peter was arrested.",
        "According to the document, John was arrested.",
        "The document states that rain fell.",
    ],
)
def test_short_sentences_of_the_document_are_supported(claim: str) -> None:
    assert grade_by_code(claim, SOURCE).is_grounded is True
    assert grade_by_keywords(claim, SOURCE).is_grounded is True


def test_the_reason_for_no_verdict_is_true() -> None:
    (issue,) = grade_by_code("New York.", SOURCE).issues
    assert "the document has these words, and they are too few to decide" in issue


def test_an_opening_is_no_key_phrase() -> None:
    source = Source("The old mill of Kelso was burned by soldiers of the king.")
    graded = grade_by_keywords("According to the text, the old mill was set on fire.", source)
    assert graded.is_grounded is not False
