"""Labels of visuals: the name in a caption, and labels that are unique in a document."""

from __future__ import annotations

import re

_CAPTION = re.compile(
    r"\W{0,6}(?P<word>Table|Figure|Fig\.?|Box|Scheme|Chart|Exhibit|Plate|Video|Equation|Diagram)"
    r"[ \u00a0]{1,3}(?P<number>[A-Z]?\d{1,4}(?:[.\u2013-]\d{1,3}){0,3}[A-Za-z]?|[IVXLC]{1,6})(?![\w])",
    re.IGNORECASE,
)
_WORDS = {"fig": "Figure", "fig.": "Figure"}


def caption_label(caption: str) -> str:
    """The name that a caption gives its visual ("Table 2", "Figure 1"); empty when there is none."""
    found = _CAPTION.match(caption)
    if found is None:
        return ""
    word = found["word"].lower()
    return f"{_WORDS.get(word, word.capitalize())} {found['number']}"


class Labels:
    """Gives each visual of one document a unique label."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, wanted: str) -> str:
        """`wanted`, or `wanted (2)`, `wanted (3)`, ... if an earlier visual has that label."""
        label, number = wanted, 1
        while label.casefold() in self._taken:
            number += 1
            label = f"{wanted} ({number})"
        self._taken.add(label.casefold())
        return label
