from __future__ import annotations

import pytest

from qagen_dagster.agents.questions.evidence.widening import head_of_table, widened
from qagen_dagster.records.questions.results import Evidence

LINES = [
    "# Probes",
    "",
    "The drift of the probe was",
    "measured in decades. It was",
    "built by Ida Holm in 1998.",
    "",
    "| year | probes | boats |",
    "| ---- | ------ | ----- |",
    "| 1998 | 12     | 3     |",
    "| 1999 | 14     | 4     |",
    "",
    "North 120 340 560",
    "South 130 350 570",
    "",
]


def _place(quote: str, line: int) -> Evidence:
    return Evidence(quote=quote, start_line=line, end_line=line + quote.count("\n"))


@pytest.mark.parametrize(
    ("quote", "line", "whole", "first"),
    [
        ("measured in decades", 4, "The drift of the probe was\nmeasured in decades.", 3),
        ("decades. It", 4, "The drift of the probe was\nmeasured in decades. It was\nbuilt by Ida Holm in 1998.", 3),
        ("14", 10, "| 1999 | 14     | 4     |", 10),
        ("350", 13, "South 130 350 570", 13),
    ],
    ids=["sentence", "two sentences", "row with cells", "row of values"],
)  # fmt: skip
def test_a_fragment_is_widened_to_its_sentence_or_row(quote: str, line: int, whole: str, first: int) -> None:
    found = widened(LINES, _place(quote, line))
    assert (found.quote, found.start_line) == (whole, first)
    assert found.end_line == first + whole.count("\n")


def test_a_whole_sentence_a_long_one_and_evidence_without_lines_stay() -> None:
    whole = _place("The drift of the probe was\nmeasured in decades", 3)  # only the full stop is missing
    assert widened(LINES, whole) == whole
    long = [" ".join(f"word{number}" for number in range(200))]
    assert widened(long, _place("word3 word4", 1)) == _place("word3 word4", 1)
    seen = Evidence(quote="a red line", start_line=None, end_line=None, visual="Figure 1")
    assert widened(LINES, seen) == seen


def test_the_head_of_a_table_is_its_first_rows_without_amounts() -> None:
    assert head_of_table(LINES, 10) == (7, 8)
    assert head_of_table(LINES, 7) is None
    assert head_of_table(LINES, 4) is None
    years = [
        "| | Year ended |",
        "| (in millions) | 2019 | 2018 |",
        "| Sales | 204.9 | 132.3 |",
        "| | $ (7) | 9% |",
    ]
    assert head_of_table(years, 4) == (1, 2)
    words = ["| Option | Meaning |", "| --- | --- |", "| point | the standard |", "| bath | the water |"]
    assert head_of_table(words, 4) == (1, 2)
    assert head_of_table(words[::2] + words[3:], 3) == (1, 1)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("The pump was built in 1998. It weighs 12 kg.", "The pump was built in 1998. It weighs 12 kg."),
        ("The pump was built in 1998. This was late by a year.", "The pump was built in 1998. This was late by a year."),
        ("It weighs 12 kg. The pump was built in 1998.", "It weighs 12 kg."),
        ("The pump was built in 1998. This pump weighs 12 kg.", "This pump weighs 12 kg."),
        ("The pump was built in 1998.\n\nIt weighs 12 kg.", "It weighs 12 kg."),
    ],
    ids=["pronoun", "this", "first sentence", "with its noun", "another paragraph"],
)  # fmt: skip
def test_a_sentence_that_begins_with_a_pronoun_gets_the_one_before_it(text: str, whole: str) -> None:
    quote = "12 kg" if "12 kg" in text else "a year"
    lines = text.split("\n")
    line = next(number for number, one in enumerate(lines, 1) if quote in one)
    assert widened(lines, _place(quote, line)).quote == whole


OFFICES = [
    "Shares by office",
    "GSO 31",
    "GSP: 20",
    "GVA 12",
    "The offices merged later, as PIE:St. Mary wrote",
    "in her report of 1998.",
    "",
    "Item 2019 2018",
    "Sales 12 14",
    "Costs 5 6",
    "The clock was set in",
    "March 1998 and it ran",
    "until May 2001.",
]


@pytest.mark.parametrize(
    ("quote", "line", "whole"),
    [
        ("12", 4, "GVA 12"),
        ("20", 3, "GSP: 20"),
        ("GSO 31", 2, "GSO 31"),
        ("Mary wrote", 5, "The offices merged later, as PIE:St. Mary wrote\nin her report of 1998."),
        ("Costs", 10, "Costs 5 6"),
        ("it ran", 12, "The clock was set in\nMarch 1998 and it ran\nuntil May 2001."),
    ],
)
def test_rows_without_cells_are_taken_alone_and_sentences_without_rows(
    quote: str, line: int, whole: str
) -> None:
    assert widened(OFFICES, _place(quote, line)).quote == whole


@pytest.mark.parametrize(
    ("line", "head"), [(2, (1, 1)), (4, (1, 1)), (9, (8, 8)), (10, (8, 8)), (8, None), (5, None), (13, None)]
)
def test_the_head_of_rows_without_cells_is_years_or_the_line_above(
    line: int, head: tuple[int, int] | None
) -> None:
    assert head_of_table(OFFICES, line) == head
