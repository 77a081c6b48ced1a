"""Computes expressions as floats, or as fractions if the expressions are our own. This is much faster than `evaluator.py`.

`float_of` computes what `value_reading.py` reads, if the values of its symbols are known. An expression's length bounds time and memory.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

_Function = Callable[[Mapping[str, Any]], Any]
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.Pow: lambda left, right: left**right,
    ast.Mod: operator.mod,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
}
_OF_ONE: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "sec": lambda value: 1 / math.cos(value), "csc": lambda value: 1 / math.sin(value), "cot": lambda value: 1 / math.tan(value),
    "log": math.log, "exp": math.exp, "Abs": abs, "factorial": lambda value: math.gamma(value + 1),
}  # fmt: skip


def float_of(expression: str, names: Mapping[str, float] | None = None) -> float:
    """The value of an expression in the syntax of checkable forms. Raises ValueError for symbols without a value, and for no finite value."""
    try:
        value = _function(expression, float)({"pi": math.pi, **(names or {})})
    except (ArithmeticError, KeyError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"no value: {error}") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise ValueError("no finite value")
    return value


def exact_of(expression: str, names: Mapping[str, Any]) -> Any:
    """The exact value of an expression of rational numbers with whole powers. The expression may contain comparisons, conditions and texts,
    so the value is a Fraction, a bool or a str. Only for expressions of our own. Raises ValueError and ArithmeticError."""
    try:
        return _function(expression.strip(), Fraction)(names)
    except KeyError as error:
        raise ValueError(f"no value of {error}") from None


@lru_cache(maxsize=4_096)
def _function(expression: str, kind: type[float] | type[Fraction]) -> _Function:
    return _of_node(ast.parse(expression, mode="eval").body, kind)


def _of_node(node: ast.expr, kind: type[float] | type[Fraction]) -> _Function:
    """The value of a part of an expression as a function of the names."""
    match node:
        case ast.Constant(value=int() | float() as number):
            constant = kind(number)
            return lambda names: constant
        case ast.Name(id=name):
            return lambda names: names[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign):
            value = _of_node(node.operand, kind)
            return (lambda names: -value(names)) if isinstance(sign, ast.USub) else value
        case ast.BinOp(op=sign) if type(sign) in OPERATORS:
            operate = OPERATORS[type(sign)]
            left, right = _of_node(node.left, kind), _of_node(node.right, kind)
            return lambda names: operate(left(names), right(names))
        case ast.Call(func=ast.Name(id="Rational"), args=[numerator, denominator]):
            above, below = _of_node(numerator, kind), _of_node(denominator, kind)
            return lambda names: above(names) / below(names)
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _OF_ONE:
            function, inner = _OF_ONE[name], _of_node(argument, kind)
            return lambda names: function(inner(names))
        case _ if kind is Fraction:
            return _of_exact_node(node)
        case _:
            raise ValueError("symbols, or an unknown function")


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_OF_FRACTIONS: dict[str, Callable[[Fraction], Fraction]] = {
    "isqrt": lambda value: Fraction(math.isqrt(int(value))),
    "denominator": lambda value: Fraction(value.denominator),
    "digits": lambda value: Fraction(len(str(int(value)).strip("0"))),  # significant digits of a whole number
}


def _of_exact_node(node: ast.expr) -> _Function:
    """As `_of_node`, for the parts that only exact expressions may have."""

    def part(expression: ast.expr) -> _Function:
        return _of_node(expression, Fraction)

    match node:
        case ast.Constant(value=str() as text):
            return lambda names: text
        case ast.BoolOp(op=sign, values=parts):
            combine, tests = all if isinstance(sign, ast.And) else any, [part(test) for test in parts]
            return lambda names: combine(test(names) for test in tests)
        case ast.Compare(left=first, ops=[sign], comparators=[second]):
            compare, left, right = _COMPARISONS[type(sign)], part(first), part(second)
            return lambda names: compare(left(names), right(names))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            decide, yes, no = part(test), part(body), part(orelse)
            return lambda names: yes(names) if decide(names) else no(names)
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _OF_FRACTIONS:
            function, inner = _OF_FRACTIONS[name], part(argument)
            return lambda names: function(inner(names))
        case _:
            raise ValueError("an unknown function or part of an expression")
