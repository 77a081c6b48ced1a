r"""Checks what a context variant must keep besides its bare numbers: the scale of units, and the signs of given relations.

Only clear cases are faults: units that can be read on both sides, and formulas with a number that differ from the source's only
in a sign, whatever their symbols are called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from qagen_dagster.latex.content import amounts_of, numbers_of, without_layout
from qagen_dagster.mathematics.reading import read_unit
from qagen_dagster.mathematics.units import ONE, Unit

_DEGREE = r"\\degree(?![A-Za-z])(?:\s*(?:\\mathrm|\\text)?\s*\{?\s*C(?![A-Za-z])\}?)?"
_NAME = r"(?:[A-Za-z\u03a9\u00b5\u03bc%]{1,20}|\\%)"
_RAISED = r"(?:\$?\s*\^\s*(?:\{\s*-?\s*\d\s*\}|\d)\s*\$?)?"
_PROSE = re.compile(rf"[\s{{}}$-]{{0,4}}({_DEGREE}|{_NAME}{_RAISED}(?:\s*(?:/|\bper\b)\s*{_NAME}{_RAISED})?)")
_END = re.compile(r"\$|\\[)\]]|[,;=<>+&]|(?<![{^]) - |\\(?:leq?|geq?|approx|text(?:rm)?\s*\{\s+)(?![A-Za-z])")
_ROMAN = re.compile(r"\\(?:mathrm|text|textrm|rm)\s*\{([^{}]{0,40}(?:\{[^{}]{0,20}\}[^{}]{0,20}){0,4})\}")
_LOOSE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]")
_Scale = tuple[Fraction, int]

_DISPLAY = re.compile(r"\\(?:begin|end)[ \t]*\{(?:equation|align|gather|displaymath|multline)\*?\}")
_FORMULA = re.compile(
    r"\$\$?([^$]{1,400})\$|\\\(((?:[^\\]|\\[^)]){1,400})\\\)|\\\[((?:[^\\]|\\[^\]]){1,400})\\\]"
)
_SIDE = re.compile(r"=|\\(?:approx|simeq|equiv|propto|quad|to)(?![A-Za-z])|[,;:&]")
_DROPPED = re.compile(
    r"\\(?:vec|hat|bar|dot|ddot|tilde|overrightarrow|mathbf|boldsymbol|bm|mathit|cdot|times)(?![A-Za-z])|_\s*(?:\{[^{}]{0,60}\}|\\[A-Za-z]+|\S)|[{}\s~*]"
)
_PIECE = re.compile(
    r"(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<more>\\(?:geq?|geqslant)(?![A-Za-z])|>)|(?P<less>\\(?:leq?|leqslant)(?![A-Za-z])|<)"
    r"|(?P<kept>\\(?:d?frac|sqrt|sin|cos|tan|log|ln|exp|int|sum|pm|mp)(?![A-Za-z]))|(?P<symbol>\\[A-Za-z]+|[^\W\d_])|(?P<other>\S)"
)
_SUBSCRIPT = r"\{?(?:\\(?:mathrm|text|rm)\s*\{?\s*)?"
_CONSTANT = re.compile(
    r"\s*(?P<symbol>g|G|c|h|e|k|R|\\hbar|\\sigma"
    rf"|(?:[gck]|\\(?:var)?epsilon|\\mu)_{_SUBSCRIPT}[0eB][\s}}]*|N_{_SUBSCRIPT}A[\s}}]*|m_{_SUBSCRIPT}[epn][\s}}]*)"
    r"\s*(?:=|\\approx(?![A-Za-z])|\\simeq(?![A-Za-z]))(?P<value>.+)",
    re.DOTALL,
)
_OTHER = {"+": "-", "-": "+", "<": ">", ">": "<"}


def named_constants(source: str, solution: str, variant: str) -> Iterator[Fraction]:
    r"""Values of constants, such as `$g = 9.8\,\mathrm{m\,s^{-2}}$`, that a variant names and that only the solution of its source has."""
    told, worked = dict(_constants(source)), dict(_constants(solution))
    only_worked = set(numbers_of(solution)) - set(numbers_of(source))
    for symbol, value in dict(_constants(variant)).items():
        if symbol not in told and (worked.get(symbol) == value or value in only_worked):
            yield value


def _constants(latex: str) -> Iterator[tuple[str, Fraction]]:
    """Symbols of constants with the values in formulas."""
    for formula in _FORMULA.finditer(without_layout(latex)):
        for side in re.split(r"[,;]", next(filter(None, formula.groups()))):
            found = _CONSTANT.fullmatch(side)
            values = numbers_of(f"${found.group('value')}$") if found else ()
            if found and len(values) == 1:
                yield re.sub(r"[\s{}]|\\(?:mathrm|text|rm)(?![A-Za-z])", "", found.group("symbol")), values[0]


def given_faults(source: str, variant: str) -> Iterator[str]:
    """Values with a unit of another scale than in the source, and relations with another sign."""
    yield from _scales(source, variant)
    old, new = _relations(source), _relations(variant)
    before = Counter({side: len(written) for side, written in old.items()})
    after = Counter({side: len(written) for side, written in new.items()})
    lost, come = before - after, after - before
    for pieces in come:
        for one in lost:
            if _turned(one, pieces):
                yield f"a given relation has another sign: {old[one][0]} became {new[pieces][0]}"
                return


def _scales(source: str, variant: str) -> Iterator[str]:
    before, after = _units(source), _units(variant)
    for value, mine in before.items():
        theirs = after.get(value, [])
        if len(mine) != len(theirs):
            continue
        for one in mine:
            same_kind = [
                unit for unit in theirs if unit is not None and one is not None and unit.comparable(one)
            ]
            if one is not None and same_kind and _lost(one, mine, theirs):
                yield f"the value {value} is in {one.text} in the source; here it is in {same_kind[0].text}"
                return


def _lost(unit: Unit, before: Sequence[Unit | None], after: Sequence[Unit | None]) -> bool:
    """Whether the values cannot be the same, even if each value with an unreadable unit is right."""
    old, new = _kind(unit, before), _kind(unit, after)
    more, fewer = sum((old - new).values()), sum((new - old).values())
    return more > len(after) - sum(new.values()) or fewer > len(before) - sum(old.values())


def _kind(unit: Unit, units: Sequence[Unit | None]) -> Counter[_Scale]:
    return Counter((one.factor, one.pis) for one in units if one is not None and one.comparable(unit))


def _units(latex: str) -> dict[Fraction, list[Unit | None]]:
    """The units of each value; None for an unreadable unit."""
    found: dict[Fraction, list[Unit | None]] = {}
    for value, behind, inside in amounts_of(latex):
        found.setdefault(value, []).append(_unit(behind, inside=inside))
    return found


def _unit(behind: str, *, inside: bool) -> Unit | None:
    """The unit at the beginning of a text. In a formula a unit is upright: m in italics is a symbol."""
    text = behind.replace(r"\per ", "/")
    if inside:
        end = _END.search(text)
        formula = text[: end.start() if end else len(text)]
        if formula.strip(" }"):
            return _upright(formula) if end else None
        if end is None or end.group() not in ("$", r"\)"):
            return None
        text = text[end.end() :]
    found = _PROSE.match(text)
    return _read(found.group(1)) if found else None


def _upright(formula: str) -> Unit | None:
    if _LOOSE.search(re.sub(r"\\[A-Za-z]+", "", _ROMAN.sub("", formula.replace(r"\degree C", "")))):
        return None
    return _read(_ROMAN.sub(lambda one: f" {one.group(1)} ", formula))


def _read(text: str) -> Unit | None:
    plain = text.replace("$", "").replace(r"\degree", "\u00b0").replace(r"\%", "%")
    try:
        unit = read_unit(
            re.sub(r"\\(?:mathrm|text)\s*", "", plain).strip(" {}") if "^" not in plain else plain
        )
    except ValueError:
        return None
    return None if unit == ONE else unit.named(" ".join(text.replace("$", "").split()))


def _relations(latex: str) -> dict[tuple[str, ...], list[str]]:
    """The sides of formulas that contain a number and a sign between two terms, with normalized symbols, each with its text."""
    found: dict[tuple[str, ...], list[str]] = {}
    for formula in _FORMULA.finditer(without_layout(_DISPLAY.sub("$$", latex))):
        for side in _SIDE.split(next(filter(None, formula.groups()))):
            pieces = tuple(_pieces(side))
            if any(one[0].isdigit() for one in pieces) and any(_signs(pieces)):
                found.setdefault(pieces, []).append(" ".join(side.split()))
    return found


def _pieces(side: str) -> Iterator[str]:
    last = ""
    for piece in _PIECE.finditer(_DROPPED.sub(" ", _ROMAN.sub(" ", side))):
        kind, text = piece.lastgroup, piece.group()
        shown = {"more": ">", "less": "<", "symbol": "x"}.get(kind or "", text)
        if kind == "number":
            shown = str(Fraction(text))
        if shown != "x" or last != "x":
            yield shown
        last = shown


def _signs(pieces: Sequence[str]) -> Iterator[int]:
    """The positions of signs between two terms."""
    for place, one in enumerate(pieces[1:-1], 1):
        if one in _OTHER and (
            pieces[place - 1] == "x" or pieces[place - 1][0].isdigit() or pieces[place - 1] in ")]|'"
        ):
            yield place


def _turned(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the two differ only in signs between terms."""
    if len(before) != len(after):
        return False
    places = set(_signs(before)) & set(_signs(after))
    differ = [place for place, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    return bool(differ) and all(place in places and _OTHER[before[place]] == after[place] for place in differ)
