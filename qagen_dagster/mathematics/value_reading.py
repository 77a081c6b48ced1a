"""Reads an option's text, plain or LaTeX, as one value with a unit.

Numbers with thousands separators, fractions, mixed numbers, powers, roots, pi, scientific notation, per cent, degrees, units (`m s^{-1}`,
`kg/m^3`, `metres per second`), common functions and single-letter symbols become an expression that `evaluator.py` computes. Words,
ranges and lists of values are refused. Nothing is computed here.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.mathematics.expressions import LONGEST, Expressions, Unreadable
from qagen_dagster.mathematics.tokens import Kind, Token, tokens
from qagen_dagster.mathematics.units import INVERTED, ONE, Unit, named_unit, product, written_out

CURRENCIES = {
    mark: unit.named(mark)
    for mark, name in (("\u00a3", "\u00a3"), ("\u20ac", "\u20ac"), ("USD", "dollar"))
    if (unit := named_unit(name))
}
_ABOUT = re.compile(
    r"\s*(?:about|approximately|approx\.?|roughly|nearly|around|\$?\s*(?:\\(?:approx|sim)(?![A-Za-z])|\u2248))\s*",
    re.IGNORECASE,
)
_LARGEST_POWER = 6
MOST_DIGITS = 40


def read_units(found: list[Token], *, braces: bool = False) -> Unit:
    """The unit of the tokens; ONE for no tokens. Raises Unreadable if they are not a unit."""
    kept = [token for token in found if not (braces and token.text in "{}" and token.kind is Kind.MARK)]
    kept = [token for token in kept if token.text not in (".", "cdot", "times")]
    if not kept:
        return ONE
    unit, sign, place = Unit("", Fraction(1)), 1, 0
    while place < len(kept):
        token = kept[place]
        if token.text in ("/", "per") and place + 1 < len(kept):
            sign, place = -1, place + 1
            continue
        one, place = _named(kept, place)
        power, place = _power(kept, place)
        first = INVERTED.get(token.text)
        if first and power == -1:
            one, power = product(token.text, first), 1
        unit = unit.times(one, sign * power)
        sign = 1 if token.text != "/" else sign
    return unit.named(" ".join(token.text for token in kept))


def _named(kept: list[Token], place: int) -> tuple[Unit, int]:
    token = kept[place]
    following = kept[place + 1].text if place + 1 < len(kept) else ""
    if token.text == "^" and following == "\u00b0":  # `^\circ` and `^{\circ}`
        return _degrees(kept, place + 1)
    if token.text == "^" and [one.text for one in kept[place + 1 : place + 4]] == ["{", "\u00b0", "}"]:
        return _degrees([*kept[: place + 3], *kept[place + 4 :]], place + 2)
    if token.text == "\u00b0":
        return _degrees(kept, place)
    if token.text in ("\u03bc", "mu") and following and (micro := named_unit("u" + following)):
        return micro, place + 2
    if token.text in ("square", "cubic") and (base := named_unit(following)):
        return ONE.times(base, 2 if token.text == "square" else 3), place + 2
    unit = named_unit(token.text)
    if unit is None:
        kind = "an expression" if token.kind is not Kind.WORD else "words"
        raise Unreadable(f"{kind}: {token.text!r} is not a unit")
    return unit, place + 1


def _degrees(kept: list[Token], place: int) -> tuple[Unit, int]:
    celsius = place + 1 < len(kept) and kept[place + 1].text == "C"
    unit = named_unit("\u00b0C" if celsius else "\u00b0")
    return unit or ONE, place + (2 if celsius else 1)


def _power(kept: list[Token], place: int) -> tuple[int, int]:
    """The integer after `^`, with or without braces; 1 without `^`. In `s-1` the power follows directly."""
    rest = [token.text for token in kept[place : place + 5]]
    if rest[:1] == ["-"] and len(rest) > 1 and rest[1].isdigit() and not kept[place].spaced:
        return _bounded(f"-{rest[1]}"), place + 2
    if rest[:1] != ["^"] or rest[1:2] == ["\u00b0"] or rest[1:3] == ["{", "\u00b0"]:
        return 1, place
    braces = rest[1:2] == ["{"]
    inner = rest[2 if braces else 1 :]
    sign = inner.pop(0) if inner[:1] in (["-"], ["+"]) else ""
    if not inner or not inner[0].isdigit():
        raise Unreadable("the power of a unit is not a whole number")
    return _bounded(sign + inner[0]), place + 2 + 2 * braces + len(sign)


def _bounded(text: str) -> int:
    if len(text) > 3 or abs(int(text)) > _LARGEST_POWER:
        raise Unreadable(f"the power of a unit is above {_LARGEST_POWER} or below -{_LARGEST_POWER}")
    return int(text)


@dataclass(frozen=True)
class Reading:
    """`expression` is in the syntax of checkable forms, over `symbols`. `last_place` is the place value of the
    last significant digit (0.01 for 0.35, 100 for "about 1500"). It is None if the number is exact."""

    expression: str
    symbols: frozenset[str]
    unit: Unit = ONE
    last_place: Fraction | None = None


def read_value(text: str) -> Reading:
    """The value that `text` states. Raises Unreadable, a ValueError that says why the text states no value."""
    if len(text) > LONGEST:
        raise Unreadable(f"longer than {LONGEST} characters")
    about = _ABOUT.match(text)
    found = tokens(_dollars(written_out(_without_about(text, about))))
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
    last_place = _last_place(found) or (_last_digit(found) if about else None)
    return Reading(expression, frozenset(parser.symbols), unit, last_place)


def read_unit(text: str) -> Unit:
    """A unit alone, such as `m s^{-1}`; ONE for an empty text. Raises Unreadable."""
    plain = written_out(text).strip().strip("$")
    for command in ("\\mathrm", "\\text", "\\textrm", "\\rm"):
        plain = plain.replace(command, "")
    return read_units(
        tokens(plain.replace("\\,", " ").replace("$", "").replace("\\Omega", "\u03a9")), braces=True
    )


def known_unit(text: str) -> Unit | None:
    """The unit that a text names; None if it names none."""
    try:
        unit = read_unit(text)
    except Unreadable:
        return None
    return None if unit == ONE else unit


def _without_about(text: str, about: re.Match[str] | None) -> str:
    if about is None:
        return text
    return ("$" if "$" in about.group() else "") + text[about.end() :]


def _last_digit(found: list[Token]) -> Fraction | None:
    """The place value of the last nonzero digit of a whole number (100 for 1500); None for other values."""
    numbers = [token.text for token in found if token.kind is Kind.NUMBER]
    if len(numbers) != 1 or not numbers[0].strip("0"):
        return None
    return Fraction(10) ** (len(numbers[0]) - len(numbers[0].rstrip("0")))


def _dollars(text: str) -> str:
    r"""The text with `USD ` for the dollar signs that mean money: each `\$`, and a single `$` at the start. A
    pair of `$` encloses mathematics and stays."""
    body = text.strip()
    if body.startswith("$\\$"):  # money within a formula
        body = f"\\$${body[3:]}"
    body = body.replace("\\$", "USD ")
    if body.count("$") == 1 and body.startswith("$"):
        return "USD " + body[1:]
    return body


def _after_equals(found: list[Token]) -> list[Token]:
    """The tokens after `x =`, or all tokens if there is no equals sign. Only a name may stand before the sign."""
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
