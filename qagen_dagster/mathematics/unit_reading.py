"""Parsing of a unit after a number: `m s^{-1}`, `kg/m^3`, `metres per second`, `%`, degrees."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.mathematics.expressions import Unreadable
from qagen_dagster.mathematics.tokens import Kind, Token
from qagen_dagster.mathematics.units import INVERTED, ONE, Unit, named_unit

CURRENCIES = {
    mark: unit.named(mark)
    for mark, name in (("\u00a3", "\u00a3"), ("\u20ac", "\u20ac"), ("USD", "dollar"))
    if (unit := named_unit(name))
}
_LARGEST_POWER = 6


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
            one, power = _pair(*first), 1
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
    inner = rest[1:]
    used = 1
    braces = inner[:1] == ["{"]
    if braces:
        inner, used = inner[1:], used + 2
    negative = inner[:1] in (["-"], ["+"])
    digits = inner[1] if negative and len(inner) > 1 else (inner[0] if inner else "")
    sign = "-" if negative and inner[0] == "-" else ""
    if not digits.isdigit():
        raise Unreadable("a unit's power that is no whole number")
    return _bounded(sign + digits), place + used + 1 + (1 if negative else 0)


def _bounded(text: str) -> int:
    if len(text) > 3 or abs(int(text)) > _LARGEST_POWER:
        raise Unreadable("a unit's power that no unit has")
    return int(text)


def _pair(first: str, second: str) -> Unit:
    numerator, denominator = named_unit(first), named_unit(second)
    if numerator is None or denominator is None:
        raise Unreadable("words")
    return numerator.times(denominator, -1)
