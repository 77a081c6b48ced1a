"""Finds the grapheme clusters of a text (Unicode Annex 29), so that nothing cuts what a reader sees as one character.

Only runs around non-ASCII characters are examined: between two ASCII characters other than CR LF there is always a boundary.
"""

from __future__ import annotations

import re

import regex

_RUN = re.compile(r"\r\n|[\x20-\x7e]?+(?:[^\x00-\x7f]++[\x20-\x7e]?+)++")
_CLUSTER = regex.compile(r"\X")


def inner_positions(text: str) -> frozenset[int]:
    """Every offset of `text` that lies inside a grapheme cluster."""
    return frozenset(
        position
        for run in _RUN.finditer(text)
        for cluster in _CLUSTER.finditer(text, run.start(), run.end())
        for position in range(cluster.start() + 1, cluster.end())
    )
