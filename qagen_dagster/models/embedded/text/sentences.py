"""Segmentation of passages into sentences, and the choice of those that are complete, well-formed prose.

The parser's own segmentation fails on abbreviations and identifiers, so it receives single sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.english.sentences import ABBREVIATIONS
from qagen_dagster.models.embedded.text.passage import Passage

_END = re.compile(
    r"[.!?][\"'”\u2019)\]]{0,2}(?=\s+[\"'“\u2018(\[]?[A-Z0-9§])|[.!?][\"'”\u2019)\]]{0,2}$|;(?=\s)"
)
_ABBREVIATION = re.compile(rf"(?:^|[\s(\[\"“])(?:[A-Z]|{ABBREVIATIONS}|[A-Z]\.[A-Z]|U\.S|[a-z]\.[a-z])\.$")
_WORD = re.compile(r"[A-Za-zÀ-ÿ]+(?:['\u2019-][A-Za-zÀ-ÿ]+)*")
_CITATION = re.compile(
    r"\s?\((?:[^()]{0,80}\bet al\b|see\b|cf\b|e\.g\.|Figs?\.|Figures?\b|Tables?\b|Eqs?\.|[A-Z][\w'\u2019-]+(?: (?:and|&) [A-Z]\w+)?,? \d{4}[a-z]?)"
    r"[^()]{0,160}\)|\s?\[\d{1,3}(?:[,\u2013-] ?\d{1,3})*\]"
)
MAX_WORDS = 42


@dataclass(frozen=True)
class Sentence:
    """A sentence: its passage, and the text to analyse (without citations)."""

    passage: Passage  # only of this sentence
    text: str


def split(passage: Passage) -> Iterator[Sentence]:
    """The sentences of a passage, in order."""
    text, start = passage.text, 0
    for end in [*_ends(text), len(text)]:
        piece = passage.part(start, end)
        stripped = len(piece.text) - len(piece.text.lstrip())
        piece = passage.part(start + stripped, start + len(piece.text.rstrip()))
        if piece.text:
            yield Sentence(piece, _CITATION.sub("", piece.text))
        start = end


def _ends(text: str) -> Iterator[int]:
    depth_at = _depths(text)
    for match in _END.finditer(text):
        if match.group().startswith(".") and _ABBREVIATION.search(
            text[max(0, match.start() - 12) : match.start() + 1]
        ):
            continue
        if match.group() == ";" and depth_at[match.start()]:
            continue
        yield match.end()


def _depths(text: str) -> list[int]:
    depth, depths = 0, list[int]()
    for char in text:
        depth += (char in "([") - (char in ")]" and depth > 0)
        depths.append(depth)
    return depths


def is_prose(sentence: Sentence) -> bool:
    """Whether the sentence is complete and plain enough for a question."""
    text = sentence.text
    words = _WORD.findall(text)
    if not 4 <= len(words) <= MAX_WORDS or not (text[0].isupper() or text[0].isdigit()):
        return False
    if text[-1] not in '.;"”)' or text.rstrip('"”)').endswith("?"):
        return False
    if re.search(r":\s|\$ ?\(", text):
        return False  # a label, a list or a title is attached, so it is not one clause
    return balanced(text)


def balanced(text: str) -> bool:
    """Whether quotes and brackets of `text` are balanced."""
    if text.count('"') % 2 or text.count("“") != text.count("”"):
        return False
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return False
    return depth == 0
