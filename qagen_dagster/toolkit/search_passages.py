"""The tools that search for passages: by meaning in the document, and for drawing syntax in references. `index/` ranks them."""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.errors import ModelError, ToolError
from qagen_dagster.index.references import Reference
from qagen_dagster.index.search import Searcher, search_of_text
from qagen_dagster.models.embedders import Embedder
from qagen_dagster.records.document import ChunkHit
from qagen_dagster.records.index_options import IndexOptions
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, head, one_line, row
from qagen_dagster.toolkit.tool import Tool, tool

MAX_CHARACTERS = 16_000
MAX_ROW = 2_000

Meaning = Callable[[str, int], Sequence[ChunkHit]]  # arguments: query, maximum hits
TIKZ_TOOL = "search_tikz_reference"
MAX_TIKZ_CHARACTERS = 9_000
_MAX_TIKZ_ROW = 500
_SLACK = 200  # characters over the limit up to which a row of a reference is not cut
# arguments: query, file types, maximum passages
FindReferences = Callable[[str, Collection[str] | None, int], Sequence[Reference]]


def in_memory(view: DocumentView, embedder: Embedder, options: IndexOptions) -> Meaning:
    """A function that searches the view's document. It embeds the document at the first query, and keeps the embeddings."""
    guard = threading.Lock()

    @cache
    def searcher() -> Searcher:
        return search_of_text(view.document.id, "\n".join(view.lines), embedder, options)

    def find(query: str, most: int) -> Sequence[ChunkHit]:
        with guard:  # calls of one turn run in parallel; the document is embedded once
            document_searcher = searcher()
        return document_searcher.search(view.document.id, query, most)

    return find


def search_meaning_tool(view: DocumentView, meaning: Meaning) -> Tool:
    """Bind `search_meaning` to a document and to the function that finds passages in it."""

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
        return _show(query, (_passage(view, hit) for hit in hits), MAX_CHARACTERS)

    return tool(search_meaning)


def _show(query: str, passages: Iterable[list[str]], most_characters: int) -> str:
    """The rows of the passages. The first passage is shown whole, whatever its length."""
    rows: list[str] = []
    shown = size = 0
    for passage in passages:
        size += sum(len(text) + 1 for text in passage)
        if shown and size > most_characters:
            break
        rows += passage
        shown += 1
    noun = "passage" if shown == 1 else "passages"
    return f'{shown} {noun} for "{one_line(query, 80)}"\n{enclose(rows)}'


def _passage(view: DocumentView, hit: ChunkHit) -> list[str]:
    first, last = hit.chunk.start_line, hit.chunk.end_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    title = f"-- {lines}{view.place(first, last)}, score {hit.score:.2f}"
    numbered = range(first, min(last, len(view.lines)) + 1)
    return [title, *(row(n, view.lines[n - 1], MAX_ROW) for n in numbered if view.lines[n - 1].strip())]


def search_tikz_reference_tool(find: FindReferences) -> Tool:
    """Bind `search_tikz_reference` to the function that searches the references."""

    def search_tikz_reference(
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=500,
                description='A few words on one thing, such as "spring decoration" or "angle arc label".',
            ),
        ],
        file_types: Annotated[
            tuple[Literal["pdf", "tex", "sty"], ...],
            Field(description="Only files of these types; usually left out."),
        ] = (),
        max_passages: Annotated[int, Field(ge=1, le=8, description="How many passages to show.")] = 3,
    ) -> str:
        """Look up TikZ, PGF or circuitikz syntax in manuals and packages: options, libraries, examples.

        Returns the best passages as they stand, best first, each under `-- manual/patterns.tex lines 41-66 (in "Patterns")`.
        Copy syntax, not the drawing.
        """
        found = find(query, file_types or None, max_passages)
        if not found:
            kinds = f" in {' and '.join(file_types)} files" if file_types else ""
            return (
                f'Nothing in the references for "{one_line(query, 80)}"{kinds}. Try other words once, or go on with '
                "what you know."
            )
        return _show(query, map(_reference_rows, found), MAX_TIKZ_CHARACTERS)

    return tool(search_tikz_reference)


def _reference_rows(found: Reference) -> list[str]:
    passage = found.passage
    title = f' (in "{one_line(passage.headings[-1], 60)}")' if passage.headings else ""
    first = f"-- {one_line(passage.path, 120)} lines {passage.start_line}-{passage.end_line}{title}"
    rows = passage.text.split("\n")
    long = _MAX_TIKZ_ROW + _SLACK
    return [first, *(head(text, _MAX_TIKZ_ROW if len(text) > long else len(text)) for text in rows)]
