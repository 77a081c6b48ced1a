"""Reads the marked-up sources of the typeset documents into blocks; corpora/README.md lists the marks.

Knows nothing of pages; `typeset.py` sets the blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["title", "byline", "abstract", "h2", "h3", "para", "bullet", "spec", "table", "figure"]
MARKS: Mapping[str, Kind] = {
    "# ": "title",
    "@ ": "byline",
    "> ": "abstract",
    "## ": "h2",
    "### ": "h3",
    "- ": "bullet",
    "= ": "spec",
    "!": "figure",
}


@dataclass(frozen=True)
class Block:
    """One piece of the flow; `rows` holds a table's cells, header first, and `key` names a figure."""

    kind: Kind
    text: str
    rows: tuple[tuple[str, ...], ...] = ()
    key: str = ""


def parse(source: str) -> list[Block]:
    """Blocks in order; the paragraph right above a table is its caption."""
    blocks: list[Block] = []
    for chunk in re.split(r"\n\s*\n", source.strip()):
        lines = chunk.splitlines()
        if lines[0].startswith("|"):
            cells = (line.strip().strip("|").split("|") for line in lines)
            rows = tuple(tuple(cell.strip() for cell in row) for row in cells)
            blocks.append(Block("table", blocks.pop().text, rows))
        else:
            blocks.extend(_block(line) for line in lines)
    return blocks


def _block(line: str) -> Block:
    mark = next((mark for mark in MARKS if line.startswith(mark)), "")
    body = line.removeprefix(mark).strip()
    if mark == "!":
        key, _, caption = body.partition(" ")
        return Block("figure", caption, key=key)
    return Block(MARKS.get(mark, "para"), body)
