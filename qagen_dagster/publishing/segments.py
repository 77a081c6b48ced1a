"""Splits texts of items into prose, inline formulas and display formulas, for all formats."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["prose", "inline", "display"]
_FENCES: tuple[tuple[str, str, Kind], ...] = (
    ("$$", "$$", "display"),
    ("$", "$", "inline"),
    ("\\[", "\\]", "display"),
    ("\\(", "\\)", "inline"),
)


class Segment(NamedTuple):
    """A piece of a text; a formula is without its delimiters."""

    kind: Kind
    text: str


def split(text: str) -> list[Segment]:
    r"""Prose and formulas, in order. `\$` is a dollar sign in the prose; an unclosed delimiter is prose, too."""
    found: list[Segment] = []
    prose: list[str] = []
    hopeless: set[str] = set()  # unclosed delimiters: each is searched for once, so that time stays linear
    at = 0
    while at < len(text):
        if text.startswith("\\$", at):
            prose.append("$")
            at += 2
            continue
        formula = _formula(text, at, hopeless)
        if formula is None:
            prose.append(text[at])
            at += 1
            continue
        if prose:
            found.append(Segment("prose", "".join(prose)))
            prose.clear()
        segment, at = formula
        found.append(segment)
    if prose:
        found.append(Segment("prose", "".join(prose)))
    return found


def xml_text(text: str) -> str:
    """`text` without the characters that XML cannot hold."""
    return "".join(
        char for char in text if char in "\t\n" or (char >= " " and not 0xD800 <= ord(char) <= 0xDFFF
                                                    and char not in "\ufffe\uffff")
    )  # fmt: skip


def _formula(text: str, at: int, hopeless: set[str]) -> tuple[Segment, int] | None:
    for opening, closing, kind in _FENCES:
        if not text.startswith(opening, at) or closing in hopeless:
            continue
        start = at + len(opening)
        end = _closing(text, closing, start)
        if end < 0:
            hopeless.add(closing)
        elif text[start:end].strip():
            return Segment(kind, text[start:end].strip()), end + len(closing)
    return None


def _closing(text: str, fence: str, start: int) -> int:
    end = text.find(fence, start)
    while fence.startswith("$") and end > 0 and text[end - 1] == "\\":
        end = text.find(fence, end + 1)
    return end
