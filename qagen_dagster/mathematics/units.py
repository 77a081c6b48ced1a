"""Units of measurement as exact factors to base units.

Factors are those of the SI Brochure, 9th edition. Degrees and radians are numbers, so that 180 degrees equal pi.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

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

    def times(self, other: Unit, power: int) -> Unit:
        """This unit times an integer power of another."""
        dimensions = tuple(
            mine + power * theirs for mine, theirs in zip(self.dimensions, other.dimensions, strict=True)
        )
        return Unit(self.text, self.factor * other.factor**power, dimensions, self.pis + power * other.pis)

    def named(self, text: str) -> Unit:
        return Unit(text, self.factor, self.dimensions, self.pis)

    def comparable(self, other: Unit) -> bool:
        """Whether values in the two units can be equal."""
        return self.dimensions == other.dimensions


ONE = Unit("", Fraction(1))


def _dimensions(**powers: int) -> _Dimensions:
    return tuple(powers.get(base, 0) for base in BASES)


def _unit(factor: str | int, pis: int = 0, **powers: int) -> Unit:
    return Unit("", Fraction(factor), _dimensions(**powers), pis)


_PREFIXES = {
    "p": -12, "n": -9, "u": -6, "\u03bc": -6, "\u00b5": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9, "T": 12,
}  # fmt: skip
_PREFIXED = {
    "m": _unit(1, m=1), "g": _unit("1/1000", kg=1), "s": _unit(1, s=1), "A": _unit(1, A=1), "mol": _unit(1, mol=1), "K": _unit(1, K=1),
    "N": _unit(1, kg=1, m=1, s=-2), "J": _unit(1, kg=1, m=2, s=-2), "W": _unit(1, kg=1, m=2, s=-3), "Pa": _unit(1, kg=1, m=-1, s=-2),
    "Hz": _unit(1, s=-1), "C": _unit(1, A=1, s=1), "V": _unit(1, kg=1, m=2, s=-3, A=-1), "F": _unit(1, kg=-1, m=-2, s=4, A=2),
    "T": _unit(1, kg=1, s=-2, A=-1), "Wb": _unit(1, kg=1, m=2, s=-2, A=-1), "H": _unit(1, kg=1, m=2, s=-2, A=-2), "Bq": _unit(1, s=-1),
    "Wh": _unit(3600, kg=1, m=2, s=-2), "bar": _unit(100000, kg=1, m=-1, s=-2), "eV": _unit("1.602176634e-19", kg=1, m=2, s=-2),
    "L": _unit("1/1000", m=3), "l": _unit("1/1000", m=3), "\u03a9": _unit(1, kg=1, m=2, s=-3, A=-2), "\u2126": _unit(1, kg=1, m=2, s=-3, A=-2),
    "ohm": _unit(1, kg=1, m=2, s=-3, A=-2),
}  # fmt: skip
_WHOLE = {
    "%": _unit("1/100"), "percent": _unit("1/100"), "per cent": _unit("1/100"), "\u00b0": _unit("1/180", 1), "degree": _unit("1/180", 1),
    "degrees": _unit("1/180", 1), "deg": _unit("1/180", 1), "rad": _unit(1), "radian": _unit(1), "radians": _unit(1), "\u00b0C": _unit(1, degC=1),
    "min": _unit(60, s=1), "h": _unit(3600, s=1), "hr": _unit(3600, s=1), "rpm": _unit("1/60", s=-1), "rev": _unit(1), "revolution": _unit(1),
    "day": _unit(86400, s=1), "year": _unit(31557600, s=1), "atm": _unit(101325, kg=1, m=-1, s=-2), "week": _unit(604800, s=1),
    "tonne": _unit(1000, kg=1), "hectare": _unit(10000, m=2), "inch": _unit("0.0254", m=1), "foot": _unit("0.3048", m=1),
    "feet": _unit("0.3048", m=1), "ft": _unit("0.3048", m=1), "mile": _unit("1609.344", m=1), "mph": _unit("0.44704", m=1, s=-1),
    "bit": _unit(1, bit=1), "byte": _unit(8, bit=1), "\u00a3": _unit(1, GBP=1), "pence": _unit("1/100", GBP=1), "\u20ac": _unit(1, EUR=1),
    "dollar": _unit(1, USD=1), "cent": _unit("1/100", USD=1),
}  # fmt: skip
SPELLED = {
    "metre": "m", "meter": "m", "kilometre": "km", "kilometer": "km", "centimetre": "cm", "centimeter": "cm",
    "millimetre": "mm", "millimeter": "mm", "gram": "g", "kilogram": "kg", "second": "s", "sec": "s", "minute": "min",
    "hour": "h", "newton": "N", "joule": "J", "kilojoule": "kJ", "watt": "W", "kilowatt": "kW", "pascal": "Pa",
    "hertz": "Hz", "coulomb": "C", "volt": "V", "amp": "A", "ampere": "A", "kelvin": "K", "mole": "mol", "litre": "L",
    "liter": "L", "farad": "F", "tesla": "T", "ohm": "\u03a9", "pound": "\u00a3", "euro": "\u20ac", "kph": "kmh",
}  # fmt: skip
_JOINED = {"kmh": (("km", 1), ("h", -1)), "Nm": (("N", 1), ("m", 1))}
INVERTED = {"ms": ("m", "s")}  # British papers write "ms^{-1}" for metres per second


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
        return _product(word)
    lower = word.lower()
    for name in (lower, lower.removesuffix("s"), lower.removesuffix("es")):
        if name in SPELLED:
            found = named_unit(SPELLED[name])
            return found.named(word) if found else None
        if len(name) > 2 and name in _WHOLE:
            return _WHOLE[name].named(word)
    return None


def _product(word: str) -> Unit:
    unit = Unit(word, Fraction(1))
    for name, power in _JOINED[word]:
        found = named_unit(name)
        if found is not None:
            unit = unit.times(found, power)
    return unit
