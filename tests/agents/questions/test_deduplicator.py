from __future__ import annotations

from qagen_dagster.agents.questions.deduplicator import Compared, find_duplicate
from tests.support.models import FakeModel, Turn, call, say, told

KNOWN = (("Who built the probe?", "Ida Holm"), ("When was it built?", "1998"))


def run(*turns: Turn) -> tuple[Compared, FakeModel]:
    model = FakeModel(turns)
    found = find_duplicate(model, "Who made the probe?", "Ida Holm", KNOWN, document_id="d", attempt=4)
    return found, model


def test_a_duplicate_is_named_by_its_place_in_the_list() -> None:
    found, model = run(
        call("submit_duplicate_verdict", verdict="duplicate", duplicate_of=2, explanation="same")
    )
    assert (found.duplicate_of, found.detail) == (1, "same")
    assert [(one.role, one.document_id, one.attempt) for one in found.calls] == [("deduplicator", "d", 4)]
    assert model.requests[0].sample == 4
    asked = told(model.requests[0])
    assert "1. Who built the probe? [answer: Ida Holm]\n2. When was it built? [answer: 1998]" in asked
    assert "New question: Who made the probe?\nAnswer: Ida Holm" in asked


def test_a_unique_question_has_no_index_whatever_else_is_said() -> None:
    found, _ = run(call("submit_duplicate_verdict", verdict="unique", duplicate_of=1, explanation="new"))
    assert (found.duplicate_of, found.detail) == (None, "new")


def test_a_number_that_is_not_in_the_list_is_told_back() -> None:
    turns = [
        call("submit_duplicate_verdict", verdict="duplicate", duplicate_of=3),
        call("submit_duplicate_verdict", verdict="duplicate"),
        call("submit_duplicate_verdict", verdict="duplicate", duplicate_of=1),
    ]
    found, model = run(*turns)
    assert found.duplicate_of == 0
    assert "duplicate_of must be a number from 1 to 2." in told(model.requests[1])
    assert told(model.requests[2]).count("duplicate_of must be a number from 1 to 2.") == 2
    assert len(found.calls) == 3


def test_without_a_verdict_the_question_stays_and_it_is_said() -> None:
    found, _ = run(*[say("Hard to tell.")] * 4)
    assert (found.duplicate_of, found.detail) == (None, "no verdict (no_tool_call): kept as unique")
    assert len(found.calls) == 4
