"""Bytes of JSON and JSON Lines files."""

from __future__ import annotations

import json
from collections.abc import Iterable

_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


def json_file(value: object) -> bytes:
    """UTF-8, two spaces of indent, a newline at the end."""
    return f"{json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()


def json_lines(rows: Iterable[object]) -> bytes:
    """UTF-8, one value per line. No line contains a character that some readers take for a line break."""
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()
