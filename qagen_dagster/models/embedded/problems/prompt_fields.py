"""Parsing of a prompt about a problem: its labelled lines and its tagged parts."""

from __future__ import annotations

import re

_PARTS = ("problem", "item", "items", "solution", "ideas", "earlier", "description")


def label_of(prompt: str, name: str) -> str:
    """The value of the line `name: value`; empty without one. Lines inside tagged parts are ignored."""
    head = re.split(rf"^<(?:{'|'.join(_PARTS)})>$", prompt, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(rf"^{re.escape(name)}:[ \t]*(.*)$", head, re.MULTILINE)
    return found.group(1).strip() if found else ""


def part_of(prompt: str, name: str) -> str:
    """The text between the lines `<name>` and `</name>`; empty without them."""
    start = re.search(rf"^<{name}>$", prompt, re.MULTILINE)
    end = re.search(rf"^</{name}>$", prompt[start.end() :], re.MULTILINE) if start else None
    return prompt[start.end() : start.end() + end.start()].strip() if start and end else ""


class UnableError(ValueError):
    """The task cannot be done correctly; the message gives the reason in one line."""
