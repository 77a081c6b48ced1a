from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.review_decisions import (
    QuestionReview,
    ReviewState,
    agreements,
    append,
    decisions_of,
    edit_on,
    edits_of,
    facts_of,
    random_order,
    state_of,
)
from qagen_dagster.loop.statistics import wilson
from qagen_dagster.records.decisions import Decision
from tests.loop.conftest import COMBINATION, PlayedWorkspace


def decision(minute: int = 0, reviewer: str = "ida", action: str = "accept", **changes: Any) -> Decision:
    given: dict[str, Any] = {
        "id": f"d{minute:02}-{reviewer}",
        "set_key": COMBINATION.key,
        "question_id": "q-1",
        "document_id": "a.txt",
        "question": "How long is the cable?",
        "answer": "12 m",
        "reviewer": reviewer,
        "time": f"2026-11-23T10:{minute:02}:00Z",
        "action": action,
    }
    return Decision.model_validate(given | changes)


def edit(minute: int = 0, reviewer: str = "ida", answer: str = "12 metres") -> Decision:
    return decision(minute, reviewer, "edit", new_question="How long is the cable?", new_answer=answer)


def solution(minute: int = 0, reviewer: str = "ida", item: str = "item") -> Decision:
    """An edit of an item that changes neither the question nor the answer."""
    texts = {"new_question": "How long is the cable?", "new_answer": "12 m"}
    return decision(minute, reviewer, "edit", new_item=item, **texts)


@pytest.mark.parametrize(
    ("decisions", "applies"),
    [
        ([solution(0)], "d00-ida"),
        ([solution(0), solution(1, item="later")], "d01-ida"),
        ([solution(0), solution(1, item="later"), decision(2, action="undo", undoes="d01-ida")], "d00-ida"),
        ([solution(0), decision(1, action="undo", undoes="d00-ida")], None),
        ([solution(0), decision(1)], "d00-ida"),
        ([solution(0), decision(1, action="flag")], "d00-ida"),
        ([solution(0), decision(1, action="reject")], None),
        ([solution(0), decision(1, "bo", "reject")], None),
        ([edit(0).model_copy(update={"new_item": "i"}), decision(1)], None),  # the original is accepted
        ([edit(0).model_copy(update={"new_item": "i"}), decision(1, answer="12 metres")], "d00-ida"),
    ],
)
def test_the_latest_edit_that_stands_applies(
    workspace: PlayedWorkspace, decisions: list[Decision], applies: str | None
) -> None:
    for one in decisions:
        append(workspace, one)
    found = edits_of(workspace, COMBINATION.key)
    assert {name: one.id for name, one in found.items()} == ({"q-1": applies} if applies else {})
    assert edit_on(workspace, COMBINATION.key, "q-1") == found.get("q-1")


def test_decisions_are_read_by_question_in_the_order_of_their_times(workspace: PlayedWorkspace) -> None:
    late, early, other = decision(5), decision(1, "bo", "reject"), decision(2, question_id="q-2")
    for one in (late, early, other):
        append(workspace, one)
    assert decisions_of(workspace, COMBINATION.key) == {"q-1": (early, late), "q-2": (other,)}


def test_a_stored_decision_is_never_changed(workspace: PlayedWorkspace) -> None:
    append(workspace, decision())
    append(workspace, decision())
    with pytest.raises(StoreError, match="already has another decision"):
        append(workspace, decision(action="reject"))
    assert decisions_of(workspace, COMBINATION.key) == {"q-1": (decision(),)}


def test_two_reviewers_at_once_lose_nothing(workspace: PlayedWorkspace) -> None:
    made = [decision(minute, name) for minute in range(20) for name in ("ida", "bo")]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda one: append(workspace, one), made))
    assert set(decisions_of(workspace, COMBINATION.key)["q-1"]) == set(made)


def test_a_damaged_decision_is_not_left_out_in_silence(workspace: PlayedWorkspace) -> None:
    append(workspace, decision())
    workspace.store.write_bytes(Decision.key(COMBINATION.key, "q-1", decision().id), b"{")
    with pytest.raises(StoreError, match="is not a valid Decision"):
        decisions_of(workspace, COMBINATION.key)


@pytest.mark.parametrize(
    ("decisions", "state"),
    [
        ([], ReviewState.UNREVIEWED),
        ([decision(0)], ReviewState.ACCEPTED),
        ([edit(0)], ReviewState.EDITED),
        ([decision(0, action="flag")], ReviewState.FLAGGED),
        ([decision(0, action="comment", reason="why?")], ReviewState.UNREVIEWED),
        ([decision(0), decision(1, action="reject")], ReviewState.REJECTED),
        ([decision(0, action="reject"), decision(1)], ReviewState.ACCEPTED),
        ([decision(0), decision(1, action="comment", reason="why?")], ReviewState.ACCEPTED),
        ([decision(0), decision(1, action="undo", undoes="d00-ida")], ReviewState.UNREVIEWED),
        (
            [decision(0), decision(1, action="reject"), decision(2, action="undo", undoes="d01-ida")],
            ReviewState.ACCEPTED,
        ),
        (
            [
                decision(0),
                decision(1, action="undo", undoes="d00-ida"),
                decision(2, action="undo", undoes="d01-ida"),
            ],
            ReviewState.ACCEPTED,
        ),
        ([decision(0), decision(1, "bo", "undo", undoes="d00-ida")], ReviewState.ACCEPTED),
        ([decision(0), decision(1, "bo")], ReviewState.ACCEPTED),
        ([decision(0), decision(1, "bo", "reject")], ReviewState.DISAGREED),
        ([decision(0), decision(1, "bo", "reject"), decision(2, "bo")], ReviewState.ACCEPTED),
        ([edit(0), edit(1, "bo")], ReviewState.EDITED),
        ([edit(0), edit(1, "bo", answer="twelve metres")], ReviewState.DISAGREED),
        ([edit(0), decision(1, "bo", answer="12 metres")], ReviewState.EDITED),  # of the edited text
        ([edit(0), decision(1, "bo")], ReviewState.DISAGREED),
        ([solution(0), solution(1, "bo")], ReviewState.EDITED),
        ([solution(0), solution(1, "bo", item="other")], ReviewState.DISAGREED),
    ],
)
def test_the_last_decision_of_each_reviewer_counts(decisions: list[Decision], state: ReviewState) -> None:
    assert state_of(decisions).state is state
    assert state_of(reversed(decisions)).state is state


def test_the_decision_that_counts_is_known_for_each_reviewer() -> None:
    found = state_of([decision(0), decision(1, "bo", "reject"), decision(2, action="flag")])
    assert found.by_reviewer == {"ida": decision(2, action="flag"), "bo": decision(1, "bo", "reject")}
    assert found.last == decision(2, action="flag")


IDS = [f"q-{number}" for number in range(200)]


def judged(action: str = "accept") -> QuestionReview:
    more = {"reason": "trivial"} if action == "reject" else {}
    return state_of([decision(action=action, **more)])


def test_agreement_is_measured_on_questions_that_both_judged() -> None:
    actions = {"q-1": {"ida": "accept", "bo": "reject"}, "q-2": {"ida": "accept"}, "q-3": {"cy": "accept"}}
    (found,) = agreements(actions)
    assert (found.first, found.second, found.both, found.same) == ("bo", "ida", 1, 0)


def test_the_random_order_depends_on_the_seed_alone() -> None:
    assert random_order(IDS) == random_order(IDS[::-1])
    assert sorted(random_order(IDS)) == sorted(IDS)
    assert random_order(IDS) != random_order(IDS, "other") != IDS


def test_the_sample_ends_at_the_first_question_that_nobody_judged() -> None:
    order = random_order(IDS)
    reviews = {name: judged() for name in (*order[:3], *order[4:90])} | {order[1]: judged("reject")}
    facts = facts_of(IDS, reviews)
    assert (facts.sampled, facts.sample_accepted, facts.interval) == (3, 2, wilson(2, 3))
    assert (facts.states["unreviewed"], facts.unreviewed, facts.questions) == (111, 111, 200)
    assert facts_of(IDS, {}).interval is None


def test_disagreements_are_listed() -> None:
    split = state_of([decision(1), decision(2, "bo", "reject", reason="trivial")])
    facts = facts_of(IDS, {"q-7": split})
    assert (facts.disagreed, facts.reviewers) == (("q-7",), {"ida": 1, "bo": 1})
