r"""Writes out commands of the package siunitx: `\SI{3e8}{\metre\per\second}` becomes `3 \times 10^{8}\,\mathrm{m/s}`."""

import re

from qagen_dagster.mathematics.units import SPELLED

_UNITS = {name: symbol.replace("\u03a9", r"\Omega") for name, symbol in SPELLED.items()} | {
    "degreeCelsius": r"\degree C", "celsius": r"\degree C", "weber": "Wb", "henry": "H", "becquerel": "Bq", "electronvolt": "eV",
    "bar": "bar", "day": "day", "radian": "rad",
}  # fmt: skip
_ARGUMENT_ONLY = {"percent": r"\%", "degree": r"\degree"}  # outside of an argument, these stay as they are
_PREFIXES = {
    "kilo": "k", "milli": "m", "micro": r"\mu ", "nano": "n", "pico": "p", "mega": "M", "giga": "G", "centi": "c",
}  # fmt: skip
_BEFORE, _AFTER = {"square": 2, "cubic": 3}, {"squared": 2, "cubed": 3}
_NAMES = "|".join((*_UNITS, *_PREFIXES, *_BEFORE, *_AFTER, "per"))
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
    r"""The text with numbers and upright units for the commands `\SI`, `\qty`, `\num`, `\ang`, `\si` and `\unit`, and for macros of units
    without a command. An argument that is not understood stays as it is."""
    text = _QUANTITY.sub(lambda one: f"{_number(one[1])}\\,{_unit(one[2])}", latex)
    text = _ANGLE.sub(r" \1 \\degree ", text)
    text = _UNIT.sub(lambda one: _unit(one[1]), _NUMBER.sub(lambda one: _number(one[1]), text))
    return _LOOSE.sub(lambda one: _unit(one[0]) if any(name in one[0] for name in _UNITS) else one[0], text)


def _number(text: str) -> str:
    return _POWER_OF_TEN.sub(r" \\times 10^{\1}", text.strip())


def _unit(text: str) -> str:
    r"""The upright unit. `\per` counts for the next unit only, as in siunitx."""
    if "\\" not in text:
        return rf"\mathrm{{{text.strip().replace('.', ' ').replace('~', ' ')}}}"
    parts: list[tuple[str, int]] = []
    prefix, power = "", 1
    for macro in _MACRO.finditer(text):
        name = macro[1] or ""
        if name in _PREFIXES:
            prefix = _PREFIXES[name]
        elif name == "per":
            power = -power
        elif name in _BEFORE:
            power *= _BEFORE[name]
        elif name in _AFTER or (name == "tothe" and macro[2]):
            parts[-1:] = [(symbol, old * (_AFTER.get(name) or int(macro[2]))) for symbol, old in parts[-1:]]
        elif symbol := (_UNITS | _ARGUMENT_ONLY).get(name):
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
