"""The quotes of a submission name what they speak of: the head of the table, and the subject of the question."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.records.questions.results import Candidate, RejectionReason
from qagen_dagster.records.questions.submissions import SubmitQA
from tests.support.documents import context_of, view_of

TEXT = """\
The survey of Selby counted 412 herons.
Their number fell in the wet year.

Kestrels were ringed at dusk by two keepers.

| Month | Herons |
| --- | --- |
| May | 31 |
| June | 48 |"""
CELL: dict[str, Any] = {
    "question": "How many herons were counted at Selby in June?",
    "answer": "48",
    "evidence": [{"quote": "| June | 48 |"}],
}


def candidate(text: str = TEXT, **values: Any) -> Candidate:
    return EvidenceCheck(context_of(view_of(text))).candidate_of(SubmitQA.model_validate(values))


def test_a_row_of_a_table_comes_with_its_head() -> None:
    found = candidate(**CELL)
    assert found.gate is None
    assert [(one.start_line, one.end_line) for one in found.evidence] == [(6, 7), (9, 9)]
    assert found.evidence[0].quote.startswith("| Month | Herons |")


def test_a_head_that_is_quoted_is_not_added_again() -> None:
    both = [{"quote": "| Month | Herons |"}, *CELL["evidence"]]
    assert [one.start_line for one in candidate(**CELL | {"evidence": both}).evidence] == [6, 9]


def test_an_added_head_makes_no_second_passage() -> None:
    assert candidate(**CELL, question_type="multi_hop").gate is RejectionReason.NOT_MULTI_HOP


@pytest.mark.parametrize(
    ("question", "accepted"),
    [
        ("By whom were the kestrels of Selby ringed?", True),
        ("Who surveyed the herons in the wet year?", False),
        ("Wer hat die Reiher von Ouse gesehen?", True),
    ],
    ids=["its subject", "another subject", "words that the document has nowhere"],
)
def test_quotes_without_any_word_of_the_question_do_not_show_its_subject(
    question: str, accepted: bool
) -> None:
    quotes = [{"quote": "Kestrels were ringed at dusk by two keepers."}]
    found = candidate(question=question, answer="two keepers", evidence=quotes)
    assert (found.gate is None) is accepted
    if not accepted:
        assert found.gate is RejectionReason.ANSWER_NOT_SUPPORTED
        assert "names what the question asks about: quote the passage with" in found.gate_detail
