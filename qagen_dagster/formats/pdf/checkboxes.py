"""Ticked and empty boxes of forms, written before or after the text nearest to them."""

from __future__ import annotations

from collections.abc import Iterable

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.mupdf import CheckBox

_MARKS = ("\u2610", "\u2612")


def mark_checkboxes(f: Fragments, boxes: Iterable[CheckBox]) -> None:
    """Write a mark for each box of a page beside its label, the nearest text on the same line; its own tick is removed."""
    for (left, top, right, bottom), ticked in boxes:
        level = [n for n, (y0, y1) in enumerate(zip(f.y0, f.y1, strict=True)) if y0 < top + bottom >> 1 < y1]
        ticks = [n for n in level if left <= f.x0[n] + f.x1[n] >> 1 <= right]
        labels = [n for n in level if n not in ticks]
        if labels:
            label = min(labels, key=lambda n: max(f.x0[n] - right, left - f.x1[n]))
            parts = (f.text[label], _MARKS[ticked])
            f.text[label] = " ".join(parts[::-1] if f.x0[label] >= left else parts)
            for values in (f.x0, f.y0, f.x1, f.y1, f.font, f.size, f.base, f.text):
                for n in reversed(ticks):
                    del values[n : n + 1]  # `base` may be empty
