from __future__ import annotations

import pytest

from qagen_dagster.grounding.short_answers import supporting
from qagen_dagster.grounding.source import Source

TEXT = """The harbour office was opened on 3 May 1931 by Ida Berg.

The ferry has 64 seats and 12 cabins.

Table 1: Boats of the harbour

| Boat | Length (m) | Home port | Crew | Port fee |
|------|-----------|-----------|------|------|
| Alma | 12.5 | Lunde | 3 | 40 |
| Brise | 17.0 | Ostrand | 5 | 55 |
"""
SOURCE = Source(TEXT)
LENGTH = 'According to Table 1 of "Boats", what is the length in m for the boat "Alma"?'


@pytest.mark.parametrize(
    ("question", "answer", "line"),
    [
        ("When was the harbour office opened?", "3 May 1931", 1),
        ('According to "A long title, with a comma", when was the harbour office opened?', "3 May 1931", 1),
        ("Who opened the harbour office?", "Ida Berg", 1),
        (LENGTH, "12.5", 9),
        ("What is the home port of the boat Brise?", "Ostrand", 10),
        ("What is the port fee for the boat Alma?", "40", 9),
    ],
)
def test_a_short_answer_is_supported_where_its_question_is(question: str, answer: str, line: int) -> None:
    window = supporting(answer, question, SOURCE)
    assert window is not None
    assert SOURCE.evidence(window).start_line == line


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the harbour office opened?", "Ida Berg"),  # no date
        ("Who opened the harbour office?", "3 May 1931"),
        ("How many seats has the ferry?", "12"),  # two numbers: which one is asked for is not known
        ("When was the ferry sold?", "3 May 1931"),  # another subject
        (LENGTH, "17.0"),  # another row
        (LENGTH, "Lunde"),  # another column
        (LENGTH, "3"),
        ("What is the port of the boat Alma?", "Lunde"),  # two columns fit
        ("Who is Ida Berg?", "Ida Berg"),  # says nothing new
        ("", "3 May 1931"),
        ("When was the harbour office opened?", ""),
    ],
)
def test_another_value_is_not_supported(question: str, answer: str) -> None:
    assert supporting(answer, question, SOURCE) is None
