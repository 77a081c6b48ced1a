"""The allow-list of checkable forms, applied to the syntax tree before anything is computed.

The error names the construct that is not on the list.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

LONGEST = 2_000
MOST_NODES = 400
MOST_GIVENS = 40
MOST_DIGITS = 60
CONSTANTS = frozenset(("pi", "E"))
FUNCTIONS = frozenset(
    (
        "sqrt", "cbrt", "root", "Rational", "Abs", "abs", "Min", "Max", "min", "max", "sin", "cos", "tan", "cot", "sec", "csc",
        "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "ln", "factorial", "binomial", "gcd", "lcm",
        "floor", "ceiling", "Mod",
    )
)  # fmt: skip
OVER_A_RANGE = frozenset(("Sum", "Product", "integrate"))  # (expression, (name, from, to))
OVER_A_NAME = frozenset(("diff", "solve", "limit"))  # (expression, name); a limit also takes the point
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod)


class FormFailure(StrEnum):
    """Why a form has no value."""

    REFUSED = "refused"  # a construct that is not on the allow-list
    TOO_LARGE = "too_large"  # a number or a sum beyond the limits
    UNDEFINED = "undefined"  # no real, finite value
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"


class FormError(ValueError):
    """A form without a value, with its reason."""

    def __init__(self, failure: FormFailure, detail: str) -> None:
        self.failure, self.detail = failure, detail
        super().__init__(f"{failure.value}: {detail}")


@dataclass(frozen=True)
class Form:
    """Trees that passed the allow-list; `free` holds the names that are symbols."""

    tree: ast.expr
    givens: Mapping[str, ast.expr]
    free: frozenset[str]


def parse_form(
    expression: str, givens: Mapping[str, str] | None = None, free: frozenset[str] = frozenset()
) -> Form:
    """Check an expression and its givens, which contain only numbers. Raises FormError.

    A given whose value is its own name, and every name of `free`, is a positive symbol.
    """
    given = dict(givens or {})
    if len(given) > MOST_GIVENS:
        raise _refused(f"more than {MOST_GIVENS} givens")
    own = free | {name for name, value in given.items() if value.strip() == name}
    for name in {*given, *free}:
        if not name.isascii() or not name.isidentifier() or name.startswith("__"):
            raise _refused(f"the name {name[:40]!r}")
    trees = {name: _checked(value, free=own) for name, value in given.items() if name not in own}
    return Form(_checked(expression, free=own | frozenset(trees)), trees, own)


def _refused(what: str) -> FormError:
    return FormError(FormFailure.REFUSED, what)


def _checked(text: str, free: frozenset[str]) -> ast.expr:
    if len(text) > LONGEST:
        raise _refused(f"an expression of more than {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _refused(f"not an expression: {str(error)[:100]}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise _refused(f"more than {MOST_NODES} parts")
    _check(tree, free)
    return tree


def _check(node: ast.expr, names: frozenset[str]) -> None:
    if isinstance(node, ast.Constant):
        _check_number(node)
    elif isinstance(node, ast.Name):
        if node.id not in names and node.id not in CONSTANTS:
            raise _refused(f"the name {node.id[:40]!r}, which is no given")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        _check(node.operand, names)
    elif isinstance(node, ast.BinOp):
        _check_operator(node, names)
    elif isinstance(node, ast.Call):
        _check_call(node, names)
    elif isinstance(node, ast.Subscript):
        _check_root(node, names)
    else:
        raise _refused(f"a {type(node).__name__}")


def _check_number(node: ast.Constant) -> None:
    if type(node.value) not in (int, float):
        raise _refused(f"a {type(node.value).__name__}")
    if len(str(node.value)) > MOST_DIGITS:
        raise FormError(FormFailure.TOO_LARGE, f"a number of more than {MOST_DIGITS} digits")


def _check_operator(node: ast.BinOp, names: frozenset[str]) -> None:
    if isinstance(node.op, ast.BitXor):
        raise _refused("the sign ^; a power is written **")
    if not isinstance(node.op, _OPERATORS):
        raise _refused(f"the operator {type(node.op).__name__}")
    _check(node.left, names)
    _check(node.right, names)


def _check_call(node: ast.Call, names: frozenset[str]) -> None:
    if not isinstance(node.func, ast.Name):
        raise _refused("a call of what is not a function's name")
    name = node.func.id
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        raise _refused(f"{name[:40]} with named or spread arguments")
    if name in OVER_A_RANGE:
        _check_range(name, node.args, names)
    elif name in OVER_A_NAME:
        _check_over_name(name, node.args, names)
    elif name in FUNCTIONS:
        for one in node.args:
            _check(one, names)
    else:
        raise _refused(f"the function {name[:40]!r}")


def _check_range(name: str, args: list[ast.expr], names: frozenset[str]) -> None:
    bounds = args[1] if len(args) == 2 else None
    if not isinstance(bounds, ast.Tuple) or len(bounds.elts) != 3 or not isinstance(bounds.elts[0], ast.Name):
        raise _refused(f"{name} that is not {name}(expression, (name, from, to))")
    _check(args[0], names | {bounds.elts[0].id})
    for end in bounds.elts[1:]:
        _check(end, names)


def _check_over_name(name: str, args: list[ast.expr], names: frozenset[str]) -> None:
    wanted = 3 if name == "limit" else 2
    if len(args) != wanted or not isinstance(args[1], ast.Name):
        raise _refused(f"{name} that is not {name}(expression, name{', point' if wanted == 3 else ''})")
    _check(args[0], names | {args[1].id})
    for point in args[2:]:
        _check(point, names)


def _check_root(node: ast.Subscript, names: frozenset[str]) -> None:
    """Check `solve(expression, x)[0]` or `[-1]`: one of the real roots."""
    place = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
    if not isinstance(place, ast.Constant) or type(place.value) is not int or place.value > 20:
        raise _refused("an index that is not a small whole number")
    if (
        not isinstance(node.value, ast.Call)
        or not isinstance(node.value.func, ast.Name)
        or node.value.func.id != "solve"
    ):
        raise _refused("an index of anything but solve(...)")
    _check_call(node.value, names)
