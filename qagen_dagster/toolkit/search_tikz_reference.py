"""The tool that looks up drawing syntax in references. `index/references.py` searches; `excerpt` formats the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.index.references import Reference
from qagen_dagster.toolkit.excerpt import enclose, head, one_line
from qagen_dagster.toolkit.tool import Tool, tool

NAME = "search_tikz_reference"
MAX_CHARACTERS = 9_000
MAX_ROW = 500
SLACK = 200  # up to so many more characters are shown, not cut

FindReferences = Callable[[str, Collection[str] | None, int], Sequence[Reference]]  # query, types, most


def make(find: FindReferences) -> Tool:
    """Bind `search_tikz_reference` to what searches the references."""

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
        return _show(query, found)

    return tool(search_tikz_reference)


def _show(query: str, found: Sequence[Reference]) -> str:
    rows: list[str] = []
    shown = size = 0
    for one in found:
        passage = _passage(one)
        size += sum(len(text) + 1 for text in passage)
        if shown and size > MAX_CHARACTERS:
            break
        rows += passage
        shown += 1
    noun = "passage" if shown == 1 else "passages"
    return f'{shown} {noun} for "{one_line(query, 80)}"\n{enclose(rows)}'


def _passage(found: Reference) -> list[str]:
    passage = found.passage
    title = f' (in "{one_line(passage.headings[-1], 60)}")' if passage.headings else ""
    first = f"-- {one_line(passage.path, 120)} lines {passage.start_line}-{passage.end_line}{title}"
    rows = passage.text.split("\n")
    return [first, *(head(text, MAX_ROW if len(text) > MAX_ROW + SLACK else len(text)) for text in rows)]
