"""LaTeX of several lines as models write it into JSON: backslashes lost to escapes or doubled, a code fence around it.

Single formulas are `records/text.py`'s: there a line feed is always a lost command, here a line may begin with u.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

_LOST: Final = (
    (re.compile("\f"), r"\\f"),
    (re.compile("\x08"), r"\\b"),
    (re.compile("\t(?=(?:imes|heta|an|ext|extbf|extit|ag|au|frac|riangle|o|op|ask|itle)(?![a-z]))"), r"\\t"),
    (re.compile("\r(?=(?:ho|ight|angle|ightarrow|aisebox|m)(?![a-z]))"), r"\\r"),
    (re.compile("\n(?=(?:eq|abla|ewline|oindent)(?![a-z]))"), r"\\n"),
)
_FENCE = re.compile(r"\A\s*```[A-Za-z]{0,10}[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_DOUBLED = re.compile(r"\A\\\\(?:item|begin)(?![A-Za-z])")


def mended_latex(value: object) -> object:
    """LaTeX with its commands whole again, without a fence and without space around it; no text is left as it is."""
    if not isinstance(value, str):
        return value
    fenced = _FENCE.match(value)
    text = fenced.group(1) if fenced else value
    for lost, command in _LOST:
        text = lost.sub(command, text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return text.replace("\\\\", "\\") if _DOUBLED.match(text) else text


LatexText = Annotated[
    str,
    Field(min_length=1, max_length=60_000),
    BeforeValidator(mended_latex),
    WithJsonSchema({"type": "string", "minLength": 1}),
]
