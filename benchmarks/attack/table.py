"""The result of an attack, and the table of all results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One attack: what was done, what must happen, and what happened; `held` says whether they agree."""

    attack: str
    expected: str
    found: str
    held: bool


Group = Callable[[Path, bool], Iterable[Row]]
"""Runs the attacks of one kind in an empty folder; the flag asks for the short form, which takes seconds."""


def printed(rows: Iterable[Row], write: Callable[[str], object]) -> Iterator[Row]:
    """The same rows, each written when it is known."""
    for row in rows:
        mark = "ok      " if row.held else "SURPRISE"
        write(
            f"{mark}  {row.attack:<58}  {row.found if row.held else f'{row.found}; expected: {row.expected}'}\n"
        )
        yield row
