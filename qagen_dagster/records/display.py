"""Makes text of models and documents harmless where a person reads it: in a terminal and in Markdown."""

from __future__ import annotations

import re
from html import escape

_CONTROLS = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_MARKDOWN = re.compile(r"[\\\[\]|]")
_ADDRESS = re.compile(r"(?i)(:(?=//)|@|www(?=\.))")


def visible(text: str) -> str:
    r"""Control characters and marks that turn the direction of text become escapes such as `\u001b`, as in JSON."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def markdown_text(text: str) -> str:
    """Markdown that shows the text as it is: no image, no link and no HTML. An invisible word joiner ends addresses."""
    shown = _MARKDOWN.sub(r"\\\g<0>", visible(text).replace("`", "'"))
    return _ADDRESS.sub("\\1\u2060", escape(shown, quote=False))
