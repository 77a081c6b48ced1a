"""The value of an expression as a float, or as a fraction if the expression is our own: much faster than `evaluator.py`.

`float_of` computes what `reading.py` reads, without symbols. Its time and memory are bounded by the length of the expression.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other,
    ast.Pow: lambda one, other: one**other,
}
_OF_ONE: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "sec": lambda one: 1 / math.cos(one), "csc": lambda one: 1 / math.sin(one), "cot": lambda one: 1 / math.tan(one),
    "log": math.log, "exp": math.exp, "Abs": abs, "factorial": lambda one: math.gamma(one + 1),
}  # fmt: skip


def float_of(expression: str, names: Mapping[str, float] | None = None) -> float:
    """The value of an expression in the syntax of checkable forms. Raises ValueError if it has no finite value, or symbols without a value."""
    try:
        value = _value(_parsed(expression), {"pi": math.pi, **(names or {})}, float)
    except (ArithmeticError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"no value: {error}") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise ValueError("no finite value")
    return value


def fraction_of(expression: str, names: Mapping[str, Fraction]) -> Fraction:
    """The exact value of an expression of rational numbers with whole powers. Raises ValueError and ArithmeticError."""
    return Fraction(_value(_parsed(expression), names, Fraction))


@lru_cache(maxsize=1_024)
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def _value(node: ast.expr, names: Mapping[str, Any], kind: type[float] | type[Fraction]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return kind(number)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign):
            value = _value(node.operand, names, kind)
            return -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(op=sign) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(node.left, names, kind), _value(node.right, names, kind))
        case ast.Call(func=ast.Name(id="Rational"), args=[above, below]):
            return _value(above, names, kind) / _value(below, names, kind)
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _OF_ONE:
            return _OF_ONE[name](_value(inner, names, kind))
        case _:
            raise ValueError("symbols, or an unknown function")
