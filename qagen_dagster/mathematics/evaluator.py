"""Exact computation of forms that passed the allow-list, with SymPy and without eval.

Sizes are bounded before each step. `sandbox.py` bounds time and memory for forms of unknown origin. A `Reading` is
small enough to be computed in any process.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from qagen_dagster.mathematics.forms import Form, FormError, FormFailure

DIGITS = 50  # of a decimal value
POINTS = 4  # number of points at which values with symbols are compared
MOST_BITS = 4_000  # of a whole number
MOST_TERMS = 2_000  # of a sum or product
_HIGHEST_DEGREE = 60  # of a power with symbols
_LARGEST_ROOT = 1_000


@lru_cache(maxsize=1)
def _sympy() -> Any:
    return import_module("sympy")


def evaluate(form: Form) -> tuple[str, tuple[str | None, ...]]:
    """The exact value as text, and as decimals at `POINTS` points of its symbols (equal if it has no symbols).

    None stands for a point at which it is not real and finite. Raises FormError.
    """
    try:
        value = _Walk(form).value()
        return str(value)[:300], _decimals(value)
    except FormError:
        raise
    except (ArithmeticError, ValueError, TypeError, NotImplementedError, AttributeError) as error:
        raise FormError(FormFailure.UNDEFINED, f"{type(error).__name__}: {str(error)[:200]}") from None


def _decimals(value: Any) -> tuple[str | None, ...]:
    symbols = sorted(value.free_symbols, key=str)
    if not symbols:
        found = (_decimal(value),) * POINTS
    else:
        places = ({one: _point(str(one), number) for one in symbols} for number in range(POINTS))
        found = tuple(_decimal(value.subs(place)) for place in places)
    if all(one is None for one in found):
        raise FormError(FormFailure.UNDEFINED, f"{str(value)[:100]} is not a real, finite number")
    return found


def _point(name: str, number: int) -> Any:
    """A positive rational between 0.5 and 3.5, the same for a name, in any spelling, in every process."""
    plain = name.replace("_", "")
    plain = "lambda" if plain in ("lam", "lamda") else plain  # `lambda` is a keyword
    digest = hashlib.sha256(f"{plain}/{number}".encode()).digest()
    return _sympy().Rational(500 + int.from_bytes(digest[:4], "big") % 3_000, 997)


def _decimal(value: Any) -> str | None:
    number = _real_part(value)
    if number is None or not number.is_finite:
        return None
    if number.is_Float and abs(number._mpf_[2]) > 100_000:
        raise FormError(FormFailure.TOO_LARGE, "a value with too many digits to write down")
    return str(number)


def _real_part(value: Any) -> Any:
    """The number as a decimal; None if it is not real. Roots of cubics may be real although they are written with I."""
    number = _sympy().N(value, DIGITS, maxn=250)
    if number.is_Float or number.is_Integer or number.is_Rational:
        return number
    real, imaginary = number.as_real_imag()
    return real if real.is_Float and abs(imaginary) < 10**-45 else None


class _Walk:
    def __init__(self, form: Form) -> None:
        self._form = form
        symbol = _sympy().Symbol
        self._names: dict[str, Any] = {name: symbol(name, positive=True) for name in form.free}
        for name, tree in form.givens.items():
            self._names[name] = self._of(tree, {})

    def value(self) -> Any:
        return self._of(self._form.tree, {})

    def _of(self, node: ast.expr, bound: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return _sympy().Rational(str(node.value))
        if isinstance(node, ast.Name):
            return self._name(node.id, bound)
        if isinstance(node, ast.UnaryOp):
            inner = self._of(node.operand, bound)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            return _size(_operate(node.op, self._of(node.left, bound), self._of(node.right, bound)))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            return self._root(node.value, int(ast.literal_eval(node.slice)), bound)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return _size(self._call(node.func.id, node.args, bound))
        raise FormError(FormFailure.REFUSED, f"a {type(node).__name__}")

    def _name(self, name: str, bound: Mapping[str, Any]) -> Any:
        for known in (bound, self._names):
            if name in known:
                return known[name]
        return {"pi": _sympy().pi, "E": _sympy().E}[name]

    def _call(self, name: str, args: list[ast.expr], bound: Mapping[str, Any]) -> Any:
        if name in ("Sum", "Product"):
            return self._repeat(name, args, bound)
        if name == "integrate":
            variable, start, end = self._range(args[1], bound)
            body = self._of(args[0], {**bound, str(variable): variable})
            return _sympy().integrate(body, (variable, start, end))
        if name in ("diff", "limit"):
            return self._calculus(name, args, bound)
        if name == "solve":
            raise FormError(FormFailure.REFUSED, "solve without an index; write solve(expression, x)[0]")
        return _function(name, [self._of(one, bound) for one in args])

    def _variable(self, node: ast.expr) -> Any:
        return _sympy().Symbol(str(getattr(node, "id", "")), real=True)

    def _range(self, node: ast.expr, bound: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        parts = node.elts if isinstance(node, ast.Tuple) else []
        return self._variable(parts[0]), self._of(parts[1], bound), self._of(parts[2], bound)

    def _repeat(self, name: str, args: list[ast.expr], bound: Mapping[str, Any]) -> Any:
        """A sum or product term by term: exact, with a limited number of terms."""
        variable, start, end = self._range(args[1], bound)
        if not (start.is_Integer and end.is_Integer):
            raise FormError(FormFailure.UNDEFINED, f"{name} between ends that are no whole numbers")
        if end - start >= MOST_TERMS:
            raise FormError(FormFailure.TOO_LARGE, f"{name} of more than {MOST_TERMS} terms")
        sympy = _sympy()
        total = sympy.Integer(0 if name == "Sum" else 1)
        for number in range(int(start), int(end) + 1):
            term = self._of(args[0], {**bound, str(variable): sympy.Integer(number)})
            total = _size(total + term if name == "Sum" else total * term)
        return total

    def _calculus(self, name: str, args: list[ast.expr], bound: Mapping[str, Any]) -> Any:
        variable = self._variable(args[1])
        body = self._of(args[0], {**bound, str(variable): variable})
        if name == "limit":
            return _sympy().limit(body, variable, self._of(args[2], bound))
        slope = _sympy().diff(body, variable)
        at = self._names.get(str(variable)) if str(variable) not in bound else bound[str(variable)]
        return slope if at is None else slope.subs(variable, at)

    def _root(self, node: ast.Call, place: int, bound: Mapping[str, Any]) -> Any:
        variable = self._variable(node.args[1])
        body = self._of(node.args[0], {**bound, str(variable): variable})
        roots = [root for root in _sympy().solve(body, variable) if root.is_real is not False]
        if any(root.free_symbols for root in roots):
            ordered = roots
        else:
            sizes = {root: _real_part(root) for root in roots}
            ordered = sorted(
                (root for root in roots if sizes[root] is not None), key=lambda root: sizes[root]
            )
        if not -len(ordered) <= place < len(ordered):
            raise FormError(
                FormFailure.UNDEFINED, f"there is no root number {place}: {len(ordered)} are real"
            )
        return ordered[place]


def _size(value: Any) -> Any:
    """`value`, after a check of its size if it is a number."""
    if value.is_Rational and max(int(value.p).bit_length(), int(value.q).bit_length()) > MOST_BITS:
        raise FormError(FormFailure.TOO_LARGE, f"a number of more than {MOST_BITS} bits")
    if value.is_finite is False or value is _sympy().nan:
        raise FormError(FormFailure.UNDEFINED, "a division by zero or an infinite value")
    return value


def _operate(operator: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Mod):
        return _sympy().Mod(left, right)
    if isinstance(operator, ast.Div):
        return left / right
    return _power(left, right)


def _power(base: Any, exponent: Any) -> Any:
    if exponent.is_Rational and base.is_Rational:
        bits = max(int(base.p).bit_length(), int(base.q).bit_length())
        if bits > 1 and bits * abs(exponent) > MOST_BITS:
            raise FormError(FormFailure.TOO_LARGE, "a power of too many digits")
        if exponent.q > _LARGEST_ROOT:
            raise FormError(FormFailure.TOO_LARGE, "a root of too high an order")
    elif exponent.is_Rational and (abs(exponent) > _HIGHEST_DEGREE or exponent.q > _LARGEST_ROOT):
        raise FormError(FormFailure.TOO_LARGE, f"a power beyond {_HIGHEST_DEGREE}")
    return base**exponent


def _function(name: str, args: list[Any]) -> Any:
    wanted, function = _functions()[name]
    if len(args) not in wanted:
        raise FormError(FormFailure.REFUSED, f"{name} with {len(args)} arguments")
    if name in _WHOLE:
        if not all(one.is_Integer for one in args):
            raise FormError(FormFailure.UNDEFINED, f"{name} of what is no whole number")
        if any(abs(one) > _WHOLE[name] for one in args):
            raise FormError(FormFailure.TOO_LARGE, f"{name} beyond {_WHOLE[name]}")
    if name in ("exp", "sinh", "cosh", "tanh") and args[0].is_number and not abs(args[0].evalf(15)) < 1_000:
        raise FormError(FormFailure.TOO_LARGE, f"{name} beyond 1000")
    return function(*args)


_WHOLE = {"factorial": 300, "binomial": 1_000, "gcd": 10**30, "lcm": 10**30}
_ONE, _TWO, _ONE_OR_TWO, _SOME = range(1, 2), range(2, 3), range(1, 3), range(1, 40)
_Function = tuple[range, Callable[..., Any]]


def _cube_root(value: Any) -> Any:
    return _sympy().real_root(value, 3)


def _root_of(value: Any, degree: Any) -> Any:
    return _power(value, 1 / degree)


def _quotient(top: Any, bottom: Any) -> Any:
    return top / bottom


def _common_divisor(*numbers: Any) -> Any:
    return _sympy().Integer(math.gcd(*map(int, numbers)))


def _common_multiple(*numbers: Any) -> Any:
    return _sympy().Integer(math.lcm(*map(int, numbers)))


@lru_cache(maxsize=1)
def _functions() -> Mapping[str, _Function]:
    sympy = _sympy()
    simple = "sqrt sin cos tan cot sec csc asin acos atan sinh cosh tanh exp factorial floor ceiling Abs"
    table: dict[str, _Function] = {name: (_ONE, getattr(sympy, name)) for name in simple.split()}
    table |= {"abs": (_ONE, sympy.Abs), "ln": (_ONE, sympy.log), "log": (_ONE_OR_TWO, sympy.log)}
    table |= dict.fromkeys(("Min", "min"), (_SOME, sympy.Min))
    table |= dict.fromkeys(("Max", "max"), (_SOME, sympy.Max))
    table |= {name: (_TWO, getattr(sympy, name)) for name in ("atan2", "binomial", "Mod")}
    table |= {"cbrt": (_ONE, _cube_root), "root": (_TWO, _root_of), "Rational": (_TWO, _quotient)}
    table |= {"gcd": (_SOME, _common_divisor), "lcm": (_SOME, _common_multiple)}
    return table
