"""The tool that finds passages by meaning. `index/` searches; `excerpt` formats the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

from pydantic import Field

from qagen_dagster.errors import ModelError, ToolError
from qagen_dagster.index.search import Searcher, search_of_text
from qagen_dagster.models.vectors import Embedder
from qagen_dagster.records.corpus import IndexOptions
from qagen_dagster.records.document import ChunkHit
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, one_line, row
from qagen_dagster.toolkit.tool import Tool, tool

MAX_CHARACTERS = 16_000
MAX_ROW = 2_000

Meaning = Callable[[str, int], Sequence[ChunkHit]]  # arguments: query, most hits


def in_memory(view: DocumentView, embedder: Embedder, options: IndexOptions) -> Meaning:
    """A search over the view's document, embedded at the first question and kept as long as the view is."""
    guard = threading.Lock()

    @cache
    def searcher() -> Searcher:
        return search_of_text(view.document.id, "\n".join(view.lines), embedder, options)

    def find(query: str, most: int) -> Sequence[ChunkHit]:
        with guard:  # calls of one turn run in parallel; the document is embedded once
            ready = searcher()
        return ready.search(view.document.id, query, most)

    return find


def make(view: DocumentView, meaning: Meaning) -> Tool:
    """Bind `search_meaning` to a document and to what finds passages in it."""

    def search_meaning(
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=1_000,
                description="What to look for, in your own words: a question or a statement.",
            ),
        ],
        max_passages: Annotated[int, Field(ge=1, le=10, description="How many passages to show.")] = 4,
    ) -> str:
        """Find passages by meaning: for a topic or a question whose exact words you do not know.

        Returns the best passages, best first, each under `-- lines 41-46 (page 3, in "Results"), score 0.61`. The score
        (0 to 1) compares meaning and words; the best passage need not hold an answer. To find every place of a
        word, name or number use search.
        """
        if not view.has_text:
            return "This document has no text to search. If view_page is among your tools, look at its pages."
        try:
            hits = meaning(query, max_passages)
        except ModelError as error:
            raise ToolError(f"search_meaning does not work now ({error}): use search instead.") from None
        if not hits:
            return (
                f'No passage for "{one_line(query, 80)}". Use search, or read the document with read_lines.'
            )
        return _show(view, query, hits)

    return tool(search_meaning)


def _show(view: DocumentView, query: str, hits: Sequence[ChunkHit]) -> str:
    rows: list[str] = []
    shown = size = 0
    for hit in hits:
        passage = _passage(view, hit)
        size += sum(len(text) + 1 for text in passage)
        if shown and size > MAX_CHARACTERS:
            break
        rows += passage
        shown += 1
    noun = "passage" if shown == 1 else "passages"
    return f'{shown} {noun} for "{one_line(query, 80)}"\n{enclose(rows)}'


def _passage(view: DocumentView, hit: ChunkHit) -> list[str]:
    first, last = hit.chunk.start_line, hit.chunk.end_line
    section = view.section_at(first)
    titled = f'in "{one_line(section.title, 60)}"' if section else ""
    place = ", ".join(filter(None, (view.page_range(first, last), titled)))
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    head = f"-- {lines}{f' ({place})' if place else ''}, score {hit.score:.2f}"
    numbered = range(first, min(last, len(view.lines)) + 1)
    return [
        head,
        *(row(n, view.lines[n - 1], MAX_ROW) for n in numbered if view.lines[n - 1].strip()),
    ]
