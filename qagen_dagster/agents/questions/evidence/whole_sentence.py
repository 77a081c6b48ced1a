"""Widens a quoted fragment to its sentence or table row, so that the evidence says what its numbers and names belong to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.index.sentences import split
from qagen_dagster.records.questions.results import Evidence

MOST_WORDS = 80  # a longer sentence is probably not one
_AROUND = 30  # lines before and after the quote that may belong to its sentence
_VALUE = re.compile(r"(?<!\S)[-(]?[$€£]?\d[\d,.]*[%)]*(?!\S)")


def widened(lines: Sequence[str], place: Evidence) -> Evidence:
    """The sentence or the table row of the evidence; the evidence as it is if it has no lines or the sentence is too long."""
    if place.start_line is None or place.end_line is None:
        return place
    before, last = place.start_line - 1, place.end_line
    if any(map(_is_row, lines[before:last])):
        return _lines(lines, place, before, last)
    first = before
    while first > max(0, before - _AROUND) and lines[first - 1].strip():
        first -= 1
    end = last
    while end < min(len(lines), last + _AROUND) and lines[end].strip():
        end += 1
    text = "\n".join(lines[first:end])
    start = text.find(place.quote, len("\n".join([*lines[first:before], ""])))
    within = [one for one in split(text) if one.start < start + len(place.quote) and one.end > start]
    if start < 0 or not within:
        return place
    whole = text[within[0].start : within[-1].end]
    longest = max(MOST_WORDS, len(place.quote.split()))
    if len(whole.split()) > longest or place.quote not in whole or _bare(whole) == _bare(place.quote):
        return place
    above = first + text.count("\n", 0, within[0].start) + 1
    return place.model_copy(
        update={"quote": whole, "start_line": above, "end_line": above + whole.count("\n")}
    )


def head_of_table(lines: Sequence[str], line: int) -> str:
    """The first row of the table with cells that contains a line (1-based); empty if it is in no such table."""
    first = line - 1
    while first > 0 and "|" in lines[first] and "|" in lines[first - 1]:
        first -= 1
    return lines[first] if "|" in lines[first] else ""


def _lines(lines: Sequence[str], place: Evidence, first: int, last: int) -> Evidence:
    whole = "\n".join(lines[first:last]).strip()
    if place.quote not in whole or _bare(whole) == _bare(place.quote):
        return place
    return place.model_copy(update={"quote": whole})


def _bare(text: str) -> str:
    """The text without spaces and punctuation."""
    return "".join(filter(str.isalnum, text))


def _is_row(line: str) -> bool:
    """Whether a line is a row of a table: with cells, or with several values among few words."""
    values = len(_VALUE.findall(line))
    return line.count("|") > 1 or "\t" in line.strip() or (values > 1 and 3 * values >= len(line.split()))
