from __future__ import annotations

import pytest

from qagen_dagster.loop.evaluation.measures import mcnemar


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1), (1, 1, 1), (0, 5, 0.0625), (5, 0, 0.0625), (2, 10, 0.03857), (900, 1100, 8.5e-6)],
)
def test_mcnemars_exact_p_value(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=0.02)
