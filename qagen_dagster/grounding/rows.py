"""Table rows as statements: each cell with the head of its column and the unit that the head names."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RULE = re.compile(r"[\s|:+=-]+")
_BARE = re.compile(r"[-+\u2212]?\d[\d,.]*")
_UNIT = re.compile(r"\s*[(\[]\s*(?:in\s)?([^()\[\]]{1,20}?)\s*[)\]]\s*$")
_MONEY = re.compile(r"(us\$|[$£€¥₹])\s*(.*)", re.IGNORECASE)


def stated_rows(sentences: Sequence[str]) -> dict[int, str]:
    """For each row of a table with a head, by the number of its sentence: the row with its heads."""
    found: dict[int, str] = {}
    head: list[str] = []
    for number, sentence in enumerate(sentences):
        cells = _cells(sentence)
        if len(cells) < 2:
            head = []
        elif _RULE.fullmatch(sentence):
            continue
        elif len(cells) == len(head):
            found[number] = "; ".join(_stated(*pair) for pair in zip(head, cells, strict=True) if pair[1])
        else:
            head = [] if any(map(_BARE.fullmatch, cells)) else cells
    return found


def _cells(sentence: str) -> list[str]:
    return [" ".join(cell.split()) for cell in re.split(r"\||\t", sentence.strip().strip("|"))]


def _stated(head: str, cell: str) -> str:
    unit = _UNIT.search(head)
    if unit is None or not _BARE.fullmatch(cell):
        return f"{head}: {cell}"
    name, written = head[: unit.start()], unit.group(1).replace("'000", " thousand").removesuffix("s")
    money = _MONEY.fullmatch(written)
    if money:
        return f"{name}: {money.group(1)}{cell} {money.group(2)}".rstrip()
    return f"{name}: {cell}{'' if written == '%' else ' '}{written}"
