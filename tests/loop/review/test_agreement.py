from __future__ import annotations

import pytest

from qagen_dagster.loop.review import (
    QuestionReview,
    agreements,
    facts_of,
    kappa,
    random_order,
    state_of,
    wilson,
)
from tests.loop.review.test_decisions import decision

IDS = [f"q-{number}" for number in range(200)]


def judged(action: str = "accept") -> QuestionReview:
    more = {"reason": "trivial"} if action == "reject" else {}
    return state_of([decision(action=action, **more)])


def test_kappa_is_that_of_scikit_learn() -> None:
    """`sklearn.metrics.cohen_kappa_score` of the same decisions."""
    pairs = [("a", "a")] * 20 + [("a", "r")] * 5 + [("r", "a")] * 10 + [("r", "r")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    pairs = [("a", "a")] * 9 + [("e", "a")] * 2 + [("r", "r")] * 3 + [("f", "r")] + [("a", "e")]
    assert kappa(pairs) == pytest.approx(0.5151515152)


def test_kappa_is_not_defined_if_nobody_ever_decided_anything_else() -> None:
    assert kappa([("a", "a"), ("a", "a")]) is None


def test_agreement_is_measured_on_questions_that_both_judged() -> None:
    actions = {"q-1": {"ida": "accept", "bo": "reject"}, "q-2": {"ida": "accept"}, "q-3": {"cy": "accept"}}
    (found,) = agreements(actions)
    assert (found.first, found.second, found.both, found.same) == ("bo", "ida", 1, 0)


def test_the_interval_is_that_of_scipy() -> None:
    """`scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`; 81 of 263: Newcombe, Statistics in Medicine 1998."""
    assert wilson(8, 10) == pytest.approx((0.4901624715, 0.9433178485))
    assert wilson(45, 50) == pytest.approx((0.7863976856, 0.9565242351))
    assert wilson(0, 5) == pytest.approx((0.0, 0.4344824648))
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(7.5, 10) == pytest.approx((0.4422, 0.9191), abs=1e-4)
    assert wilson(0, 0) == (0, 1)


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
