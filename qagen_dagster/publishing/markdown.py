"""Markdown that shows texts of documents and models as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qagen_dagster.records.display import markdown_text

MOST_ROWS, LONGEST = 100, 300  # rows of a table, characters of a cell


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a table, and the empty one after it. A long table is cut with a note."""
    whole = list(rows)
    yield _row(head)
    yield "|" + "---|" * len(head)
    yield from map(_row, whole[:MOST_ROWS])
    if len(whole) > MOST_ROWS:
        yield f"\n... and {len(whole) - MOST_ROWS} more"
    yield ""


def line(text: object, most: int | None = None) -> str:
    """One line in which nothing is markup, cut to `most` characters."""
    plain = " ".join(str(text).split())
    return markdown_text(plain if most is None or len(plain) <= most else f"{plain[: most - 1]}\u2026")


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join('' if cell is None else line(cell, LONGEST) for cell in cells)} |"
