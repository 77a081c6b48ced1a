"""Rows of tables, each with the heads of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RULE = re.compile(r"[\s|:+=-]+")
_BARE = re.compile(r"[-+\u2212]?\d[\d,.]*")
_UNIT = re.compile(r"\s*[(\[]\s*(?:in\s)?([^()\[\]]{1,20}?)\s*[)\]]\s*$")
_MONEY = re.compile(r"(us\$|[$£€¥₹])\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A line of the document, counted from 1, that is a row of a table. It has as many cells as heads."""

    line: int
    text: str
    heads: list[str]
    cells: list[str]

    def stated(self) -> str:
        """The row as a statement: each cell with its head and the unit that the head names."""
        if any(map(_BARE.fullmatch, self.heads)):
            return self.text
        return "; ".join(_stated(*pair) for pair in zip(self.heads, self.cells, strict=True) if pair[1])


def rows(text: str) -> Iterator[Row]:
    """The rows of all tables of the text, in order."""
    heads: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        cells = [" ".join(cell.split()) for cell in re.split(r"\||\t", line.strip().strip("|"))]
        if len(cells) < 2:
            heads = []
        elif _RULE.fullmatch(line):
            continue
        elif len(cells) == len(heads):
            yield Row(number, line.strip(), heads, cells)
        else:
            heads = heads or cells


def _stated(head: str, cell: str) -> str:
    unit = _UNIT.search(head)
    if unit is None or not _BARE.fullmatch(cell):
        return f"{head}: {cell}"
    name, written = head[: unit.start()], unit.group(1).replace("'000", " thousand").removesuffix("s")
    money = _MONEY.fullmatch(written)
    if money:
        return f"{name}: {money.group(1)}{cell} {money.group(2)}".rstrip()
    return f"{name}: {cell}{'' if written == '%' else ' '}{written}"
