"""Reading of an option's text, plain or LaTeX, as one value with a unit.

Numbers with thousands separators, fractions, mixed numbers, powers, roots, pi, scientific notation, per cent,
degrees, units, common functions and single-letter symbols become an expression that `evaluator.py` computes. Words,
ranges and lists of values are refused. Nothing is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.mathematics.expressions import Expressions, Unreadable
from qagen_dagster.mathematics.tokens import LONGEST, Kind, Token, tokens
from qagen_dagster.mathematics.unit_reading import CURRENCIES, read_units
from qagen_dagster.mathematics.units import ONE, Unit

MOST_DIGITS = 40


@dataclass(frozen=True)
class Reading:
    """`expression` is in the syntax of checkable forms, over `symbols`. `last_place` is the value of a decimal's last
    digit; None if the number is exact.
    """

    expression: str
    symbols: frozenset[str]
    unit: Unit = ONE
    last_place: Fraction | None = None


def read_value(text: str) -> Reading:
    """The value that `text` states. Raises Unreadable, a ValueError that says why there is none."""
    if len(text) > LONGEST:
        raise Unreadable(f"longer than {LONGEST} characters")
    found = tokens(_dollars(text))
    if not found:
        raise Unreadable("empty")
    if any(len(token.text) > MOST_DIGITS for token in found if token.kind is Kind.NUMBER):
        raise Unreadable(f"a number of more than {MOST_DIGITS} digits")
    currency = ONE
    found = _after_equals(found)
    if found and found[0].text in CURRENCIES:
        currency, found = CURRENCIES[found[0].text], found[1:]
    kinds = [token.kind for token in found[:3]]
    if kinds == [Kind.NUMBER, Kind.MARK, Kind.NUMBER] and found[1].text == "-":
        raise Unreadable("a range")
    parser = Expressions(found)
    expression = parser.read()
    unit = read_units(parser.rest())
    if currency is not ONE:
        if unit is not ONE:
            raise Unreadable("two units")
        unit = currency
    return Reading(expression, frozenset(parser.symbols), unit, _last_place(found))


def read_unit(text: str) -> Unit:
    """A unit alone, such as `m s^{-1}`; ONE for an empty text. Raises Unreadable."""
    plain = text.strip().strip("$")
    for command in ("\\mathrm", "\\text", "\\textrm", "\\rm"):
        plain = plain.replace(command, "")
    return read_units(tokens(plain.replace("\\,", " ").replace("$", "")), braces=True)


def _dollars(text: str) -> str:
    """Remove dollar signs: a single one before a digit is money, a pair encloses mathematics."""
    body = text.strip()
    if body.startswith("$\\$"):  # money within a formula
        body = f"\\$${body[3:]}"
    body = body.replace("\\$", "USD ")
    if body.count("$") == 1 and body.startswith("$"):
        return "USD " + body[1:]
    return body


def _after_equals(found: list[Token]) -> list[Token]:
    """The tokens after `x =`; only a name may stand before the sign."""
    marks = [place for place, token in enumerate(found) if token.text in ("=",)]
    if not marks:
        return found
    before = found[: marks[0]]
    named = before and before[0].kind in (Kind.LETTER, Kind.WORD, Kind.COMMAND)
    if (
        len(marks) > 1
        or len(before) > 6
        or not named
        or any(token.text not in "_{}" for token in before[1:2])
    ):
        raise Unreadable("an equation")
    return found[marks[0] + 1 :]


def _last_place(found: list[Token]) -> Fraction | None:
    r"""One unit in the last digit of `-0.35` or `6.0 \times 10^{8}`; None for an exact number without decimals."""
    numbers = [token.text for token in found if token.kind is Kind.NUMBER]
    marks = {token.text for token in found if token.kind is not Kind.NUMBER and token.kind is not Kind.WORD}
    if not numbers or marks & {"frac", "sqrt", "/", "(", "pi", "+"}:
        return None
    decimals = len(numbers[0].partition(".")[2])
    if not decimals:
        return None
    if len(numbers) == 1 or not marks & {"times", "cdot", "*"}:
        return Fraction(1, 10**decimals)
    texts = [token.text for token in found]
    after = [text for text in texts[texts.index("10") + 1 :] if text not in "^{"] if "10" in texts else []
    sign = -1 if after[:1] == ["-"] else 1
    digits = (after[1:] if sign < 0 else after)[:1]
    if not digits or not digits[0].isdigit() or len(digits[0]) > 2:
        return None
    return Fraction(10) ** (sign * int(digits[0]) - decimals)
