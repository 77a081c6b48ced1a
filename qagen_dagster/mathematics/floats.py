"""The value of an expression as a float: much faster than the exact value, for numbers that people wrote down.

It computes what `reading.py` reads, without symbols. Its time and memory are bounded by the length of the expression.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
    ast.Pow: math.pow,
}
_OF_ONE: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sec": lambda one: 1 / math.cos(one),
    "csc": lambda one: 1 / math.sin(one),
    "cot": lambda one: 1 / math.tan(one),
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "log": math.log,
    "exp": math.exp,
    "Abs": math.fabs,
    "factorial": lambda one: math.gamma(one + 1),
}


def float_of(expression: str) -> float:
    """The value of an expression in the syntax of checkable forms. Raises ValueError if it has no finite value, or symbols."""
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except (ArithmeticError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"no value: {error}") from None
    if not math.isfinite(value):
        raise ValueError("no finite value")
    return value


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id == "pi":
        return math.pi
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return -_value(node.operand) if isinstance(node.op, ast.USub) else _value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _called(node.func.id, [_value(one) for one in node.args])
    raise ValueError("symbols")


def _called(name: str, values: list[float]) -> float:
    if name == "Rational" and len(values) == 2:
        return values[0] / values[1]
    if name in _OF_ONE and len(values) == 1:
        return _OF_ONE[name](values[0])
    raise ValueError(f"the function {name}")
