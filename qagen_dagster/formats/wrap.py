"""Splitting of paragraphs into lines of readable length, for formats whose own line breaks mean nothing.

A line takes whole sentences up to 200 characters. A sentence longer than 300 is broken after a comma, semicolon or
colon, or else at a space. A break never falls inside a word, between the digits of a number, or after an abbreviation
("et al.", "Fig. 2"). Only a single longer word exceeds 300 characters.
"""

from __future__ import annotations

import re

TARGET = 200
LIMIT = 300
_LABEL = 40  # a line shorter than this ("Figure 1.") takes the next sentence up to the limit
_SHORTEST = 100  # minimum length of the first part of a broken sentence, where possible

_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]{0,3} (?=[\"'\u201c\u2018(\[]{0,3}[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я$])")
_LAST_WORD = re.compile(r"[^\s(\[\"'\u201c\u2018]{1,30}$")
_ABBREVIATED = (
    "al approx art assoc ave ca cf ch chap co corp dept dr ed eds e.g eq eqn eqns eqs et etc ex fig figs "
    "gen gov i.e inc jr lt ltd max min mr mrs ms mt no nos op p par pp prof proc pt ref refs resp rev "
    "sec sect sp spp sr st subsp suppl tab univ var viz vol vols vs"
)
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")


def wrap(paragraph: str) -> list[str]:
    """The lines of one paragraph, in order; joined by spaces they give the paragraph again."""
    text = " ".join(paragraph.split())
    lines: list[str] = []
    for sentence in sentences(text):
        room = LIMIT if lines and len(lines[-1]) < _LABEL else TARGET
        if lines and len(lines[-1]) + 1 + len(sentence) <= room:
            lines[-1] = f"{lines[-1]} {sentence}"
        else:
            lines.extend(_broken(sentence))
    return lines


def sentences(text: str) -> list[str]:
    """Sentences of single-spaced text; a doubtful boundary does not split."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        bare = text.startswith(". ", end.start())  # a bare dot may belong to an abbreviation
        if bare and _is_abbreviation(text, start, end.start()):
            continue
        found.append(text[start : end.end() - 1])
        start = end.end()
    if start < len(text):
        found.append(text[start:])
    return found


def _is_abbreviation(text: str, start: int, dot: int) -> bool:
    word = _LAST_WORD.search(text, max(start, dot - 30), dot)
    if word is None:
        return False
    return word[0].lower() in _ABBREVIATIONS or bool(_INITIALS.fullmatch(word[0]))


def _broken(sentence: str) -> list[str]:
    parts: list[str] = []
    while len(sentence) > LIMIT:
        at = _break(sentence)
        if at is None:
            break
        parts.append(sentence[:at])
        sentence = sentence[at + 1 :]
    return [*parts, sentence]


def _break(sentence: str) -> int | None:
    """Index of the space at which to break: the last one that fits, after a clause mark if possible."""
    spaces = [at for at in _spaces(sentence, LIMIT + 1) if _breakable(sentence, at)]
    clause = [at for at in spaces if at >= _SHORTEST and sentence[at - 1] in ",;:"]
    if clause or spaces:
        return (clause or spaces)[-1]
    later = next((at for at in _spaces(sentence, len(sentence)) if _breakable(sentence, at)), None)
    return later


def _spaces(sentence: str, end: int) -> list[int]:
    return [at for at, char in enumerate(sentence[:end]) if char == " " and at > 0]


def _breakable(sentence: str, at: int) -> bool:
    before, after = sentence[at - 1], sentence[at + 1 : at + 2]
    if before.isdigit() and (after.isdigit() or after in ("%", "°", "\u00d7", "\u00b1")):
        return False
    return not (before == "." and _is_abbreviation(sentence, 0, at - 1))
