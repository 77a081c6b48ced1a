"""Splits the text of an option's value, plain or LaTeX, into tokens."""

import re
from dataclasses import dataclass
from enum import StrEnum

from qagen_dagster.mathematics.units import joined_ohms
from qagen_dagster.records.data_files import read_table

_NOTATION = read_table(__package__, "notation.toml")
_REPLACED: dict[str, str] = _NOTATION["replaced"]
_RAISED = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a", "0123456789-+"
)
_RAISED_RUN = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a\u207b]+")
_GREEK_LETTERS: dict[str, str] = _NOTATION["letters"]
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
    """`spaced`: white space precedes the token, or the token begins the text, a formula or roman text, or follows roman text."""

    kind: Kind
    text: str
    spaced: bool = False


def tokens(text: str) -> list[Token]:
    r"""The tokens of `text`. Letters are mathematics inside `$...$`, or everywhere if the text has a backslash but neither `$` nor `\(`."""
    inside = "$" not in text and "\\(" not in text and "\\" in text
    text = joined_ohms(text)
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
    """The position of the brace that closes the brace before `place`; the end of the text if it is never closed."""
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
    if kind == "word" and text in _GREEK_LETTERS and text not in "\u03bc":
        return [Token(Kind.COMMAND, _GREEK_LETTERS[text], spaced)]
    if kind == "word" and letters and text not in _ALWAYS_UNITS:
        return [Token(Kind.LETTER, char, spaced and place == 0) for place, char in enumerate(text)]
    return [Token(Kind.WORD if kind == "word" else Kind.MARK, text, spaced)]
