"""Reads the schemas of a schemas.md. A broken schema is one error with its line and does not affect the others.

A schema begins with a header such as `## M1. Title`. Its parts are `### Core thinking move`, `### Contexts`,
`### Wrong paths` and optionally `### Notes`. Text before the first header is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from qagen_dagster.configuration.files import read_config_text
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.exams.item import ExamSchema

_HEADER = re.compile(r"^##[ \t]+(\S.*)$")
_NAMED = re.compile(r"([A-Za-z]{1,16}[0-9]{1,4})\.[ \t]+(\S.*)")
_PART = re.compile(r"^###[ \t]+(\S.*)$")
_BULLET = re.compile(r"^[ \t]{0,3}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+")
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)")
_PARTS = {
    "core thinking move": "core_move",
    "contexts": "contexts",
    "wrong paths": "wrong_paths",
    "notes": "notes",
}
_NEEDED = ("core_move", "contexts", "wrong_paths")
_TITLES = {field: title.capitalize() for title, field in _PARTS.items()}
_FEWEST_WRONG = 3  # an item has at least four options, and one of them is right


@dataclass(frozen=True)
class Library:
    """The valid schemas of a file by id, in order, and the errors of the others. The key of an error is the schema's id."""

    schemas: dict[str, ExamSchema]
    faults: tuple[ConfigError, ...]


def read_schemas(path: Path) -> Library:
    """Read `path`. Raises ConfigError when the file as a whole cannot be read."""
    lines = read_config_text(path).splitlines()
    found: dict[str, ExamSchema] = {}
    faults: list[ConfigError] = []
    for start, block in _blocks(lines):
        try:
            schema = _schema(block, start, path)
            if schema.id in found:
                first = found[schema.id].line
                raise ConfigError(
                    f"is defined twice, first in line {first}", file=path, line=start, key=schema.id
                )
            found[schema.id] = schema
        except ConfigError as error:
            faults.append(error)
    return Library(found, tuple(faults))


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Each block with its first line number. A header inside a code fence does not begin a block."""
    start, block, fenced = 0, list[str](), False
    for number, line in enumerate(lines, 1):
        if _HEADER.match(line) and not fenced:
            if start:
                yield start, block
            start, block = number, []
        fenced ^= bool(_FENCE.match(line))
        block.append(line)
    if start:
        yield start, block


def _schema(block: Sequence[str], start: int, path: Path) -> ExamSchema:
    title = block[0].removeprefix("##").strip()
    named = _NAMED.fullmatch(title)
    if named is None:
        raise ConfigError(
            f"{title!r} is not a schema header; write it like '## M1. Title'", file=path, line=start
        )
    key = named.group(1)
    parts = _parts(block, start, path, key)
    for field in _NEEDED:
        if not parts.get(field):
            raise ConfigError(f"'### {_TITLES[field]}' is missing or empty", file=path, line=start, key=key)
    wrong = _items(parts["wrong_paths"])
    if len(wrong) < _FEWEST_WRONG:
        raise ConfigError(
            f"has {len(wrong)} wrong paths, but needs at least {_FEWEST_WRONG}",
            file=path,
            line=start,
            key=key,
        )
    return ExamSchema(
        id=key,
        title=named.group(2).strip(),
        core_move=" ".join(" ".join(parts["core_move"]).split()),
        contexts=_items(parts["contexts"]),
        wrong_paths=wrong,
        notes=_items(parts.get("notes", [])),
        text="\n".join(block).strip(),
        line=start,
    )


def _parts(block: Sequence[str], start: int, path: Path, key: str) -> dict[str, list[str]]:
    """The lines of each part, without blank lines."""
    parts: dict[str, list[str]] = {}
    field = ""
    for number, line in enumerate(block[1:], start + 1):
        header = _PART.match(line)
        if header is not None:
            field = _PARTS.get(header.group(1).strip().rstrip(":").casefold(), "")
            if not field or field in parts:
                known = ", ".join(_TITLES.values())
                fault = "is given twice" if field else f"is not a part of a schema (parts: {known})"
                raise ConfigError(f"'{line.strip()}' {fault}", file=path, line=number, key=key)
            parts[field] = []
        elif line.strip():
            if not field:
                raise ConfigError(
                    "there is text before the first '###' part of this schema",
                    file=path,
                    line=number,
                    key=key,
                )
            parts[field].append(line)
    return parts


def _items(lines: Sequence[str]) -> tuple[str, ...]:
    """One item per bullet, with the lines that follow it. Without bullets each line is an item."""
    bulleted = any(_BULLET.match(line) for line in lines)
    items: list[str] = []
    for line in lines:
        text = _BULLET.sub("", line).strip()
        if bulleted and not _BULLET.match(line) and items:
            items[-1] = f"{items[-1]} {text}"
        else:
            items.append(text)
    return tuple(items)
