"""Several questions without an answer are one submission, of which only the faulty ones go back."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.agents.questions.no_answer import propose
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.questions.results import RejectionReason
from tests.support.documents import context_of
from tests.support.models import FakeModel, Turn, call, say, told

LINE = "Calibrate the probe every 90 days."


def draft(part: str, quote: str = LINE) -> dict[str, Any]:
    return {
        "kind": "unanswerable",
        "question": f"How much does the {part} of the CT-15 probe weigh?",
        "answer": f"The weight of the {part} is not given.",
        "reason": "No weight is given.",
        "evidence": [{"quote": quote}],
    }


def submit(*drafts: dict[str, Any]) -> Turn:
    return call("submit_no_answer", questions=list(drafts))


GOOD, BAD, MENDED = draft("cable"), draft("cell", "It weighs nothing at all."), draft("cell")


@pytest.mark.parametrize(
    ("again", "gates"),
    [
        (submit(MENDED), {"cable": None, "cell": None}),
        (submit(GOOD, MENDED), {"cable": None, "cell": None}),
        (submit(BAD), {"cable": None, "cell": RejectionReason.EVIDENCE_NOT_FOUND}),
        (submit(draft("housing")), {"cable": None, "housing": None}),
        (say("I have no better one."), {"cable": None}),
    ],
    ids=["only the bad one", "all", "the same", "another one", "none"],
)
def test_only_a_faulty_question_goes_back(again: Turn, gates: dict[str, RejectionReason | None]) -> None:
    model = FakeModel([submit(GOOD, BAD), *[again] * 6])
    found = propose(context_of(), model, {NoAnswerKind.UNANSWERABLE: 3}, [], [], 1)
    assert {one.question.split()[4]: one.gate for one in found.candidates} == gates
    refusal = told(model.requests[1]).partition("Not accepted: ")[2]
    assert refusal.startswith("question 2: ")
    assert "all others are kept" in refusal
    assert found.failure == ""


def test_questions_without_fault_are_taken_at_once() -> None:
    model = FakeModel([submit(GOOD, MENDED)])
    found = propose(context_of(), model, {NoAnswerKind.UNANSWERABLE: 3}, [], [], 1)
    assert (len(found.candidates), len(model.requests)) == (2, 1)


def test_a_model_that_sees_the_whole_document_is_promised_no_tools() -> None:
    model = FakeModel([submit(GOOD)], provider="openai")
    propose(context_of(), model, {NoAnswerKind.UNANSWERABLE: 1}, [], [], 1)
    assert [tool.name for tool in model.requests[0].tools] == ["submit_no_answer"]
    assert "tools, if any are offered" in told(model.requests[0])
