"""The allow-list refuses by name what is not arithmetic, before anything is computed; what passes is computed exactly."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.mathematics.evaluator import FormError, FormFailure, evaluate, parse_form

REFUSED = [
    "import os",
    "__import__('os').system('true')",
    "open('/etc/passwd')",
    "eval('1')",
    "exec('1')",
    "(lambda: 1)()",
    "().__class__.__bases__",
    "x.y",
    "[0]*10",
    "{1: 2}",
    "{1, 2}",
    "'a'*3",
    "b'a'",
    "f'{1}'",
    "[k for k in (1, 2)]",
    "1 if 1 else 2",
    "1 < 2",
    "1 and 2",
    "(x := 3)",
    "2^3",
    "7 // 2",
    "1 << 9",
    "True",
    "None",
    "...",
    "1j",
    "y",
    "gamma(3)",
    "sqrt(2, evaluate=False)",
    "sqrt(*(1,))",
    "sqrt(2)[0]",
    "Sum(k, k)",
    "Sum(k, (2, 1, 3))",
    "solve(x - 1, x)[10**3]",
    "diff(x)",
    "",
    "1 +",
    "while True: pass",
    "-" * 1900 + "1",
    "(" * 300 + "1" + ")" * 300,
    "1+" * 500 + "1",
    "9" * 3000,
]
TOO_LARGE = [
    "10**10**10",
    "2**(10**9)",
    "9**(1/10**40)",
    "factorial(10**6)",
    "binomial(10**9, 5)",
    "exp(exp(exp(10)))",
    "(1+x)**10000",
    "Sum(k, (k, 1, 10**9))",
    "Product(k, (k, 1, 10**5))",
    "2**(pi*10**20)",
    "9" * 70,
]
UNDEFINED = [
    "1/0",
    "sqrt(-1)",
    "log(0)",
    "asin(2)",
    "solve(x**2+1, x)[0]",
    "solve(x-1, x)[3]",
    "solve(x-1, x)[~0]",
    "Sum(k,(k,1,pi))",
    "factorial(1/2)",
]
VALUES: list[tuple[str, dict[str, str], str]] = [
    ("m*v**2/2", {"m": "2", "v": "3/2"}, "9/4"),
    ("0.1+0.2", {}, "3/10"),
    ("sqrt(2)*sqrt(3)-sqrt(6)", {}, "0"),
    ("Sum(k**2,(k,1,10))", {}, "385"),
    ("Sum(Sum(i*j,(i,1,3)),(j,1,3))", {}, "36"),
    ("Product(k,(k,1,5))", {}, "120"),
    ("integrate(x**2,(x,0,3))", {}, "9"),
    ("diff(x**3,x)", {"x": "2"}, "12"),
    ("limit(sin(x)/x,x,0)", {}, "1"),
    ("solve(x**2-5*x+6,x)[0]", {}, "2"),
    ("solve(x**2-5*x+6,x)[-1]", {}, "3"),
    ("Mod(17,5)+gcd(12,18)+lcm(4,6)+floor(7/2)+ceiling(7/2)", {}, "27"),
    ("Max(1,2)+min(3,4)+Abs(-5)+abs(-1)", {}, "11"),
    ("acos(1/2)*180/pi", {}, "60"),
    ("cbrt(-8)+root(16,4)+Rational(1,2)", {}, "1/2"),
    ("log(8,2)+ln(E)", {}, "4"),
    ("E*c", {"E": "5", "c": "2"}, "10"),
]


def failure(expression: str, **givens: str) -> FormFailure:
    with pytest.raises(FormError) as caught:
        evaluate(parse_form(expression, givens))
    assert caught.value.detail
    return caught.value.failure


@pytest.mark.parametrize("expression", REFUSED, ids=lambda text: text[:30])
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    assert failure(expression, x="1") is FormFailure.REFUSED


@pytest.mark.parametrize("expression", TOO_LARGE, ids=lambda text: text[:30])
def test_what_would_grow_too_large_is_not_begun(expression: str) -> None:
    assert failure(expression, x="x") is FormFailure.TOO_LARGE


@pytest.mark.parametrize("expression", UNDEFINED)
def test_what_has_no_real_value_is_said_so(expression: str) -> None:
    assert failure(expression) is FormFailure.UNDEFINED


@pytest.mark.parametrize(("expression", "givens", "value"), VALUES)
def test_values_are_exact(expression: str, givens: dict[str, str], value: str) -> None:
    exact, numbers = evaluate(parse_form(expression, givens))
    assert exact == value
    assert len(set(numbers)) == 1


@pytest.mark.parametrize(("place", "ninths"), [(0, 8), (1, 4), (2, 2), (-1, 2)])
def test_real_roots_of_a_cubic_are_found_though_they_are_written_with_i(place: int, ninths: int) -> None:
    _, (found, *_) = evaluate(parse_form(f"solve(x**3-3*x+1,x)[{place}]"))
    _, (known, *_) = evaluate(parse_form(f"2*cos({ninths}*pi/9)"))
    assert found is not None
    assert known is not None
    assert abs(Decimal(found) - Decimal(known)) < Decimal("1e-40")


def test_givens_are_held_to_the_same_list() -> None:
    assert failure("x", x="__import__('os')") is FormFailure.REFUSED
    assert failure("x", x="y") is FormFailure.REFUSED
    assert failure("1", __class__="1") is FormFailure.REFUSED
    assert failure("1", **{"a b": "1"}) is FormFailure.REFUSED
    assert failure("1", **{f"x{number}": "1" for number in range(50)}) is FormFailure.REFUSED


def test_a_given_that_is_its_own_name_stays_a_symbol() -> None:
    exact, numbers = evaluate(parse_form("3*F/2", {"F": "F"}))
    assert exact == "3*F/2"
    assert len(set(numbers)) == 4


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 50))
def test_integers_and_fractions_are_those_of_arithmetic(a: int, b: int, c: int) -> None:
    exact, _ = evaluate(parse_form("(a+b)*b/c-a", {"a": str(a), "b": str(b), "c": str(c)}))
    assert Fraction(exact) == Fraction((a + b) * b, c) - a


@given(st.text(alphabet="0123456789+-*/^().,[]xyksqrtSumExpi_ \"'\\\n", max_size=50))
def test_no_text_escapes_its_named_failure(text: str) -> None:
    with contextlib.suppress(FormError):
        assert parse_form(text, {"x": "2"}).free == frozenset()
