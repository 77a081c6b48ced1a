"""Exact computation of checkable forms, with SymPy and without eval.

The syntax tree is checked against an allow-list before anything is computed. The error names the construct that is not on the list.
Sizes are checked at each step. `sandbox.py` bounds time and memory for forms of unknown origin. A `Reading` is small enough to be
computed in any process.
"""

import ast
import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from typing import Any

from qagen_dagster.mathematics.floats import OPERATORS

LONGEST = 2_000  # maximum characters of an expression
MOST_NODES = 400  # maximum parts of an expression
MOST_GIVENS = 40
MOST_DIGITS = 60
CONSTANTS = frozenset(("pi", "E"))
OVER_A_RANGE = frozenset(("Sum", "Product", "integrate"))  # (expression, (name, from, to))
OVER_A_NAME = frozenset(("diff", "solve", "limit"))  # (expression, name); a limit also takes the point
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod)
DIGITS = 50  # digits of a decimal value
POINTS = 4  # number of points at which values with symbols are compared
MOST_BITS = 4_000  # maximum bits of a whole number
MOST_TERMS = 2_000  # maximum terms of a sum or product
_HIGHEST_DEGREE = 60  # maximum exponent of a power with symbols
_LARGEST_ROOT = 1_000  # maximum order of a root
_WHOLE = {"factorial": 300, "binomial": 1_000, "gcd": 10**30, "lcm": 10**30}  # their largest whole arguments
_ONE, _TWO, _ONE_OR_TWO, _SOME = range(1, 2), range(2, 3), range(1, 3), range(1, 40)


class FormFailure(StrEnum):
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


_Part = Callable[[Mapping[str, Any]], Any]  # the value of a part of an expression, from the values of names


@dataclass(frozen=True)
class Form:
    """Expressions that passed the allow-list; `free` holds the names that are symbols."""

    value: _Part
    givens: Mapping[str, _Part]
    free: frozenset[str]


def parse_form(
    expression: str, givens: Mapping[str, str] | None = None, free: frozenset[str] = frozenset()
) -> Form:
    """Check an expression and its givens. Raises FormError. A given whose value is its own name, and every name of
    `free`, is a positive symbol. The values of other givens may contain numbers and such symbols, but no other givens."""
    given = dict(givens or {})
    if len(given) > MOST_GIVENS:
        raise _refused(f"more than {MOST_GIVENS} givens")
    own = free | {name for name, value in given.items() if value.strip() == name}
    for name in {*given, *free}:
        if not name.isascii() or not name.isidentifier() or name.startswith("__"):
            raise _refused(f"the name {name[:40]!r}")
    parts = {name: _read(value, free=own) for name, value in given.items() if name not in own}
    return Form(_read(expression, free=own | frozenset(parts)), parts, own)


def _refused(what: str) -> FormError:
    return FormError(FormFailure.REFUSED, what)


def _read(text: str, free: frozenset[str]) -> _Part:
    if len(text) > LONGEST:
        raise _refused(f"an expression of more than {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _refused(f"not an expression: {str(error)[:100]}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise _refused(f"more than {MOST_NODES} parts")
    return _part(tree, free)


def _part(node: ast.expr, names: frozenset[str]) -> _Part:
    """A part of an expression over `names`. Raises FormError for what is not on the allow-list; nothing is computed yet."""
    if isinstance(node, ast.Constant):
        return _number(node)
    if isinstance(node, ast.Name):
        name = node.id
        if name not in names and name not in CONSTANTS:
            raise _refused(f"the name {name[:40]!r}, which is not a given")
        return lambda known: known[name] if name in known else getattr(_sympy(), name)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        inner = _part(node.operand, names)
        return (lambda known: -inner(known)) if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        return _operation(node, names)
    if isinstance(node, ast.Call):
        return _call(node, names)
    if isinstance(node, ast.Subscript):
        return _root(node, names)
    raise _refused(f"a {type(node).__name__}")


def _number(node: ast.Constant) -> _Part:
    if type(node.value) not in (int, float):
        raise _refused(f"a {type(node.value).__name__}")
    text = str(node.value)
    if len(text) > MOST_DIGITS:
        raise FormError(FormFailure.TOO_LARGE, f"a number of more than {MOST_DIGITS} digits")
    return lambda _: _sympy().Rational(text)


def _operation(node: ast.BinOp, names: frozenset[str]) -> _Part:
    if isinstance(node.op, ast.BitXor):
        raise _refused("the sign ^; a power is written **")
    if not isinstance(node.op, _OPERATORS):
        raise _refused(f"the operator {type(node.op).__name__}")
    left, right = _part(node.left, names), _part(node.right, names)
    operate = _power if isinstance(node.op, ast.Pow) else OPERATORS[type(node.op)]
    return lambda known: _size(operate(left(known), right(known)))


def _called(node: ast.Call) -> str:
    """The name of the function that is called."""
    if not isinstance(node.func, ast.Name):
        raise _refused("a call of something other than a function's name")
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        raise _refused(f"{node.func.id[:40]} with named or spread arguments")
    return node.func.id


def _call(node: ast.Call, names: frozenset[str]) -> _Part:
    name = _called(node)
    if name in OVER_A_RANGE:
        part = _over_a_range(name, node.args, names)
    elif name in OVER_A_NAME:
        part = _over_a_name(name, node.args, names)
    elif name in FUNCTIONS:
        parts = [_part(one, names) for one in node.args]
        return lambda known: _size(_function(name, [one(known) for one in parts]))
    else:
        raise _refused(f"the function {name[:40]!r}")
    return lambda known: _size(part(known))


def _over_a_range(name: str, args: list[ast.expr], names: frozenset[str]) -> _Part:
    bounds = args[1] if len(args) == 2 else None
    if not isinstance(bounds, ast.Tuple) or len(bounds.elts) != 3 or not isinstance(bounds.elts[0], ast.Name):
        raise _refused(f"{name} that is not {name}(expression, (name, from, to))")
    variable = bounds.elts[0].id
    body = _part(args[0], names | {variable})
    start, end = (_part(one, names) for one in bounds.elts[1:])

    def compute(known: Mapping[str, Any]) -> Any:
        first, last = start(known), end(known)
        if name != "integrate":
            return _repeat(name, first, last, lambda number: body({**known, variable: number}))
        symbol = _symbol(variable)
        return _sympy().integrate(body({**known, variable: symbol}), (symbol, first, last))

    return compute


def _over_a_name(name: str, args: list[ast.expr], names: frozenset[str]) -> _Part:
    variable, body = _of_variable(name, args, names)
    points = [_part(one, names) for one in args[2:]]
    if name == "solve":
        raise _refused("solve without an index; write solve(expression, x)[0]")

    def compute(known: Mapping[str, Any]) -> Any:
        symbol = _symbol(variable)
        value = body({**known, variable: symbol})
        if points:
            return _sympy().limit(value, symbol, points[0](known))
        slope = _sympy().diff(value, symbol)
        at = known.get(variable)
        return slope if at is None else slope.subs(symbol, at)

    return compute


def _of_variable(name: str, args: list[ast.expr], names: frozenset[str]) -> tuple[str, _Part]:
    """The variable of `name(expression, variable)`, and the expression."""
    wanted = 3 if name == "limit" else 2
    if len(args) != wanted or not isinstance(args[1], ast.Name):
        raise _refused(f"{name} that is not {name}(expression, name{', point' if wanted == 3 else ''})")
    return args[1].id, _part(args[0], names | {args[1].id})


def _root(node: ast.Subscript, names: frozenset[str]) -> _Part:
    """One of the real roots, such as `solve(expression, x)[0]` or `[-1]`."""
    place = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
    if not isinstance(place, ast.Constant) or type(place.value) is not int or place.value > 20:
        raise _refused("an index that is not a small whole number")
    if (
        not isinstance(node.value, ast.Call)
        or not isinstance(node.value.func, ast.Name)
        or node.value.func.id != "solve"
    ):
        raise _refused("an index of anything but solve(...)")
    variable, body = _of_variable(_called(node.value), node.value.args, names)

    def compute(known: Mapping[str, Any]) -> Any:
        symbol = _symbol(variable)
        roots = _sympy().solve(body({**known, variable: symbol}), symbol)
        return _real_root(roots, int(ast.literal_eval(node.slice)))

    return compute


@lru_cache(maxsize=1)
def _sympy() -> Any:
    return import_module("sympy")


def evaluate(form: Form) -> tuple[str, tuple[str | None, ...]]:
    """The exact value as text (300 characters at most), and as decimals at `POINTS` points of its symbols; without symbols, these decimals are
    equal. None stands for a point at which the value is not real and finite. Raises FormError."""
    try:
        known: dict[str, Any] = {name: _sympy().Symbol(name, positive=True) for name in form.free}
        known |= {name: part(known) for name, part in form.givens.items()}
        value = form.value(known)
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
        places = ({symbol: _point(str(symbol), number) for symbol in symbols} for number in range(POINTS))
        found = tuple(_decimal(value.subs(place)) for place in places)
    if all(one is None for one in found):
        raise FormError(FormFailure.UNDEFINED, f"{str(value)[:100]} is not a real, finite number")
    return found


def _point(name: str, number: int) -> Any:
    """A rational number between 0.5 and 3.6. It depends only on `number` and on the name without its underscores."""
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


def _symbol(name: str) -> Any:
    return _sympy().Symbol(name, real=True)


def _repeat(name: str, start: Any, end: Any, term: Callable[[Any], Any]) -> Any:
    """A sum or product term by term: exact, with a limited number of terms."""
    if not (start.is_Integer and end.is_Integer):
        raise FormError(FormFailure.UNDEFINED, f"{name} between ends that are not whole numbers")
    if end - start >= MOST_TERMS:
        raise FormError(FormFailure.TOO_LARGE, f"{name} of more than {MOST_TERMS} terms")
    sympy = _sympy()
    total = sympy.Integer(0 if name == "Sum" else 1)
    for number in range(int(start), int(end) + 1):
        value = term(sympy.Integer(number))
        total = _size(total + value if name == "Sum" else total * value)
    return total


def _real_root(roots: list[Any], place: int) -> Any:
    """The root at `place` among those that may be real, in ascending order if they have no symbols."""
    ordered = [root for root in roots if root.is_real is not False]
    if not any(root.free_symbols for root in ordered):
        sizes = {root: _real_part(root) for root in ordered}
        ordered = sorted((root for root in ordered if sizes[root] is not None), key=lambda root: sizes[root])
    if not -len(ordered) <= place < len(ordered):
        raise FormError(FormFailure.UNDEFINED, f"there is no root number {place}: {len(ordered)} are real")
    return ordered[place]


def _size(value: Any) -> Any:
    """`value`, after a check of its size if it is a number."""
    if value.is_Rational and max(int(value.p).bit_length(), int(value.q).bit_length()) > MOST_BITS:
        raise FormError(FormFailure.TOO_LARGE, f"a number of more than {MOST_BITS} bits")
    if value.is_finite is False or value is _sympy().nan:
        raise FormError(FormFailure.UNDEFINED, "a division by zero or an infinite value")
    return value


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


_OF_ONE = frozenset((
    "sqrt", "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "factorial", "floor",
    "ceiling", "Abs",
))  # fmt: skip
_OF_TWO = frozenset(("atan2", "binomial", "Mod"))
# The functions that SymPy has under other names, or not at all
_OF_NUMBERS: Mapping[str, tuple[range, Callable[..., Any]]] = {
    "abs": (_ONE, lambda *of: _sympy().Abs(*of)),
    "ln": (_ONE, lambda *of: _sympy().log(*of)),
    "log": (_ONE_OR_TWO, lambda *of: _sympy().log(*of)),
    **dict.fromkeys(("Min", "min"), (_SOME, lambda *of: _sympy().Min(*of))),
    **dict.fromkeys(("Max", "max"), (_SOME, lambda *of: _sympy().Max(*of))),
    "cbrt": (_ONE, lambda *of: _sympy().real_root(*of, 3)),
    "root": (_TWO, lambda *of: _power(of[0], 1 / of[1])),
    "Rational": (_TWO, lambda *of: of[0] / of[1]),
    "gcd": (_SOME, lambda *numbers: _sympy().Integer(math.gcd(*map(int, numbers)))),
    "lcm": (_SOME, lambda *numbers: _sympy().Integer(math.lcm(*map(int, numbers)))),
}
FUNCTIONS = _OF_ONE | _OF_TWO | _OF_NUMBERS.keys()


def _function(name: str, args: list[Any]) -> Any:
    if name in _OF_NUMBERS:
        wanted, function = _OF_NUMBERS[name]
    else:
        wanted, function = _TWO if name in _OF_TWO else _ONE, getattr(_sympy(), name)
    if len(args) not in wanted:
        raise FormError(FormFailure.REFUSED, f"{name} with {len(args)} arguments")
    if name in _WHOLE:
        if not all(one.is_Integer for one in args):
            raise FormError(FormFailure.UNDEFINED, f"{name} of a value that is not a whole number")
        if any(abs(one) > _WHOLE[name] for one in args):
            raise FormError(FormFailure.TOO_LARGE, f"{name} beyond {_WHOLE[name]}")
    if name in ("exp", "sinh", "cosh", "tanh") and args[0].is_number and not abs(args[0].evalf(15)) < 1_000:
        raise FormError(FormFailure.TOO_LARGE, f"{name} beyond 1000")
    return function(*args)
