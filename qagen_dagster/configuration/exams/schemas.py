"""schemas.md into schemas, each `## M1. Title` one; a broken block is one error with its line, and the others are read.

Inside a block stand the parts `### Core thinking move`, `### Contexts`, `### Wrong paths` and perhaps `### Notes`.
Text before the first header is for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from qagen_dagster.errors import ConfigError
from qagen_dagster.records.exams.item import ExamSchema

_HEADER = re.compile(r"^##[ \t]+(\S.*)$")
_NAMED = re.compile(r"([A-Za-z]{1,16}[0-9]{1,4})\.[ \t]+(\S.*)")
_PART = re.compile(r"^###[ \t]+(\S.*)$")
_BULLET = re.compile(r"^[ \t]{0,3}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+")
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)")
_MOST_BYTES = 1_000_000
_PARTS = {
    "core thinking move": "core_move",
    "contexts": "contexts",
    "wrong paths": "wrong_paths",
    "notes": "notes",
}
_NEEDED = ("core_move", "contexts", "wrong_paths")
_TITLES = {field: title.capitalize() for title, field in _PARTS.items()}
_FEWEST_WRONG = 3  # four options at least, one of them right


@dataclass(frozen=True)
class Library:
    """The schemas of a file by id, in order, and what is wrong with the others; a fault's key is the schema's id."""

    schemas: dict[str, ExamSchema]
    faults: tuple[ConfigError, ...]


def read_schemas(path: Path) -> Library:
    """Read `path`. Raises ConfigError when the file as a whole cannot be read."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError("is larger than 1 MB", file=path)
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", file=path) from None
    found: dict[str, ExamSchema] = {}
    faults: list[ConfigError] = []
    for start, block in _blocks(lines):
        try:
            schema = _schema(block, start, path)
            if schema.id in found:
                first = found[schema.id].line
                raise ConfigError(
                    f"stands twice, first in line {first}", file=path, line=start, key=schema.id
                )
            found[schema.id] = schema
        except ConfigError as error:
            faults.append(error)
    return Library(found, tuple(faults))


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Each block with the line it starts on; what stands in a fence begins none."""
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
        raise ConfigError(f"{title!r} is no header of a schema: write '## M1. Title'", file=path, line=start)
    key = named.group(1)
    parts = _parts(block, start, path, key)
    for field in _NEEDED:
        if not parts.get(field):
            raise ConfigError(f"'### {_TITLES[field]}' is missing or empty", file=path, line=start, key=key)
    wrong = _items(parts["wrong_paths"])
    if len(wrong) < _FEWEST_WRONG:
        raise ConfigError(
            f"has {len(wrong)} wrong paths; at least {_FEWEST_WRONG} are needed",
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
    """The lines of each part, blank ones left out."""
    parts: dict[str, list[str]] = {}
    field = ""
    for number, line in enumerate(block[1:], start + 1):
        header = _PART.match(line)
        if header is not None:
            field = _PARTS.get(header.group(1).strip().rstrip(":").casefold(), "")
            if not field or field in parts:
                known = ", ".join(_TITLES.values())
                fault = "stands twice" if field else f"is no part of a schema (there are: {known})"
                raise ConfigError(f"'{line.strip()}' {fault}", file=path, line=number, key=key)
            parts[field] = []
        elif line.strip():
            if not field:
                raise ConfigError(
                    "text before the first '###' part of a schema", file=path, line=number, key=key
                )
            parts[field].append(line)
    return parts


def _items(lines: Sequence[str]) -> tuple[str, ...]:
    """One item per bullet; lines that follow belong to it. Without bullets each line is one."""
    bulleted = any(_BULLET.match(line) for line in lines)
    items: list[str] = []
    for line in lines:
        text = _BULLET.sub("", line).strip()
        if bulleted and not _BULLET.match(line) and items:
            items[-1] = f"{items[-1]} {text}"
        else:
            items.append(text)
    return tuple(items)
