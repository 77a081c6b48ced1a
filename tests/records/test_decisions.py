"""The record of a reviewer's decision refuses what would have no meaning."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from qagen_dagster.records.decisions import Decision, review_folder

JUDGED = {
    "set_key": "probes/service/textual",
    "question_id": "q-1",
    "document_id": "a.txt",
    "question": "How long is the cable?",
    "answer": "12 m",
    "reviewer": "ida",
}
EDIT = {"action": "edit", "new_question": "How long is the cable of the probe?", "new_answer": "12 m"}


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "accept"},
        {"action": "reject", "reason": "trivial"},
        EDIT,
        {"action": "comment", "reason": "see page 2"},
        {"action": "undo", "undoes": "d-1"},
    ],
    ids=lambda one: one["action"],
)
def test_a_complete_decision_survives_its_file(changes: dict[str, Any]) -> None:
    decision = Decision.model_validate(JUDGED | changes)
    assert Decision.model_validate_json(decision.model_dump_json()) == decision


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"action": "edit", "new_question": "How long is it?"}, "needs new_question and new_answer"),
        ({"action": "edit", "new_question": " \n", "new_answer": "12 m"}, "needs new_question"),
        (EDIT | {"new_question": JUDGED["question"]}, "changes nothing"),
        (EDIT | {"action": "accept"}, "only an edit"),
        ({"action": "undo"}, "names the decision"),
        ({"action": "accept", "undoes": "d-1"}, "names the decision"),
        ({"action": "comment"}, "needs a text"),
        ({"action": "accept", "reviewer": "  "}, "reviewer"),
        ({"action": "accept", "set_key": "probes/service"}, "is not corpus/scenario/mode"),
        ({"action": "accept", "question_id": "../x"}, "is not a name"),
        ({"action": "accept", "time": "2026-11-23T10:00:00"}, "timezone"),
    ],
)
def test_a_decision_without_meaning_is_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Decision.model_validate(JUDGED | changes)


@pytest.mark.parametrize(
    ("set_key", "folder"),
    [
        ("probes/service/textual", "reviews/probes/service/textual"),
        ("exams/physics", "exams/physics/reviews"),
        ("problems/mechanics", "problems/mechanics/reviews"),
        ("exams/service/textual", "reviews/exams/service/textual"),  # of a corpus with this name
    ],
)
def test_the_decisions_on_a_set_have_a_folder_of_their_own(set_key: str, folder: str) -> None:
    assert review_folder(set_key) == folder


@pytest.mark.parametrize(
    "set_key", ["", "exams", "exams/", "exams/..", "exams/a/b", "problems/a b", "../x/textual"]
)
def test_a_key_that_could_leave_the_folder_is_refused(set_key: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        review_folder(set_key)
