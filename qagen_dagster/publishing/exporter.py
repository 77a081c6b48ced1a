"""The interface of export formats, and the functions with which all of them write JSON, JSON Lines and Markdown.

An exporter does not write to disk. In Markdown, texts of documents and models are escaped, so that they make no links, images or HTML.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from qagen_dagster.records.text import markdown_text

SetT = TypeVar("SetT")


@dataclass(frozen=True)
class Exporter(Generic[SetT]):
    """One export format.

    `export` returns files by their paths under the folder of the exports. The same set or bank always gives the same bytes.
    """

    name: str
    export: Callable[[SetT], dict[str, bytes]]


_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


def json_file(value: object) -> bytes:
    """The bytes of a JSON file: UTF-8, two spaces of indent, a newline at the end."""
    return f"{json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()


def json_lines(rows: Iterable[object]) -> bytes:
    """The bytes of a JSON Lines file. Characters that some readers treat as line breaks are escaped."""
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


MOST_ROWS, LONGEST = 100, 300  # maximum numbers: rows of a table, characters of a cell


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a Markdown table, and an empty line. After MOST_ROWS rows, the table is cut and a note says how many are missing."""
    whole = list(rows)
    yield _row(head)
    yield "|" + "---|" * len(head)
    yield from map(_row, whole[:MOST_ROWS])
    if len(whole) > MOST_ROWS:
        yield f"\n... and {len(whole) - MOST_ROWS} more"
    yield ""


def line(text: object, most: int | None = None) -> str:
    """The text on one line, escaped by `markdown_text`. Text longer than `most` characters is cut (None: it is not cut)."""
    plain = " ".join(str(text).split())
    return markdown_text(plain if most is None or len(plain) <= most else f"{plain[: most - 1]}\u2026")


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join('' if cell is None else line(cell, LONGEST) for cell in cells)} |"
