from __future__ import annotations

import pytest

from qagen_dagster.loop.evaluation.retrieval_baseline import titles_of, without_title

TITLES = ["Care of the Salt Probe", "Care of the Salt Probe Second edition"]


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("In \"Care of the Salt Probe\", how long is the cable?", "How long is the cable?"),
        ("According to care of the salt probe, how long is the cable?", "How long is the cable?"),
        ("How long is the cable in Care of the Salt Probe?", "How long is the cable?"),
        ("How long is the cable (\u201cCare of the Salt Probe\u201d) in metres?", "How long is the cable in metres?"),
        ("In Care of the Salt Probe Second edition, who wrote it?", "Who wrote it?"),
        ("How long is the salt probe's cable?", ""),
        ("How long is the cable?", ""),
    ],
)  # fmt: skip
def test_a_quoted_title_is_removed(question: str, without: str) -> None:
    assert without_title(question, TITLES) == without


def test_titles_are_those_of_the_metadata_and_of_the_first_lines() -> None:
    text = "\n# Town Council\n\nMinutes of 18 April\nPresent: all.\n"
    assert titles_of(text, "Council") == ["Council", "Town Council Minutes of 18 April", "Town Council"]
    assert titles_of("", None) == []
