"""Where a text must not be cut: inside what a reader sees as one character (Unicode Annex 29, extended grapheme clusters).

Only runs around characters beyond ASCII are looked at: between two ASCII characters that are no CR LF there is always
a boundary.
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
