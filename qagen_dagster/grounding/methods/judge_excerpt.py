"""The part of a document that a judge sees: all of a short one, else the passages about question and answer."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from qagen_dagster.english.sentences import claims
from qagen_dagster.english.words import content_stems
from qagen_dagster.grounding.source import Source
from qagen_dagster.toolkit.excerpt import enclose, neutralise

WINDOWS = 12  # passages searched for each claim, best first
LONGEST = 2_000  # characters of one sentence; longer ones are tables or lists without full stops
TABLE_ROWS = 40  # rows of a table shown with any one of them
WHOLE = "The whole document, with line numbers; empty lines are left out:"
PARTS = (
    "Excerpts of a document of {lines} lines, with line numbers, found by a search for the words of the question and the "
    "answer{also}; [...] stands where lines are left out. The document says more than is shown: where nothing but the excerpts' silence "
    "speaks against a claim, the verdict is NOT_SUPPORTED with a confidence of at most 0.6. If the answer says that the document does "
    "not give something, the confidence is at most 0.6 as well."
)
QUOTED = ", with the passages that were quoted for it"
_DELIMITER = re.compile(r"<(?=[\s/\\]*(?:question|answer)\b)", re.IGNORECASE)


Lines = tuple[int, int]  # first and last line, 1-based and inclusive


@dataclass(frozen=True)
class Excerpt:
    """The document as shown in a prompt, and the sentence that describes it."""

    scope: str
    document: str


def shown(source: Source, question: str, answer: str, budget: int, quoted: Sequence[Lines] = ()) -> Excerpt:
    """About `budget` characters of the document, without line numbers; `quoted` lines and neighbours first."""
    lines = source.text.split("\n")
    if len(source.text) <= budget:
        kept = ((number, " ".join(line.split())) for number, line in enumerate(lines, 1))
        return Excerpt(WHOLE, enclose([f"{number}| {as_data(line)}" for number, line in kept if line]))
    rows = list(_rows(source, _chosen(source, question, answer, budget, quoted)))
    also = QUOTED if quoted else ""
    return Excerpt(PARTS.format(lines=len(lines), also=also), enclose(rows))


def as_data(text: str) -> str:
    """The text with its delimiters escaped, so that it cannot end its block."""
    return _DELIMITER.sub(r"<\\", neutralise(text))


def _chosen(
    source: Source, question: str, answer: str, budget: int, quoted: Sequence[Lines] = ()
) -> list[int]:
    """Numbers of the sentences to show, in order: quoted ones, the beginning, then each claim's best in turn."""
    chosen: dict[int, None] = {}
    used = 0
    near = [number for first, last in quoted for number in source.sentences_on(first - 1, last + 1)]
    for first in (*near, 0, 1, *_wanted(source, question, answer)):
        if first in chosen or not 0 <= first < len(source.sentences):
            continue
        for number in _with_its_table(source, first):
            if number in chosen:
                continue
            length = min(LONGEST, len(source.sentences[number].text))
            if used + length > budget:
                return sorted(chosen)
            chosen[number] = None
            used += length
    return sorted(chosen)


def _with_its_table(source: Source, number: int) -> list[int]:
    """The sentence; a table's row comes with caption, header and other rows, because they are read together."""
    if not _is_row(source, number):
        return [number]
    first = last = number
    while first > 0 and _is_row(source, first - 1) and number - first < TABLE_ROWS:
        first -= 1
    while last + 1 < len(source.sentences) and _is_row(source, last + 1) and last - first < TABLE_ROWS:
        last += 1
    caption = range(max(0, first - 2), first) if first else ()
    return [number, *caption, *range(first, last + 1)]


def _is_row(source: Source, number: int) -> bool:
    return source.sentences[number].text.startswith("|")


def _wanted(source: Source, question: str, answer: str) -> Iterator[int]:
    texts = [question, *(claim.text for claim in claims(answer))]
    for rank in zip_longest(*(list(_passages(source, text)) for text in texts)):
        for passage in rank:
            yield from passage or ()


def _passages(source: Source, text: str) -> Iterator[Iterable[int]]:
    """Sentences of the passages that share most words with `text`, with one neighbour on each side."""
    windows = source.candidates(content_stems(text), WINDOWS)
    widest = max((window.size for window in windows), default=0)
    for window in [window for window in windows if window.size == widest][:WINDOWS]:
        yield range(window.first - 1, window.first + window.size + 1)


def _rows(source: Source, chosen: list[int]) -> Iterator[str]:
    ends = list(accumulate(len(line) + 1 for line in source.text.split("\n")))
    previous = -1
    for number in chosen:
        if number != previous + 1:
            yield "[...]"
        sentence = source.sentences[number]
        text = " ".join(sentence.text[:LONGEST].split())
        hidden = len(sentence.text) - LONGEST
        note = f" [{hidden} characters left out]" if hidden > 0 else ""
        yield f"{bisect_right(ends, sentence.start) + 1}| {as_data(text)}{note}"
        previous = number
    if previous + 1 < len(source.sentences):
        yield "[...]"
