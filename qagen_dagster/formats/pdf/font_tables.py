"""The symbols that fonts draw for codes whose characters the file does not state, in symbol fonts and in the fonts of TeX.

A code arrives as the character of that number: a control character, a letter, or one of the private area (U+F000 and the code).
"""

import re
from functools import cache


def _codes(codes: str, signs: str) -> dict[int, str]:
    return dict(zip(map(ord, codes), signs, strict=True))


_GREEK_OF_ASCII = (
    "abgdezhqiklmnxoprstufcywABGDEZHQIKLMNXOPRSTUFCYW",
    "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba\u03bb\u03bc\u03bd\u03be\u03bf\u03c0\u03c1\u03c3\u03c4"
    "\u03c5\u03c6\u03c7\u03c8\u03c9\u0391\u0392\u0393\u0394\u0395\u0396\u0397\u0398\u0399\u039a\u039b\u039c\u039d\u039e"
    "\u039f\u03a0\u03a1\u03a3\u03a4\u03a5\u03a6\u03a7\u03a8\u03a9",
)
_GREEK = _codes(*_GREEK_OF_ASCII)
# The codes of Adobe's Symbol font from 0x20 and from 0xA0, at which it differs from ASCII and from Latin.
_SYMBOL_LOW = (
    " !\u2200#\u2203%&\u220b()\u2217+,\u2212./0123456789:;<=>?\u2245\u0391\u0392\u03a7\u0394\u0395\u03a6\u0393\u0397\u0399\u03d1\u039a"
    "\u039b\u039c\u039d\u039f\u03a0\u0398\u03a1\u03a3\u03a4\u03a5\u03c2\u03a9\u039e\u03a8\u0396[\u2234]\u22a5_\u203e\u03b1\u03b2\u03c7"
    "\u03b4\u03b5\u03c6\u03b3\u03b7\u03b9\u03d5\u03ba\u03bb\u03bc\u03bd\u03bf\u03c0\u03b8\u03c1\u03c3\u03c4\u03c5\u03d6\u03c9\u03be\u03c8"
    "\u03b6{|}\u223c"
)
_SYMBOL_HIGH = (
    "\u20ac\u03d2\u2032\u2264\u2044\u221e\u0192\u2663\u2666\u2665\u2660\u2194\u2190\u2191\u2192\u2193\u00b0\u00b1\u2033\u2265\u00d7\u221d"
    "\u2202\u2022\u00f7\u2260\u2261\u2248\u2026\u23d0\u2014\u21b5\u2135\u2111\u211c\u2118\u2297\u2295\u2205\u2229\u222a\u2283\u2287\u2284"
    "\u2282\u2286\u2208\u2209\u2220\u2207\u00ae\u00a9\u2122\u220f\u221a\u22c5\u00ac\u2227\u2228\u21d4\u21d0\u21d1\u21d2\u21d3\u25ca\u27e8"
    "\u00ae\u00a9\u2122\u2211\u239b\u239c\u239d\u23a1\u23a2\u23a3\u23a7\u23a8\u23a9\u23aa\ufffd\u27e9\u222b\u2320\u23ae\u2321\u239e\u239f"
    "\u23a0\u23a4\u23a5\u23a6\u23ab\u23ac\u23ad"
)
_SYMBOL = {0xF020 + n: sign for n, sign in enumerate(_SYMBOL_LOW)} | {
    0xF0A0 + n: sign for n, sign in enumerate(_SYMBOL_HIGH)
}
_WINGDING_CODES = "x\xa8oq\xfe\xfd\xfcln\xa7uv\xd8\xe0\xe8\xf0"
_WINGDINGS = _codes(
    _WINGDING_CODES + "".join(chr(0xF000 + ord(code)) for code in _WINGDING_CODES),
    2 * "\u2612\u2610\u2610\u2610\u2611\u2612\u2713\u25cf\u25a0\u25aa\u25c6\u2756\u27a2\u2192\u2794\u21e8",
)
_PI = _GREEK | _codes("123456,.", "+\u2212\u00d7\u00f7=\u00b1<>")
# The first 32 codes of the encodings of TeX: text, letters of formulas, symbols, large brackets.
_OT1 = "\u0393\u0394\u0398\u039b\u039e\u03a0\u03a3\u03a5\u03a6\u03a8\u03a9|ff|fi|fl|ffi|ffl|\u0131|\u0237|`|\u00b4|\u02c7|\u02d8|\u00af|\u02da|\u00b8|\u00df|\u00e6|\u0153|\u00f8|\u00c6|\u0152|\u00d8"
_OML = (
    "\u0393\u0394\u0398\u039b\u039e\u03a0\u03a3\u03a5\u03a6\u03a8\u03a9\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba"
    "\u03bb\u03bc\u03bd\u03be\u03c0\u03c1\u03c3\u03c4\u03c5\u03c6\u03c7"
)
_OMS = (
    "\u2212\u00b7\u00d7\u2217\u00f7\u22c4\u00b1\u2213\u2295\u2296\u2297\u2298\u2299\u25ef\u2218\u2022\u224d\u2261\u2286\u2287\u2264\u2265"
    "\u2aaf\u2ab0\u223c\u2248\u2282\u2283\u226a\u226b\u227a\u227b"
)
_OMX = "()[]\u230a\u230b\u2308\u2309{}\u27e8\u27e9|\u2016/\\()()[]\u230a\u230b\u2308\u2309{}\u27e8\u27e9"
_T1 = "`\u00b4\u02c6\u02dc\u00a8\u02dd\u02da\u02c7\u02d8\u00af\u02d9\u00b8\u02db\u201a\u2039\u203a\u201c\u201d\u201e\u00ab\u00bb\u2013\u2014|\ufffd|\u2080|\u0131|\u0237|ff|fi|fl|ffi|ffl"


def _from_zero(signs: str) -> dict[int, str]:
    head, *rest = signs.split("|") if signs.count("|") > 2 else (signs,)
    return dict(enumerate([*head, *rest]))


_TABLES: dict[re.Pattern[str], dict[int, str]] = {
    re.compile("MathematicalPi"): _PI,
    re.compile(r"Symbol(?:MT|PS|Std|\b)"): {**_GREEK, **_SYMBOL},
    re.compile("Wingdings"): _WINGDINGS,
    re.compile("Dingbats"): {0x13: "\u2713", 0x14: "\u2714", 0x17: "\u2717", 0x18: "\u2718"},
    re.compile(r"(?:CM|MS|EU)(?:B?SY|SY)\d*|(?:tx|px)sy|MTSY"): _from_zero(_OMS),
    re.compile(r"CM(?:MIB?|BMI)\d*|(?:tx|px)mi\b"): _from_zero(_OML),
    re.compile(r"CMEX\d*|(?:tx|px)ex\b"): dict(enumerate(_OMX)),
    re.compile(r"CM[A-Z]+\d+"): _from_zero(_OT1),
    re.compile(r"(?:SF|EC|LM)[A-Z]{2,4}\d+|LMRoman"): _from_zero(_T1),
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
