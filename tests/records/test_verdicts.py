"""What a stored verdict says of criteria that nobody judged."""

from __future__ import annotations

import pytest

from qagen_dagster.records.questions.published import PublishedVerdict
from qagen_dagster.records.questions.results import VerdictRecord

ALL = ("non_trivial", "relevant", "supported", "premise_holds", "self_contained")


@pytest.mark.parametrize(
    ("said", "answerable", "unjudged"),
    [
        ("embedded:reader compared numbers", True, ALL),
        ("embedded:reader, no passage", False, ALL),
        ("code compared the two answers: their numbers differ", True, ALL[:2]),
        ("the document does not say it", False, ALL[:2]),
        ("all hold", True, ()),
        ("code found the two answers equal and ...", True, ()),
    ],
)
def test_what_nobody_judged_is_not_confirmed(said: str, answerable: bool, unjudged: tuple[str, ...]) -> None:
    """Also in records of earlier versions, which have it as true."""
    stored = {
        **dict.fromkeys((*ALL, "matches", "unambiguous"), True),
        "answerable": answerable, "blind_answer": "6:00", "explanation": said,
    }  # fmt: skip
    whole = {**stored, "attempt": 1, "question": "When?", "proposed_answer": "6:00"}
    record, published = VerdictRecord.model_validate(whole), PublishedVerdict.model_validate(stored)
    for found in (record, published, PublishedVerdict.of(record)):
        assert {name for name in ALL if getattr(found, name) is None} == set(unjudged)
        assert found.matches is (True if answerable else None)
    assert record.passed is answerable


@pytest.mark.parametrize("fault", ["non_trivial", "relevant", "self_contained"])
def test_a_fault_that_the_embedded_reader_finds_is_kept(fault: str) -> None:
    stored = {
        **dict.fromkeys((*ALL, "matches", "unambiguous", "answerable"), True), fault: False,
        "attempt": 1, "question": "When?", "proposed_answer": "6:00", "blind_answer": "6", "explanation": "embedded:reader x",
    }  # fmt: skip
    found = VerdictRecord.model_validate(stored)
    assert (getattr(found, fault), found.passed) == (False, False)
