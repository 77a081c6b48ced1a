from __future__ import annotations

import pytest

from qagen_dagster.loop.evaluation.score_figures import mcnemar, wilson


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        (0, 0, 0, 1),
        (0, 10, 0, 0.2775),
        (10, 10, 0.7225, 1),
        (81, 263, 0.2553, 0.3662),
        (7.5, 10, 0.4422, 0.9191),
    ],
)
def test_wilsons_interval(part: float, whole: int, low: float, high: float) -> None:
    """81 of 263: Newcombe, Statistics in Medicine 1998, table I."""
    assert wilson(part, whole) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1), (1, 1, 1), (0, 5, 0.0625), (5, 0, 0.0625), (2, 10, 0.03857), (900, 1100, 8.5e-6)],
)
def test_mcnemars_exact_p_value(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=0.02)
