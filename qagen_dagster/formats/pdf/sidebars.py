"""Sidebars: narrow columns of small print beside a title, such as the dates and the citation of an article."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.formats.pdf.fragments import Fragments

_TITLE = 14  # tenths of the usual letter size that a title has at least
_TITLE_PARTS = 6  # fragments that it has at most
_TITLE_CHARS = 8
_PARTS = 3  # fragments that a sidebar has at least
_ACROSS = 5  # tenths of a point
_FAR = 1 << 30


def parted(f: Fragments, which: Sequence[int]) -> list[Sequence[int]]:
    """The fragments in parts to be read one after the other: a sidebar, what is beside it, what is above and below."""
    sizes = sorted([f.size[n] for n in which])
    if 10 * sizes[-1] < _TITLE * sizes[len(sizes) // 2]:
        return [which]
    title = [n for n in which if 10 * f.size[n] >= 9 * sizes[-1]]
    if len(title) > _TITLE_PARTS or sum(len(f.text[n]) for n in title) < _TITLE_CHARS:
        return [which]
    top, bottom = min(f.y0[n] for n in title), max(f.y1[n] for n in title)
    level = [n for n in which if top <= _middle(f, n) <= bottom and n not in title]
    if not level:
        return [which]
    edge = min(f.x0[n] for n in title)  # the left edge of what stands on the right
    is_left = all(f.x1[n] < edge for n in level)
    if not is_left:
        edge = min(f.x0[n] for n in level)
        if edge <= max(f.x1[n] for n in title):
            return [which]
    across = [n for n in which if f.x0[n] < edge - _ACROSS < f.x1[n]]
    start = max((f.y1[n] for n in across if f.y1[n] <= bottom), default=0)
    end = min((f.y0[n] for n in across if f.y0[n] >= top), default=_FAR)
    beside = [n for n in which if start <= _middle(f, n) <= end]
    left, right = ([n for n in beside if (f.x0[n] < edge - _ACROSS) == side] for side in (True, False))
    if len(left if is_left else right) < _PARTS:
        return [which]
    above, below = ([n for n in which if _middle(f, n) < start], [n for n in which if _middle(f, n) > end])
    return [part for part in (above, left, right, below) if part]


def _middle(f: Fragments, n: int) -> int:
    return f.y0[n] + f.y1[n] >> 1
