"""The phrase before a question that names its document: "According to the "Costs" section of "Walls", "."""

from __future__ import annotations

import re

_FRAME = re.compile(
    r"(?:According to|In) (?:[^\"]{1,300}?|[^\"]{0,120}(?:\"[^\"]{1,400}\"[^\"]{0,250}?)+?), "
    r"(?=(?:what|which|who|when|where|why|how|by whom|for how long)\b)"
)


def quoted(title: str) -> str:
    """A title in double quotes; the quotes inside it become single ones."""
    return '"' + re.sub(r"[\"“”]", "'", title) + '"'


def split_frame(question: str) -> tuple[str, str]:
    """The frame, or an empty text, and the question without it."""
    found = _FRAME.match(question)
    return (question[: found.end()], question[found.end() :]) if found else ("", question)
