r"""Chains of equations in a solution, with positions: `a = \frac{F}{m} = \frac{30}{12} = 2.5\,\mathrm{m}`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qagen_dagster.latex.structure import code_of
from qagen_dagster.mathematics.reading import read_value
from qagen_dagster.mathematics.values import Quantity, equal, rounds_to, value_of

_FORMULA = re.compile(r"\$\$?(?P<dollar>[^$]+)\$\$?|\\\[(?P<shown>.*?)\\\]|\\\((?P<round>.*?)\\\)", re.DOTALL)
_CUT = re.compile(
    r"=|\\approx(?![A-Za-z])|\\(?:implies|Rightarrow|therefore|quad|qquad)(?![A-Za-z])|\\\\|;|,(?=\s)|[{}]"
)
_UNITS = re.compile(
    r"(?:\\[,;:! ]|~|\s)*\\(?:mathrm|text|textrm|si|unit)\s*\{(?:[^{}]|\{[^{}]*\})*\}(?:\^\{?-?\d\}?)?"
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")


@dataclass(frozen=True)
class Side:
    """One side of an equation; `value` is set if the side contains only numbers."""

    start: int
    end: int
    text: str
    value: Quantity | None


@dataclass(frozen=True)
class Chain:
    """One chain: the sides with symbols, and the sides with only numbers."""

    symbolic: tuple[Side, ...]
    numeric: tuple[Side, ...]


def chains_of(item: str, start: int, end: int) -> tuple[Chain, ...]:
    """The chains between two positions of an item that have a numeric side."""
    found: list[Chain] = []
    for formula in _FORMULA.finditer(code_of(item), start, end):
        name = formula.lastgroup or "dollar"
        for sides in _cut(item, *formula.span(name)):
            numeric = tuple(one for one in sides if one.value is not None)
            if numeric and len(sides) > 1:
                found.append(Chain(tuple(one for one in sides if one.value is None), numeric))
    return tuple(found)


def side_value(text: str) -> Quantity | None:
    """The value of a numeric side, with or without its units; None for other sides."""
    bare = _BOX.sub("{", text).strip().strip(".").strip()
    if bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1]
    for tried in (bare, _UNITS.sub(" ", bare)):
        try:
            if not read_value(tried).symbols:
                return value_of(tried)
        except ValueError:
            continue
    return None


def agrees(computed: Quantity, said: Quantity) -> bool:
    """Whether the stated value equals the computed one, exactly or rounded to the digits shown."""
    return equal(computed, said) or rounds_to(computed, said)


def _cut(item: str, start: int, end: int) -> list[list[Side]]:
    """The chains of one formula: split at `=` outside braces, ended by separators between formulas."""
    chains: list[list[Side]] = [[]]
    depth, place = 0, start
    for mark in _CUT.finditer(item, start, end):
        sign = mark.group()
        if sign in "{}":
            depth += 1 if sign == "{" else -1
        elif depth == 0:
            chains[-1].append(_side(item, place, mark.start()))
            place = mark.end()
            if sign not in ("=", r"\approx"):
                chains.append([])
    chains[-1].append(_side(item, place, end))
    return chains


def _side(item: str, start: int, end: int) -> Side:
    text = item[start:end]
    return Side(start, end, text, side_value(text))
