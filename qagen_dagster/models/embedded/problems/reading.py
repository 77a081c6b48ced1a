"""Reads a prompt and its item: labelled parts, numbers as TeX writes them, and chains of equal sides."""

import re
from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.latex.structure import code_of
from qagen_dagster.mathematics.equality import Quantity, value_of
from qagen_dagster.mathematics.value_reading import read_value

_PARTS = ("problem", "item", "items", "solution", "ideas", "earlier", "description")


def label_of(prompt: str, name: str) -> str:
    """The value of the line `name: value`; empty without one. Lines inside tagged parts are ignored."""
    head = re.split(rf"^<(?:{'|'.join(_PARTS)})>$", prompt, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(rf"^{re.escape(name)}:[ \t]*(.*)$", head, re.MULTILINE)
    return found.group(1).strip() if found else ""


def part_of(prompt: str, name: str) -> str:
    """The text between the lines `<name>` and `</name>`; empty without them."""
    start = re.search(rf"^<{name}>$", prompt, re.MULTILINE)
    end = re.search(rf"^</{name}>$", prompt[start.end() :], re.MULTILINE) if start else None
    return prompt[start.end() : start.end() + end.start()].strip() if start and end else ""


class UnableError(ValueError):
    """The task cannot be done correctly; the message gives the reason in one line."""


_GLUED = re.compile(r"\\[dt]?frac\s*(?:\d|\{[^{}]*\}\s*\d)")  # \frac12: digits without braces
_TOKEN = re.compile(
    r"\\(?:begin|end)[ \t]*\{[^{}\n]{1,40}\}(?:[ \t]*(?:\([^()\n]{0,40}\)|\[[^\]\n]{0,200}\]))*"
    r"|[_^]\s*(?:\{[^{}]{0,60}\}|\\[A-Za-z]+|\S)"
    r"|\\(?:item|\\)[ \t]*\[[^\]\n]{0,60}\]"
    r"|\\(?:vspace|hspace|includegraphics|label|ref|cite)\*?[ \t]*(?:\[[^\]\n]{0,200}\])?[ \t]*\{[^{}]{0,200}\}"
    r"|\\[A-Za-z]+|\\."
    r"|[A-Za-z]+\d+"
    r"|(?P<number>\d+(?:\.\d+)?(?:\s*\\(?:times|cdot)\s*10\s*\^\s*(?:\{\s*-?\d{1,2}\s*\}|\d))?)"
)
_TEN = re.compile(r"\s*\\(?:times|cdot)\s*10\s*\^\s*\{?\s*(-?\d{1,2})\s*\}?")


@dataclass(frozen=True)
class Numeral:
    """A number as written from `start` to `end`."""

    start: int
    end: int
    text: str
    value: Fraction

    @property
    def places(self) -> int:
        """Decimal places of its mantissa."""
        return len(_mantissa(self.text).partition(".")[2])


def numerals_of(latex: str) -> tuple[Numeral, ...]:
    """The numbers of `latex` in order. Raises UnableError if it is not clear where a number begins or ends."""
    code = code_of(latex)
    if _GLUED.search(code) or re.search(r"\d\{?,\}?\d{3}(?!\d)", code):
        raise UnableError("numbers are written in a way that cannot be replaced safely")
    return tuple(
        Numeral(token.start(), token.end(), token.group(), numeral_value(token.group()))
        for token in _TOKEN.finditer(code)
        if token.group("number")
    )


def numeral_value(text: str) -> Fraction:
    """The value of a decimal number, with its power of ten."""
    ten = _TEN.search(text)
    return Fraction(_mantissa(text)) * (Fraction(10) ** int(ten.group(1)) if ten else 1)


def written_like(value: Fraction, model: str) -> str:
    """`value` as an exact decimal, with the power of ten of `model`. Raises UnableError if the decimal does not end."""
    ten = _TEN.search(model)
    mantissa = value / Fraction(10) ** int(ten.group(1)) if ten else value
    return decimal_text(mantissa) + (model[ten.start() :] if ten else "")


def decimal_text(value: Fraction) -> str:
    """The exact decimal, without zeros at its end. Raises UnableError if it does not end."""
    for digits in range(12):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole = f"{abs(scaled.numerator):0{digits + 1}d}"
            sign = "-" if scaled < 0 else ""
            return sign + (f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole)
    raise UnableError(f"{value} is no decimal that ends")


def _mantissa(text: str) -> str:
    found = re.match(r"\d+(?:\.\d+)?", text)
    return found.group() if found else "0"


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
    """Sides that are equal: those with symbols, and those with only numbers."""

    symbolic: tuple[Side, ...]
    numeric: tuple[Side, ...]


def chains_of(item: str, start: int, end: int) -> tuple[Chain, ...]:
    """The chains with a numeric side between two positions of an item."""
    found: list[Chain] = []
    for formula in _FORMULA.finditer(code_of(item), start, end):
        name = formula.lastgroup or "dollar"
        for sides in _cut(item, *formula.span(name)):
            numeric = tuple(side for side in sides if side.value is not None)
            if numeric and len(sides) > 1:
                found.append(Chain(tuple(side for side in sides if side.value is None), numeric))
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


def _cut(item: str, start: int, end: int) -> list[list[Side]]:
    r"""The chains of one formula. `=` or `\approx` outside braces separates two sides, and any other separator ends a chain."""
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
