r"""Units of measurement as exact factors to base units, and the commands of siunitx (`written_out`).

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


def _unit(factor: str | int = 1, pis: int = 0, **powers: int) -> Unit:
    return Unit("", Fraction(factor), tuple(powers.get(base, 0) for base in BASES), pis)


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


_UNIT_MACROS = {name: symbol.replace("\u03a9", r"\Omega") for name, symbol in SPELLED.items()} | {
    "degreeCelsius": r"\degree C", "celsius": r"\degree C", "weber": "Wb", "henry": "H", "becquerel": "Bq", "electronvolt": "eV",
    "bar": "bar", "day": "day", "radian": "rad",
}  # fmt: skip
_ARGUMENT_ONLY = {"percent": r"\%", "degree": r"\degree"}  # outside of an argument, these stay as they are
_PREFIX_MACROS = {
    "kilo": "k", "milli": "m", "micro": r"\mu ", "nano": "n", "pico": "p", "mega": "M", "giga": "G", "centi": "c",
}  # fmt: skip
_BEFORE, _AFTER = {"square": 2, "cubic": 3}, {"squared": 2, "cubed": 3}
_NAMES = "|".join((*_UNIT_MACROS, *_PREFIX_MACROS, *_BEFORE, *_AFTER, "per"))
_GROUP = r"\{((?:[^{}]|\{[^{}]{0,40}\}){0,200})\}"
_OPTION = r"(?![A-Za-z])\s*(?:\[[^\[\]]{0,200}\]\s*)?"
_QUANTITY = re.compile(rf"\\(?:SI|qty){_OPTION}{_GROUP}\s*{_GROUP}")
_NUMBER = re.compile(rf"\\num{_OPTION}{_GROUP}")
_ANGLE = re.compile(rf"\\ang{_OPTION}\{{([^{{}};]{{0,40}})\}}")
_UNIT = re.compile(rf"\\(?:si|unit){_OPTION}{_GROUP}")
_LOOSE = re.compile(rf"(?:\\(?:{_NAMES})(?![A-Za-z])\s*)+")  # macros of units outside of a command
_MACRO = re.compile(r"\\([A-Za-z]+)(?:\s*\{\s*([-+]?\d)\s*\})?|[^\s.~]")
_POWER_OF_TEN = re.compile(r"(?<=[\d.])\s*[eE]\s*\+?(-?\d{1,3})")


def written_out(latex: str) -> str:
    r"""The text with numbers and upright units for siunitx's commands `\SI`, `\qty`, `\num`, `\ang`, `\si` and `\unit`, and for macros of units
    without a command. An argument that is not understood stays as it is."""
    text = _QUANTITY.sub(lambda one: f"{_plain_number(one[1])}\\,{_upright(one[2])}", latex)
    text = _ANGLE.sub(r" \1 \\degree ", text)
    text = _UNIT.sub(lambda one: _upright(one[1]), _NUMBER.sub(lambda one: _plain_number(one[1]), text))
    return _LOOSE.sub(
        lambda one: _upright(one[0]) if any(name in one[0] for name in _UNIT_MACROS) else one[0], text
    )


def _plain_number(text: str) -> str:
    return _POWER_OF_TEN.sub(r" \\times 10^{\1}", text.strip())


def _upright(text: str) -> str:
    r"""The upright unit. `\per` counts for the next unit only, as in siunitx."""
    if "\\" not in text:
        return rf"\mathrm{{{text.strip().replace('.', ' ').replace('~', ' ')}}}"
    parts: list[tuple[str, int]] = []
    prefix, power = "", 1
    for macro in _MACRO.finditer(text):
        name = macro[1] or ""
        if name in _PREFIX_MACROS:
            prefix = _PREFIX_MACROS[name]
        elif name == "per":
            power = -power
        elif name in _BEFORE:
            power *= _BEFORE[name]
        elif name in _AFTER or (name == "tothe" and macro[2]):
            parts[-1:] = [(symbol, old * (_AFTER.get(name) or int(macro[2]))) for symbol, old in parts[-1:]]
        elif symbol := (_UNIT_MACROS | _ARGUMENT_ONLY).get(name):
            parts.append((prefix + symbol, power))
            prefix, power = "", 1
        elif name not in ("cdot", "of"):
            return rf"\mathrm{{{text.strip()}}}"
    text = ""
    for symbol, power in parts:
        below = power < 0 and text != ""
        raised = abs(power) if below else power
        text += ("/" if below else " " if text else "") + (
            symbol if raised == 1 else f"{symbol}^{{{raised}}}"
        )
    return rf"\mathrm{{{text}}}"
