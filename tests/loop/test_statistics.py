from __future__ import annotations

import random

import pytest

from qagen_dagster.loop.statistics import (
    clustered,
    holm,
    kappa_and_interval,
    krippendorff,
    questions_needed,
    sign_flips,
    student,
    wilson,
)


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([("a", "a")] * 20 + [("a", "r")] * 5 + [("r", "a")] * 10 + [("r", "r")] * 15, 0.4),
        ([("a", "a")] * 9 + [("e", "a")] * 2 + [("r", "r")] * 3 + [("f", "r")] + [("a", "e")], 0.5151515152),
    ],
)
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[str, str]], value: float) -> None:
    """`sklearn.metrics.cohen_kappa_score` of the same decisions."""
    found = kappa_and_interval(pairs)
    assert found is not None
    assert found[0] == pytest.approx(value)


def test_kappa_is_not_defined_if_nobody_ever_decided_anything_else() -> None:
    assert kappa_and_interval([("a", "a"), ("a", "a")]) is None


def test_the_interval_is_that_of_scipy() -> None:
    """`scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`; 81 of 263: Newcombe, Statistics in Medicine 1998."""
    assert wilson(8, 10) == pytest.approx((0.4901624715, 0.9433178485))
    assert wilson(45, 50) == pytest.approx((0.7863976856, 0.9565242351))
    assert wilson(0, 5) == pytest.approx((0.0, 0.4344824648))
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(7.5, 10) == pytest.approx((0.4422, 0.9191), abs=1e-4)
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1), (1, 1, 1), (0, 5, 0.0625), (5, 0, 0.0625), (2, 10, 0.03857), (900, 1100, 8.5e-6)],
)
def test_with_one_question_a_document_the_test_of_signs_is_mcnemars(
    first: int, second: int, p: float
) -> None:
    assert sign_flips([1] * first + [-1] * second) == pytest.approx(p, rel=0.02)


def test_questions_that_only_repeat_one_document_prove_no_more_than_the_document() -> None:
    assert sign_flips([12]) == 1
    assert sign_flips([3, 3, 3, 3]) == pytest.approx(2 / 16)
    assert sign_flips([1] * 12) == pytest.approx(2 / 4096)
    assert sign_flips([2, -1, 1]) == pytest.approx(0.75)  # by hand: sums 4, 2, 2, 0, 0, -2, -2, -4


def test_the_quantiles_are_those_of_scipy() -> None:
    """`scipy.stats.t.ppf(0.975, freedom)`."""
    wanted = {1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 11: 2.201, 47: 2.012, 1000: 1.962}
    assert {freedom: student(freedom) for freedom in wanted} == pytest.approx(wanted, abs=0.03)


def _documents(draw: random.Random, share: float, alike: float) -> dict[int, list[float]]:
    """Right and wrong answers about 30 documents of two to ten questions; `alike` is their correlation in a document."""
    found: dict[int, list[float]] = {}
    for document in range(30):
        chance = share
        if alike:
            scale = (1 - alike) / alike
            chance = draw.betavariate(share * scale, (1 - share) * scale)
        found[document] = [float(draw.random() < chance) for _ in range(draw.randint(2, 10))]
    return found


def test_intervals_by_document_hold_the_true_share_in_95_of_100_sets() -> None:
    draw, held, plain, sets = random.Random(39), 0, 0, 0
    for share in (0.5, 0.7, 0.85):
        for alike in (0.0, 0.1, 0.25):
            for _ in range(400):
                documents = _documents(draw, share, alike)
                found = clustered(documents.values())
                values = [value for part in documents.values() for value in part]
                low, high = wilson(sum(values), len(values))
                held, plain, sets = (
                    held + (found.low <= share <= found.high),
                    plain + (low <= share <= high),
                    sets + 1,
                )
    assert held / sets == pytest.approx(0.95, abs=0.01)
    assert plain / sets < 0.9  # as if the questions were independent


@pytest.mark.parametrize(
    ("clusters", "effect"),
    [
        ({document: [float(document % 2)] * 6 for document in range(10)}, 6 * 10 / 9),
        ({document: [0.0, 1.0] for document in range(10)}, 0.0),
        ({0: [1.0, 0.0, 1.0]}, None),
        ({0: [1.0], 1: [1.0]}, None),
    ],
    ids=["documents decide", "documents do not matter", "one document", "all right"],
)
def test_the_design_effect_says_how_much_documents_matter(
    clusters: dict[int, list[float]], effect: float | None
) -> None:
    assert clustered(clusters.values()).design_effect == (None if effect is None else pytest.approx(effect))


def test_several_tests_are_corrected_as_holm_does() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_as_many_questions_are_needed_as_the_formula_for_paired_means_says() -> None:
    """(1.96 + 0.84)^2 * 0.2 / 0.05^2 = 628; a design effect of 2 doubles it."""
    assert questions_needed(0.05, 0.2, 1) == 628
    assert questions_needed(0.05, 0.2, 2) == pytest.approx(1256, abs=1)


def test_the_interval_of_kappa_is_that_of_the_share_of_equal_decisions() -> None:
    pairs = [("a", "a")] * 20 + [("a", "r")] * 5 + [("r", "a")] * 10 + [("r", "r")] * 15
    low, high = wilson(35, 50)
    assert kappa_and_interval(pairs) == pytest.approx((0.4, low / 0.5 - 1, high / 0.5 - 1))
    pairs = [("a", "a")] * 5 + [("r", "r")] * 5
    assert kappa_and_interval(pairs) == pytest.approx((1, wilson(10, 10)[0] / 0.5 - 1, 1))


def test_alpha_is_that_of_krippendorff() -> None:
    """The example of nominal data with missing values in Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011."""
    rows = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = zip(*(row.split() for row in rows), strict=True)
    assert krippendorff([value for value in unit if value != "."] for unit in units) == pytest.approx(
        0.743, abs=1e-3
    )
    assert krippendorff([["a", "a"], ["a", "a", "a"]]) is None
    assert krippendorff([]) is None
    assert krippendorff([["a", "r"], ["r", "a"]]) == pytest.approx(-0.5)
