"""Values of expressions as floats."""

from __future__ import annotations

from fractions import Fraction

import pytest

from qagen_dagster.mathematics.floats import exact_of, float_of


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


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (" a/3 + 1/6", Fraction(1, 3)),
        ("2**-2*b", Fraction(3, 4)),
        ("7//2 + 7 % 2", Fraction(4)),
        ("isqrt(17) + denominator(a) + digits(1200)", Fraction(8)),
        ("1 if a < b and b != 3 else 2", Fraction(2)),
        ("'up' if a <= b or a == 9 else word", "up"),
        ("word", "down"),
        ("a >= b", False),
    ],
)
def test_exact_expressions_may_decide(expression: str, value: object) -> None:
    assert exact_of(expression, {"a": Fraction(1, 2), "b": Fraction(3), "word": "down"}) == value


@pytest.mark.parametrize("expression", ["c", "open(a)", "a.b", "[a]", "a < b < c"])
def test_other_expressions_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"no value|an unknown function"):
        exact_of(expression, {"a": Fraction(1)})
