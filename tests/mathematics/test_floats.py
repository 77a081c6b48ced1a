"""Values of expressions as floats."""

from __future__ import annotations

import pytest

from qagen_dagster.mathematics.floats import float_of


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(2+3)*4/5", 4.0),
        ("sqrt(16)+Rational(1,2)-Abs((-3))", 1.5),
        ("sin((30)*pi/180)", 0.5),
        ("factorial(5)", 120.0),
        ("(2)**(-3)", 0.125),
    ],
)
def test_value(expression: str, value: float) -> None:
    assert float_of(expression) == pytest.approx(value)


@pytest.mark.parametrize(
    "expression", ["1/0", "9**9**9**9", "sqrt(-1)", "x+1", "open(1)", "(1", "log(0)", "factorial(10000)"]
)
def test_no_value(expression: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        float_of(expression)
