"""Text for people: harmless in a terminal and in Markdown, and lists that are cut short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

_CONTROLS = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_MARKDOWN = re.compile(r"[\\\[\]|*]")
_MOST = 3  # names in a line
_ADDRESS = re.compile(r"(?i)(:(?=//)|@|www(?=\.))")


def visible(text: str) -> str:
    r"""Control characters and marks that turn the direction of text become escapes such as `\u001b`, as in JSON."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def markdown_text(text: str) -> str:
    """Markdown that shows the text as it is: no emphasis, no image, no link and no HTML. An invisible word joiner ends addresses."""
    shown = _MARKDOWN.sub(r"\\\g<0>", visible(text).replace("`", "'"))
    return _ADDRESS.sub("\\1\u2060", escape(shown, quote=False))


def counted(what: str, names: Iterable[str]) -> Iterator[str]:
    """One line with the number of things and the first names; no line if there is none."""
    found = list(names)
    if found:
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        yield f"{what} ({len(found)}): {', '.join(found[:_MOST])}{more}"
