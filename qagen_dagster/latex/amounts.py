"""The amounts of a LaTeX text: its numbers with their units."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from qagen_dagster.latex.comparison import amounts_of
from qagen_dagster.mathematics.units import Unit
from qagen_dagster.mathematics.value_reading import known_unit

_DEGREE = r"\\degree(?![A-Za-z])(?:\s*(?:\\mathrm|\\text)?\s*\{?\s*C(?![A-Za-z])\}?)?"
_NAME = r"(?:[A-Za-z\u03a9\u00b5\u03bc%]{1,20}|\\%)"
_POWER = r"\$?\s*\^\s*(?:\{\s*-?\s*\d\s*\}|\d)\s*\$?"
_MORE = rf"(?:\s*(?:/|\bper\b)\s*{_NAME}(?:{_POWER})?|\s*{_NAME}{_POWER}|\s+(?:[nc]?m|s|h)(?![\w$']))"
_PROSE = re.compile(
    rf"[\s{{}}$-]{{0,4}}({_DEGREE}|(?:\\mu\s*\$\s*)?{_NAME}(?:{_POWER})?{_MORE}{{0,3}})(?!\w)"
)
_END = re.compile(r"\$|\\[)\]]|[,;=<>+&]|(?<![{^]) - |\\(?:leq?|geq?|approx|text(?:rm)?\s*\{\s+)(?![A-Za-z])")
ROMAN = re.compile(r"\\(?:mathrm|text|textrm|rm)\s*\{([^{}]{0,40}(?:\{[^{}]{0,20}\}[^{}]{0,20}){0,4})\}")
_LOOSE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]")
_MICRO = re.compile(r"\s*\\mu\s*\$\s*(?=[A-Za-z])")


@dataclass(frozen=True)
class Amount:
    """A number of a text. `unit` is None if no unit follows the number. `before` and `behind` are the texts around the number."""

    value: Fraction
    unit: Unit | None
    before: str = ""
    behind: str = ""

    @property
    def base(self) -> Fraction:
        """The value in base units. For a unit with a factor of pi, such as degrees, it is the value in that unit."""
        return self.value * self.unit.factor if self.unit is not None and not self.unit.pis else self.value

    @property
    def text(self) -> str:
        number = f"{float(self.value):.12g}"
        return f"{number} {self.unit.text}" if self.unit is not None else number

    def same(self, other: "Amount") -> bool:
        """Whether both are the same amount, also in units of another scale. If a unit is missing, the numbers are compared."""
        if self.unit is None or other.unit is None:
            return self.value == other.value
        alike = self.unit.comparable(other.unit) and self.unit.pis == other.unit.pis
        return alike and self.base == other.base


def amounts(latex: str) -> Iterator[Amount]:
    """The numbers in order, each with its unit. In a formula a unit must be upright, because an italic m is a symbol."""
    for value, before, behind, inside in amounts_of(latex):
        yield Amount(value, unit_at_start(behind, inside=inside), before, behind)


def without(some: Iterable[Amount], others: Collection[Amount]) -> list[Amount]:
    """The amounts of `some`, in order, that are the same as no amount of `others`."""
    return [one for one in some if not any(one.same(other) for other in others)]


@lru_cache(maxsize=1024)
def unit_at_start(behind: str, *, inside: bool) -> Unit | None:
    """The unit at the beginning of the text after a number; None if there is none. `inside` says whether the number is in a formula."""
    text = re.sub(r"\s+squared\b", "^2", behind.replace(r"\per ", "/").replace("per cent", "percent"))
    if inside:
        end = _END.search(text)
        formula = text[: end.start() if end else len(text)]
        if _MICRO.match(text):
            return _read("\u03bc" + (_PROSE.match(_MICRO.sub("", text, count=1)) or [""])[0])
        if formula.strip(" }"):
            return _upright(formula) if end else None
        if end is None or end.group() not in ("$", r"\)"):
            return None
        text = text[end.end() :]
        if opened := re.match(r"\s*\$", text):  # the unit is in a formula of its own
            return unit_at_start(text[opened.end() :], inside=True)
    if roman := re.match(rf"\s*{ROMAN.pattern}", text):
        return _read(roman.group(1))
    found = _PROSE.match(text)
    return _longest(found.group(1)) if found else None


def _longest(text: str) -> Unit | None:
    """The unit that the longest possible beginning of the text names; None if no beginning names one."""
    pieces = re.split(r"(\s+)", text.strip())
    for count in range(len(pieces), 0, -2):
        unit = _read("".join(pieces[:count]))
        if unit is not None:
            return unit
    return None


def _upright(formula: str) -> Unit | None:
    if _LOOSE.search(re.sub(r"\\[A-Za-z]+", "", ROMAN.sub("", formula.replace(r"\degree C", "")))):
        return None
    return _read(ROMAN.sub(lambda one: f" {one.group(1)} ", formula))


def _read(text: str) -> Unit | None:
    plain = text.replace("$", "").replace(r"\degree", "\u00b0").replace(r"\%", "%")
    unit = known_unit(plain if "^" in plain else re.sub(r"\\(?:mathrm|text)\s*", "", plain).strip(" {}"))
    return unit and unit.named(" ".join(text.replace("$", "").split()))
