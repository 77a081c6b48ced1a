"""The symbols that symbol fonts and TeX's fonts draw for codes for which the file states no character.

The library gives such a code as the character with that number (a control character or a letter), or as U+F000 plus the code.
"""

import re
from functools import cache

from qagen_dagster.records.data_files import read_table


def _codes(codes: str, signs: str) -> dict[int, str]:
    return dict(zip(map(ord, codes), signs, strict=True))


_SIGNS: dict[str, str] = read_table(__package__, "font_tables.toml")
_GREEK = _codes(_SIGNS["letters"], _SIGNS["greek"])
_SYMBOL = {0xF020 + n: sign for n, sign in enumerate(_SIGNS["low"])} | {
    0xF0A0 + n: sign for n, sign in enumerate(_SIGNS["high"])
}
_WINGDING_CODES = "x\xa8oq\xfe\xfd\xfcln\xa7uv\xd8\xe0\xe8\xf0"
_WINGDINGS = _codes(
    _WINGDING_CODES + "".join(chr(0xF000 + ord(code)) for code in _WINGDING_CODES),
    2 * "\u2612\u2610\u2610\u2610\u2611\u2612\u2713\u25cf\u25a0\u25aa\u25c6\u2756\u27a2\u2192\u2794\u21e8",
)
_PI = _GREEK | _codes("123456,.", "+\u2212\u00d7\u00f7=\u00b1<>")


def _from_zero(signs: str) -> dict[int, str]:
    head, *rest = signs.split("|")
    return dict(enumerate([*head, *rest]))


_TABLES: dict[re.Pattern[str], dict[int, str]] = {
    re.compile("MathematicalPi"): _PI,
    re.compile(r"Symbol(?:MT|PS|Std|\b)"): {**_GREEK, **_SYMBOL},
    re.compile("Wingdings"): _WINGDINGS,
    re.compile("Dingbats"): {0x13: "\u2713", 0x14: "\u2714", 0x17: "\u2717", 0x18: "\u2718"},
    re.compile(r"(?:CM|MS|EU)(?:B?SY|SY)\d*|(?:tx|px)sy|MTSY"): _from_zero(_SIGNS["oms"]),
    re.compile(r"CM(?:MIB?|BMI)\d*|(?:tx|px)mi\b"): _from_zero(_SIGNS["oml"]),
    re.compile(r"CMEX\d*|(?:tx|px)ex\b"): dict(enumerate(_SIGNS["omx"])),
    re.compile(r"CM[A-Z]+\d+"): _from_zero(_SIGNS["ot1"]),
    re.compile(r"(?:SF|EC|LM)[A-Z]{2,4}\d+|LMRoman"): _from_zero(_SIGNS["t1"]),
}
_NONE: dict[int, str] = {}
_LETTERS = ("MathematicalPi", "Symbol", "Wingdings")  # families that draw symbols for the codes of letters


@cache
def table_of(family: str) -> dict[int, str]:
    """By code, the symbols of a font; empty for a font of ordinary letters."""
    return next((table for name, table in _TABLES.items() if name.search(family)), _NONE)


@cache
def has_symbols(fonts: frozenset[str]) -> bool:
    """Whether any font draws symbols for the codes of letters."""
    return any(name in font and table_of(font) for font in fonts for name in _LETTERS)
