"""Tables, code and commands out of the project's own documents."""

from __future__ import annotations

import re
from collections.abc import Iterator


def table(text: str, after: str) -> list[list[str]]:
    """Cells of the first table at or after some words, without its head."""
    lines = text[text.index(after) :].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows: list[list[str]] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> Iterator[str]:
    """Lines of code blocks and inline code that call `qagen`."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if line.startswith("qagen "))
    yield from (one for one in re.findall(r"`(qagen [a-z][^`\n]*)`", text) if ": error:" not in one)
