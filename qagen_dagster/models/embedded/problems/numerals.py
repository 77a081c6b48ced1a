"""The replaceable numbers of a LaTeX text with their positions, without exponents, indices and layout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.latex.structure import code_of
from qagen_dagster.models.embedded.problems.prompt_fields import UnableError

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
    """The numbers of `latex` in order. Raises UnableError if digits cannot be told apart."""
    code = code_of(latex)
    if _GLUED.search(code) or re.search(r"\d\{?,\}?\d{3}(?!\d)", code):
        raise UnableError("numbers are written in a way that cannot be replaced safely")
    return tuple(
        Numeral(one.start(), one.end(), one.group(), numeral_value(one.group()))
        for one in _TOKEN.finditer(code)
        if one.group("number")
    )


def numeral_value(text: str) -> Fraction:
    """The value of a decimal number, with its power of ten."""
    ten = _TEN.search(text)
    return Fraction(_mantissa(text)) * (Fraction(10) ** int(ten.group(1)) if ten else 1)


def written_like(value: Fraction, model: str) -> str:
    """`value` with the power of ten of `model`, exact. Raises UnableError if it does not terminate."""
    ten = _TEN.search(model)
    mantissa = value / Fraction(10) ** int(ten.group(1)) if ten else value
    return decimal_text(mantissa) + (model[ten.start() :] if ten else "")


def decimal_text(value: Fraction) -> str:
    """A decimal without trailing zeros. Raises UnableError if it does not terminate."""
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
