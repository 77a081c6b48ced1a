"""Finds running heads and feet: lines that recur at the edges of a document's pages. They stay in the text, but `search` leaves them out."""

import re
from collections.abc import Sequence

from qagen_dagster.records.document import PageSpan

_DIGITS = re.compile(r"\d+")
_EDGE_LINES = 2  # lines with text at the top, and at the bottom, of a page that may be its head or foot
_REPEATED_ON = (
    3  # minimum occurrences at page edges that make a line a running head; two may be a coincidence
)


def running_heads(pages: Sequence[PageSpan], lines: Sequence[str]) -> frozenset[int]:
    """Numbers of the lines that recur at page edges, with the same or other digits. The first occurrence of a line is not included."""
    found: dict[str, list[int]] = {}
    for page in pages:
        filled = [n for n in range(page.start_line, page.end_line + 1) if lines[n - 1].strip()]
        for number in {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]}:
            words = " ".join(_DIGITS.sub(" ", lines[number - 1]).split()).casefold()
            found.setdefault(words, []).append(number)
    return frozenset(
        number
        for words, numbers in found.items()
        if words and len(numbers) >= _REPEATED_ON
        for number in sorted(numbers)[1:]
    )
