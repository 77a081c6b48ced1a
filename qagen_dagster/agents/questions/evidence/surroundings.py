"""The text around a quote, and the look of a visual: they decide whether a question is answered again when its document changes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import RenderOptions
from qagen_dagster.records.document import Document, Visual
from qagen_dagster.records.ids import content_hash, fingerprint
from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.toolkit.document_view import DocumentView

WORDS = 40  # on each side of the quoted lines
_LEAST = 1 / 3  # share of the words of a quote that a similar passage must have
_WORD = re.compile(r"\w+")


def surroundings(document: Document, lines: Sequence[str], place: Evidence) -> str:
    """The headings above a quote, its lines, and the nearest words before and after. Empty for evidence without lines."""
    if place.start_line is None or place.end_line is None:
        return ""
    first, last = place.start_line - 1, place.end_line
    before, after = first, last
    while before > 0 and _count(lines[before:first]) < WORDS:
        before -= 1
    while after < len(lines) and _count(lines[last:after]) < WORDS:
        after += 1
    words = [
        *" ".join(lines[before:first]).split()[-WORDS:],
        *" ".join(lines[first:last]).split(),
        *" ".join(lines[last:after]).split()[:WORDS],
    ]
    return " ".join([*headings(document, place.start_line), *words])


def look(view: DocumentView, visual: Visual) -> str:
    """A hash of what a visual shows: its caption, its lines and its picture. Empty if the picture cannot be made."""
    start = visual.start_line or 1
    lines = view.lines[start - 1 : visual.end_line or visual.start_line or 0]
    try:
        picture = None if visual.page is None else view.render(visual.page, RenderOptions(crop=visual.box))
    except DocumentError:
        return ""
    return fingerprint([visual.caption, *lines, "" if picture is None else content_hash(picture.data)])


def similar_passage(lines: Sequence[str], quote: str) -> str:
    """The lines that share most words with a quote that is no longer there; empty if none share enough."""
    wanted = _words(quote)
    each = [_words(line) for line in lines]
    height = quote.count("\n") + 1
    best, where = 0.0, 0
    for start in range(max(1, len(lines) - height + 1)):
        found = set[str]().union(*each[start : start + height])
        share = len(found & wanted) / len(found | wanted) if found else 0.0
        if share > best:
            best, where = share, start
    passage = "\n".join(lines[where : where + height])
    return passage if wanted and len(_words(passage) & wanted) >= _LEAST * len(wanted) else ""


def headings(document: Document, line: int) -> list[str]:
    """The titles of the sections that contain a line, the outermost first."""
    titles: list[str] = []
    level = 0
    above = [one for one in document.sections if one.start_line <= line and line <= (one.end_line or line)]
    for section in reversed(above):
        if not titles or section.level < level:
            titles.insert(0, f"{section.title} /")
            level = section.level
    return titles


def _count(lines: Sequence[str]) -> int:
    return sum(len(line.split()) for line in lines)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
