"""Units of measurement as exact factors to base units.

The factors of SI units, and of units that are used with them, are from the SI Brochure, 9th edition. Degrees and radians are numbers,
so that 180 degrees equal pi.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.records.data_files import read_table

BASES = ("m", "kg", "s", "A", "K", "mol", "cd", "bit", "degC", "GBP", "EUR", "USD")
_Dimensions = tuple[int, ...]
_NONE: _Dimensions = (0,) * len(BASES)


@dataclass(frozen=True)
class Unit:
    """`factor` times pi to the power of `pis`, in base units to the powers `dimensions`; `text` is the spelling."""

    text: str
    factor: Fraction
    dimensions: _Dimensions = _NONE
    pis: int = 0

    def times(self, other: "Unit", power: int) -> "Unit":
        """This unit times an integer power of another."""
        dimensions = tuple(
            mine + power * theirs for mine, theirs in zip(self.dimensions, other.dimensions, strict=True)
        )
        return Unit(self.text, self.factor * other.factor**power, dimensions, self.pis + power * other.pis)

    def named(self, text: str) -> "Unit":
        return Unit(text, self.factor, self.dimensions, self.pis)

    def comparable(self, other: "Unit") -> bool:
        """Whether values in the two units can be equal."""
        return self.dimensions == other.dimensions


ONE = Unit("", Fraction(1))


def _dimensions(**powers: int) -> _Dimensions:
    return tuple(powers.get(base, 0) for base in BASES)


def _unit(factor: str | int = 1, pis: int = 0, **powers: int) -> Unit:
    return Unit("", Fraction(factor), _dimensions(**powers), pis)


_TABLES = read_table(__package__, "units.toml")
_PREFIXES: dict[str, int] = _TABLES["prefixes"]
_PREFIXED = {name: _unit(**row) for name, row in _TABLES["prefixed"].items()}  # units that may have a prefix
_WHOLE = {name: _unit(**row) for name, row in _TABLES["whole"].items()}  # units without prefixes
SPELLED: dict[str, str] = _TABLES["spelled"]
_JOINED = {"kmh": (("km", 1), ("h", -1)), "Nm": (("N", 1), ("m", 1))}
INVERTED = {"ms": (("m", 1), ("s", -1))}  # British papers write "ms^{-1}" for metres per second


_OHM = re.compile(
    r"(?:\\(?:mathrm|text|textrm|rm)\s*\{\s*([kMGmn])\s*\}|(?<![A-Za-z\\{])([kMG]))\s*(\$?)\s*\\Omega(?![A-Za-z])\s*\3"
)


def joined_ohms(latex: str) -> str:
    r"""The text with `\mathrm{k}\Omega`, `k\Omega` and `k$\Omega$` as `\mathrm{k\Omega}`."""
    return _OHM.sub(lambda one: f"{one[3]}\\mathrm{{{one[1] or one[2]}\\Omega }}{one[3]}", latex)


def named_unit(word: str) -> Unit | None:
    """The unit of that name or symbol, singular or plural; None for other words."""
    if word in _WHOLE:
        return _WHOLE[word].named(word)
    if word in _PREFIXED:
        return _PREFIXED[word].named(word)
    if word[:1] in _PREFIXES and word[1:] in _PREFIXED:
        scale = Fraction(10) ** _PREFIXES[word[0]]
        return Unit(word, scale, _NONE).times(_PREFIXED[word[1:]], 1)
    if word in _JOINED:
        return product(word, _JOINED[word])
    lower = word.lower()
    for name in (lower, lower.removesuffix("s"), lower.removesuffix("es")):
        if name in SPELLED:
            found = named_unit(SPELLED[name])
            return found.named(word) if found else None
        if len(name) > 2 and name in _WHOLE:
            return _WHOLE[name].named(word)
    return None


def product(text: str, parts: Iterable[tuple[str, int]]) -> Unit:
    """The product of powers of named units, spelled `text`. Names that are not units are left out."""
    unit = Unit(text, Fraction(1))
    for name, power in parts:
        found = named_unit(name)
        if found is not None:
            unit = unit.times(found, power)
    return unit
