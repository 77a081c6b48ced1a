"""Short text with formulas as models write it: LaTeX that lost its backslashes to JSON or YAML escapes, unquoted numbers."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

# "\frac" in a JSON string is a form feed and "rac". No question holds a form feed or a backspace; a tab, a carriage
# return or a line feed is one of LaTeX only before the rest of a command.
_LOST: Final = (
    (re.compile("\f"), r"\\f"),
    (re.compile("\x08"), r"\\b"),
    (re.compile("\t(?=(?:imes|heta|an|ext|extbf|ag|au|frac|riangle|o|op)(?![a-z]))"), r"\\t"),
    (re.compile("\r(?=(?:ho|ight|angle|ightarrow)(?![a-z]))"), r"\\r"),
    (re.compile("\n(?=(?:u|eq|abla|eg)(?![a-z]))"), r"\\n"),
)


def mended(value: object) -> object:
    """Text with its LaTeX commands whole again; an integer or a decimal number as text; anything else as it is."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return value
    for lost, command in _LOST:
        value = lost.sub(command, value)
    return value.strip()


MathText = Annotated[
    str, Field(min_length=1), BeforeValidator(mended), WithJsonSchema({"type": "string", "minLength": 1})
]
