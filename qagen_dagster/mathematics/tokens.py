"""The tokenizer of an option's text, plain or LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

LONGEST = 400  # characters; options are short, and a limit bounds the time

_REPLACED = {
    "\u2212": "-", "\u2013": "-", "\u00d7": "\\times ", "\u00b7": "\\cdot ", "\u22c5": "\\cdot ", "\u00f7": "/",
    "\u221a": "\\sqrt ", "\u00bd": "\\frac{1}{2}", "\u00bc": "\\frac{1}{4}", "\u00be": "\\frac{3}{4}",
    "\u2153": "\\frac{1}{3}", "\u2154": "\\frac{2}{3}", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "{,}": ",",
    "\\left": "", "\\right": "", "\\displaystyle": "", "\\limits": "", "\\dfrac": "\\frac", "\\tfrac": "\\frac",
    "\\cfrac": "\\frac", "\\(": "$", "\\)": "$", "\\[": "$", "\\]": "$", "$$": "$", "\\%": "%", "\\textdegree": "\u00b0",
    "\\degree": "\u00b0", "\\circ": "\u00b0", "\\pounds": "\u00a3", "\\euro": "\u20ac", "\\Omega": "\u03a9",
    "\\micro": "\u03bc", "\\thinspace": " ", "\\quad": " ", "\\,": " ", "\\;": " ", "\\:": " ", "\\!": "", "\\ ": " ", "~": " ",
    "\\ln": "\\ln ", "\\lvert": "|", "\\rvert": "|",
}  # fmt: skip
_RAISED = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a", "0123456789-+"
)
_RAISED_RUN = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a\u207b]+")
_GREEK = {
    "\u03b1": "alpha", "\u03b2": "beta", "\u03b3": "gamma", "\u03b4": "delta", "\u03b8": "theta", "\u03bb": "lambda",
    "\u03bc": "mu", "\u03c1": "rho", "\u03c3": "sigma", "\u03c4": "tau", "\u03c6": "phi", "\u03c9": "omega", "\u03c0": "pi",
}  # fmt: skip
_ROMAN = re.compile(r"\\(?:text|mathrm|textrm|operatorname|mbox|unit|si)\s*\{")
_PIECE = re.compile(
    r"(?P<space>\s+)|(?P<number>\d{1,3}(?:[, ]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|(?P<command>\\[A-Za-z]+)"
    r"|(?P<word>[A-Za-z\u03a9\u2126\u03bc\u00b5\u0370-\u03ff]+)|(?P<mark>.)",
    re.DOTALL,
)


_ALWAYS_UNITS = ("\u03a9", "\u2126")


class Kind(StrEnum):
    NUMBER = "number"
    COMMAND = "command"  # without the backslash
    WORD = "word"  # letters outside mathematics: a unit, a function's name or a word
    LETTER = "letter"  # one letter inside mathematics
    MARK = "mark"


@dataclass(frozen=True)
class Token:
    """`spaced` says whether a blank precedes it."""

    kind: Kind
    text: str
    spaced: bool = False


def tokens(text: str) -> list[Token]:
    """The tokens of `text`. Letters are mathematics inside `$...$`, or everywhere in a LaTeX text without `$`."""
    inside = "$" not in text and "\\(" not in text and "\\" in text
    for old, new in _REPLACED.items():
        text = text.replace(old, new)
    text = _RAISED_RUN.sub(lambda run: f"^{{{run.group().translate(_RAISED)}}}", text).strip()
    found: list[Token] = []
    for part in re.split(r"(\$)", text):
        if part == "$":
            inside = not inside
        else:
            found += _tokens_of(part, inside)
    return found


def _tokens_of(part: str, mathematics: bool) -> list[Token]:
    found: list[Token] = []
    place = 0
    for roman in _ROMAN.finditer(part):
        if roman.start() < place:
            continue
        end = _closing(part, roman.end())
        found += _scan(part[place : roman.start()], mathematics, roman=False)
        found += _scan(f" {part[roman.end() : end]} ", mathematics, roman=True)
        place = end + 1
    return found + _scan(part[place:], mathematics, roman=False)


def _closing(part: str, place: int) -> int:
    """The position of the brace that closes the one before `place`; the text's end if there is none."""
    depth = 1
    for here in range(place, len(part)):
        depth += {"{": 1, "}": -1}.get(part[here], 0)
        if depth == 0:
            return here
    return len(part)


def _scan(part: str, mathematics: bool, *, roman: bool) -> list[Token]:
    found: list[Token] = []
    spaced = True
    for piece in _PIECE.finditer(part):
        kind, text = str(piece.lastgroup), piece.group()
        if kind == "space":
            spaced = True
            continue
        found += _pieces(kind, text, spaced, letters=mathematics and not roman)
        spaced = False
    return found


def _pieces(kind: str, text: str, spaced: bool, *, letters: bool) -> list[Token]:
    if kind == "command":
        return [Token(Kind.COMMAND, text[1:], spaced)]
    if kind == "number":
        return [Token(Kind.NUMBER, text.replace(",", "").replace(" ", ""), spaced)]
    if kind == "word" and text in _GREEK and text not in "\u03bc":
        return [Token(Kind.COMMAND, _GREEK[text], spaced)]
    if kind == "word" and letters and text not in _ALWAYS_UNITS:
        return [Token(Kind.LETTER, char, spaced and place == 0) for place, char in enumerate(text)]
    return [Token(Kind.WORD if kind == "word" else Kind.MARK, text, spaced)]
