from __future__ import annotations

import pytest

from qagen_dagster.loop.statistics import kappa, mcnemar, wilson


def test_kappa_is_that_of_scikit_learn() -> None:
    """`sklearn.metrics.cohen_kappa_score` of the same decisions."""
    pairs = [("a", "a")] * 20 + [("a", "r")] * 5 + [("r", "a")] * 10 + [("r", "r")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    pairs = [("a", "a")] * 9 + [("e", "a")] * 2 + [("r", "r")] * 3 + [("f", "r")] + [("a", "e")]
    assert kappa(pairs) == pytest.approx(0.5151515152)


def test_kappa_is_not_defined_if_nobody_ever_decided_anything_else() -> None:
    assert kappa([("a", "a"), ("a", "a")]) is None


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
def test_mcnemars_exact_p_value(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=0.02)
