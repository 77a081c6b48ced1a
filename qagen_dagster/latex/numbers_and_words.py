r"""The numbers and words of a LaTeX text, without its layout, read in one pass.

Numbers are values: 1.5, 1,500, 1{,}500, \frac{3}{2}, 3 \times 10^{8} and 2^{3} are one number each. Whole exponents
and indices of symbols and units are words, such as `^-2` and `_1`. Arguments of layout and drawings are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from qagen_dagster.latex.layout import without_layout

_MOST_DIGITS = 60  # a longer row of digits is a word
_BEHIND = 80  # characters after a number that may hold its unit
_MOST_POWER = 1_000  # also the maximum digits of a power when written out
_PLAIN = r"(?:\d+(?:\.\d+)?|\.\d+)"
_TERM = rf"(?:\{{[ \t]*-?[ \t]*{_PLAIN}[ \t]*\}}|\d)"
_POWER = r"\^\s*(?:\{\s*[-+]?\s*\d+\s*\}|[-+]?\d+)"
_TOKEN = re.compile(
    rf"(?P<math>\$\$?|\\[()\[\]])"
    rf"|(?P<whole>\d+[ \t]*)?\\(?:[dt]?frac|nicefrac|sfrac)[ \t]*(?P<above>{_TERM})[ \t]*(?P<below>{_TERM})"
    rf"|(?<![\d.])(?P<over>{_PLAIN})[ \t]*/[ \t]*(?P<under>{_PLAIN})(?![\d.]|[ \t]*[\^_])"
    rf"|(?P<value>{_PLAIN})(?:[eE](?P<e>[-+]?\d{{1,3}})(?![\w.])|\s*(?:\\times(?![A-Za-z])|\\cdot(?![A-Za-z])|\*|x)\s*10\s*"
    rf"(?P<ten>{_POWER})|\s*(?P<power>{_POWER}))?"
    r"|(?P<index>_\s*(?:\{(?:[^{}]|\{[^{}]{0,60}\}){0,60}\}|\\[A-Za-z]+|[^\s{}\\$]))"
    r"|(?P<raised>\^\s*(?:\{\s*[-+]?\s*\d+\s*\}|\d|\{\s*\\prime\s*\}|[*']))"
    r"|(?P<word>\\[A-Za-z]+|[^\W\d_]+(?:['][^\W\d_]+|\d+[^\W\d_]*)*)"
    r"|(?P<other>\S)"
)
_FONTS = re.compile(r"\\(?:mathrm|mathbf|mathit|mathsf|text[a-z]{0,6}|operatorname|rm|bf|it)(?![A-Za-z])")
_ORDINAL = frozenset(("st", "nd", "rd", "th"))
_AN = re.compile(r"an[\s${]*\Z", re.IGNORECASE)
_OPERAND = re.compile(r"[\w)\]}']\Z")
_UNITS = {
    "metre": "m",
    "meter": "m",
    "gram": "g",
    "second": "s",
    "ampere": "A",
    "kelvin": "K",
    "mole": "mol",
    "newton": "N",
    "joule": "J",
    "watt": "W",
    "volt": "V",
    "coulomb": "C",
    "farad": "F",
    "ohm": r"\Omega",
    "hertz": "Hz",
    "pascal": "Pa",
    "tesla": "T",
    "weber": "Wb",
    "henry": "H",
    "kilogram": "kg",
    "degreeCelsius": r"\degree C",
    "celsius": r"\degree C",
    "squared": "^2",
    "cubed": "^3",
    "square": "^2",
    "cubic": "^3",
}
_PREFIXES = {
    "kilo": "k",
    "milli": "m",
    "micro": r"\mu ",
    "nano": "n",
    "pico": "p",
    "mega": "M",
    "giga": "G",
    "centi": "c",
}
_UNIT = re.compile(rf"\\(?P<prefix>{'|'.join(_PREFIXES)})?\\?(?P<unit>{'|'.join(_UNITS)})(?![A-Za-z])")
_LAYOUT_NAMES = (
    "times cdot ast text textbf textit textrm textsf texttt textnormal emph underline mathrm mathbf mathit mathsf boldsymbol "
    "bm operatorname rm bf it em frac dfrac tfrac nicefrac sfrac over noindent par centering medskip smallskip bigskip newline "
    "linebreak newpage hfill vfill hrule hline toprule midrule bottomrule tiny scriptsize footnotesize small normalsize large "
    "Large LARGE huge unit si SI qty num SIrange qtyrange numrange per mbox fbox boxed ensuremath item task ans textwidth linewidth"
)
_SILENT = frozenset(f"\\{name}" for name in _LAYOUT_NAMES.split())


@dataclass
class _Content:
    """The state of the pass; `counted`: the last token was a number, which ended at `at`."""

    numbers: list[Fraction] = field(default_factory=list[Fraction])
    follows: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    words: list[str] = field(default_factory=list[str])
    counted: bool = False
    at: int = 0


def numbers_of(latex: str) -> tuple[Fraction, ...]:
    """The numbers as values, smallest first."""
    return tuple(sorted(_read(latex).numbers))


def amounts_of(latex: str) -> tuple[tuple[Fraction, str, bool], ...]:
    """The numbers in order, each with the text after it (without layout), and whether it stands in a formula."""
    found = _read(latex)
    return tuple((one, *behind) for one, behind in zip(found.numbers, found.follows, strict=True))


def words_of(latex: str) -> tuple[str, ...]:
    """The words in order: prose in lower case, units, symbols, their indices and exponents; no layout, no numbers.

    Changes that a number causes in its neighbours are undone: "an 8", "3 seconds" and "2nd" give "a", "second" and
    "th".
    """
    return tuple(_read(latex).words)


def _read(latex: str) -> _Content:
    text = _UNIT.sub(_spelled, without_layout(latex))
    found, inside = _Content(), False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or ""
        if kind == "math":
            inside = token.group() in (r"\(", r"\[") or (token.group()[0] == "$" and not inside)
        elif kind in ("word", "index", "raised") or len(token.group()) > _MOST_DIGITS:
            _word(found, token, inside=inside)
        elif kind != "other":
            sign = -1 if _negative(text, token.start(), inside) else 1
            values = list(_values(token))
            found.numbers += [sign * values[0], *values[1:]]
            found.follows += [(text[token.end() : token.end() + _BEHIND], inside)] * len(values)
            found.counted, found.at = True, token.end()
            if found.words[-1:] == ["an"] and _AN.search(text, max(0, token.start() - 20), token.start()):
                found.words[-1] = "a"
        else:
            found.counted = found.counted and token.group() in "{}"
    return found


def _word(found: _Content, token: re.Match[str], *, inside: bool) -> None:
    word = token.group()
    if token.lastgroup != "word":
        word = re.sub(r"[\s{}+]", "", _FONTS.sub("", word))
    elif word in _SILENT:
        return
    prose = not (inside or found.counted)  # M and m are two symbols, MW and mW two units
    if prose and (len(word) == 1 or word[1:].islower()):
        word = word.casefold()
    if found.counted and found.at == token.start() and word in _ORDINAL:
        word = "th"
    elif found.counted and len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    found.words.append(word)
    found.counted = False


def _spelled(unit: re.Match[str]) -> str:
    r"""`\kilo\gram` as kg: a unit macro in its usual spelling."""
    return f" {_PREFIXES.get(unit.group('prefix') or '', '')}{_UNITS[unit.group('unit')]} "


def _values(token: re.Match[str]) -> Iterator[Fraction]:
    """The value of a number; its parts if the power is too high or the divisor zero."""
    above, below = token.group("above") or token.group("over"), token.group("below") or token.group("under")
    if above is not None:
        yield from _ratio(token.group("whole"), _fraction(above), _fraction(below))
        return
    value = Fraction(token.group("value"))
    power = _exponent(token.group("e") or token.group("ten") or token.group("power") or "")
    if power is None:
        yield value
    elif abs(power) * (len(token.group("value")) if token.group("power") else 1) > _MOST_POWER:
        yield from (value, Fraction(power))
    elif token.group("power"):
        yield value**power if value else value
    else:
        yield value * Fraction(10) ** power


def _ratio(whole: str | None, above: Fraction, below: Fraction) -> Iterator[Fraction]:
    if not below:
        yield from (Fraction(whole or 0), above, below)
    elif whole is not None and 0 < above < below and above.denominator == below.denominator == 1:
        yield int(whole) + above / below
    elif whole is not None:
        yield from (Fraction(int(whole)), above / below)
    else:
        yield above / below


def _fraction(text: str) -> Fraction:
    return Fraction(re.sub(r"[\s{}]", "", text))


def _exponent(text: str) -> int | None:
    digits = re.sub(r"[\s{}^]", "", text)
    return int(digits) if digits and len(digits) < 20 else None


def _negative(text: str, start: int, formula: bool) -> bool:
    """Whether a minus is the sign of the number, and not an operator or a dash."""
    before = text[max(0, start - 60) : start]
    bare = before.rstrip()
    if not bare.endswith("-") or bare.endswith("--"):
        return False
    head = bare[:-1]
    if formula:
        return not _OPERAND.search(head.rstrip()) or bool(
            re.search(r"\\(?:times|cdot|approx|pm|leq?|geq?)\Z", head.rstrip())
        )
    return bare == before and (not head or head[-1].isspace() or head[-1] in "([{=,|$")
