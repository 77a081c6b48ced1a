"""The answerer "reader": a short answer from excerpts of a document, with the excerpt that holds it.

Rows and labelled lines answer through their structure (`extraction.py`), running text through its best span
(`choose.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.models.embedded.answering.choose import choose
from qagen_dagster.models.embedded.answering.extraction import ABBREVIATION, by_form
from qagen_dagster.models.embedded.answering.retrieval import Hit, Query, make_index, parse_query, rank
from qagen_dagster.models.embedded.answering.units import Unit, units
from qagen_dagster.models.embedded.answering.weights import Weights
from qagen_dagster.models.embedded.conversation import Action, Line, rows, section

WEAK = 0.35  # minimum retrieval score of a row or labelled line that answers
UNLIKELY = 0.18  # minimum chance of a span of running text that answers; measured, see docs/answering.md
_EXCERPT = re.compile(
    r"^Excerpt (\d+)\n<document_excerpt>\n(.*?)\n</document_excerpt>", re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^title: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class _Found:
    """An answer, its piece, its confidence (0 to 1) and how it was found."""

    text: str
    unit: Unit
    confidence: float
    answerable: bool
    note: str


def answer_from_excerpts(prompt: str, fitted: Weights | None = None) -> Action:
    """The best answer in the excerpts of `prompt`, or "not answerable" if it is weak or missing.

    `fitted`: weights that replace the shipped ones.
    """
    shown = excerpts(prompt)
    title = _TITLE.search(prompt)
    asked = parse_query(section(prompt, "Question"))
    pieces = pieces_of(shown)
    formed = _from_structure(asked, pieces, title.group(1) if title else "")
    if formed is not None and formed[1]:
        return _submit(formed[0], shown)
    spoken = _from_prose(asked, pieces, fitted)
    likely = [one for one in (spoken, formed[0] if formed else None) if one is not None]
    best = next((one for one in likely if one.answerable), likely[0] if likely else None)
    return _submit(best, shown)


def excerpts(prompt: str) -> list[tuple[int, list[Line]]]:
    """Number and lines of each excerpt, in the order shown."""
    return [(int(number), rows(body)) for number, body in _EXCERPT.findall(prompt)]


def pieces_of(shown: Sequence[tuple[int, list[Line]]]) -> list[Unit]:
    """The pieces of all excerpts in document order, without duplicates.

    Excerpts may show different parts of one long line: each part is then split separately.
    """
    known: dict[int, Line] = {}
    parts: list[dict[int, Line]] = []
    for _, lines in sorted(shown, key=lambda one: one[0]):
        parts.append({})
        for line in lines:
            there = known.setdefault(line.number, line)
            if line.text not in there.text:
                parts[-1][line.number] = line
    once: dict[tuple[object, ...], Unit] = {}
    for unit in (unit for lines in (known, *parts) for unit in units(lines, {})):
        once.setdefault((unit.text, unit.label, unit.cells, unit.quote.start_line), unit)
    return sorted(once.values(), key=lambda unit: unit.quote.start_line)


def _from_structure(asked: Query, pieces: Sequence[Unit], title: str) -> tuple[_Found, bool] | None:
    """The first row, labelled line or spelled-out abbreviation that answers, and whether no sentence ranks above it."""
    ahead = True
    for hit in rank(asked, make_index(pieces, title)):
        text = by_form(asked, hit.unit)
        if text:
            return _by_form(hit, text), ahead and hit.score >= WEAK
        ahead = ahead and bool(hit.unit.cells or hit.unit.label or ABBREVIATION.search(asked.text))
    return None


def _by_form(hit: Hit, text: str) -> _Found:
    score = min(1.0, max(0.0, hit.score))
    note = (
        f"embedded:reader, {_lines(hit.unit)}, retrieval score {hit.score:.2f} (words {hit.share:.2f}, "
        f"cosine {hit.cosine:.2f})."
    )
    return _Found(text, hit.unit, score, hit.score >= WEAK, note)


def _from_prose(asked: Query, pieces: Sequence[Unit], fitted: Weights | None) -> _Found | None:
    """The best span of running text."""
    sentences = [unit for unit in pieces if not (unit.cells or unit.label)]
    best = choose(asked.text, [unit.text for unit in sentences], fitted)
    if best is None:
        return None
    unit = sentences[best.sentence]
    note = f"embedded:reader, {_lines(unit)}, a span for a question of type {best.wants}, right with a chance of {best.chance:.2f}."
    return _Found(best.text, unit, best.chance, best.chance >= UNLIKELY, note)


def _lines(unit: Unit) -> str:
    first, last = unit.quote.start_line, unit.quote.end_line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _submit(found: _Found | None, shown: Sequence[tuple[int, list[Line]]]) -> Action:
    if found is None:
        nothing = "The excerpts hold no sentence, row or entry."
        return _action(nothing, False, 0.0, [], "embedded:reader, nothing to search.")
    quote = found.unit.quote
    wanted = set(range(quote.start_line, quote.end_line + 1))
    holding = [number for number, lines in shown if wanted <= {line.number for line in lines}]
    exact = [number for number, lines in shown if quote.text in "\n".join(line.text for line in lines)]
    chunks = ([number for number in holding if number in exact] or holding)[:1]
    return _action(found.text, found.answerable, found.confidence, chunks, found.note)


def _action(text: str, answerable: bool, confidence: float, chunks: list[int], note: str) -> Action:
    arguments = {
        "answer": text,
        "answerable": answerable,
        "confidence": round(confidence, 4),
        "chunks": chunks,
        "note": note,
    }
    return Action("submit_document_answer", arguments)
