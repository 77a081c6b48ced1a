"""Finds the positions inside grapheme clusters (Unicode Annex 29), where a text must not be cut.

Only text around non-ASCII characters is examined: between two ASCII characters there is always a boundary, except in CR LF.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

_RUN = re.compile(r"\r\n|[\x20-\x7e]?+(?:[^\x00-\x7f]++[\x20-\x7e]?+)++")


@cache
def _cluster() -> regex.Pattern[str]:
    import regex  # only for texts that need it: the import takes as long as that of many modules

    return regex.compile(r"\X")


def inner_positions(text: str) -> frozenset[int]:
    """All offsets in `text` that are inside a grapheme cluster."""
    return frozenset(
        position
        for run in _RUN.finditer(text)
        for cluster in _cluster().finditer(text, run.start(), run.end())
        for position in range(cluster.start() + 1, cluster.end())
    )
