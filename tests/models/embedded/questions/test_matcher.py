"""The matcher: repeats found, look-alikes kept."""

from __future__ import annotations

import pytest

from tests.models.embedded.driver import Paper, run

ACCEPTED = (
    "1. What was the revenue of Hollis Ltd in 2022? [answer: 4 million]\n"
    "2. Who designed the pump at Selby Quay? [answer: Martha Kellogg]\n"
    '3. According to "Stations", what is the depth of the station "Skerry Bank"? [answer: 18]\n'
    "4. Which station has the highest salinity? [answer: Skerry Bank]"
)


def verdict(question: str, answer: str = "") -> tuple[str, int | None]:
    said = f"\nIts answer: {answer}" if answer else ""
    prompt = f"New question: {question}{said}\n\nAccepted questions:\n{ACCEPTED}"
    found = run("matcher", prompt, Paper(""), "submit_duplicate_verdict")[1]
    return found["verdict"], found["duplicate_of"]


@pytest.mark.parametrize(
    ("question", "answer", "number"),
    [
        ("What was the revenue of Hollis Ltd in 2022?", "4 million", 1),
        ("Who was the designer of the pump at Selby Quay?", "Martha Kellogg", 2),
    ],
)
def test_repeats(question: str, answer: str, number: int) -> None:
    assert verdict(question, answer) == ("duplicate", number)


@pytest.mark.parametrize(
    "question",
    [
        'According to "Stations", what is the depth of the station "Mill Creek"?',
        'According to "Stations", what is the salinity of the station "Skerry Bank"?',
        "Which station has the lowest salinity?",
        "When was the pump at Selby Quay designed?",
    ],
)
def test_look_alikes(question: str) -> None:
    assert verdict(question) == ("unique", None)


def test_nothing_to_compare_with_is_unique() -> None:
    found = run(
        "matcher", "New question: What?\n\nAccepted questions:\n", Paper(""), "submit_duplicate_verdict"
    )[1]
    assert found["verdict"] == "unique"
