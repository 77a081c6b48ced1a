"""Metadata from front matter, the YAML (`---`) or TOML (`+++`) block at the start of a Markdown file.

Only known keys with plain values are taken. A block that cannot be parsed is treated as text.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import yaml

from qagen_dagster.formats.lines import collapse
from qagen_dagster.records.document import Metadata

_MAX_LINES = 300
_MAX_LINE = 10_000
_ENDS = {"---": ("---", "..."), "+++": ("+++",)}


@dataclass(frozen=True)
class FrontMatter:
    """The metadata of the block, and how many lines of the file it takes (0 if there is none)."""

    line_count: int = 0
    metadata: Metadata = field(default_factory=Metadata)


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter of a file's lines."""
    mark = lines[0].rstrip() if lines else ""
    ends = _ENDS.get(mark)
    if ends is None:
        return FrontMatter()
    end = next((at for at, line in enumerate(lines[1:_MAX_LINES], 1) if line.rstrip() in ends), None)
    if end is None or any(len(line) > _MAX_LINE for line in lines[1:end]):
        return FrontMatter()
    values = _load("\n".join(lines[1:end]), toml=mark == "+++")
    if not values:
        return FrontMatter()
    return FrontMatter(end + 1, _metadata(values))


def _load(block: str, *, toml: bool) -> dict[str, object]:
    try:
        value: object = tomllib.loads(block) if toml else yaml.safe_load(block)
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(key).lower(): one for key, one in cast("dict[object, object]", value).items()}


def _metadata(values: dict[str, object]) -> Metadata:
    authors = values.get("authors", values.get("author"))
    names = cast("list[object]", authors) if isinstance(authors, list) else [authors]
    return Metadata(
        title=_line(values.get("title")),
        authors=tuple(name for one in names if (name := _author(one))),
        date=_line(values.get("date")),
        doi=_line(values.get("doi")),
        abstract=_line(values.get("abstract")) or _line(values.get("description")),
        language=_line(values.get("lang")) or _line(values.get("language")),
    )


def _author(value: object) -> str | None:
    return _line(cast("dict[str, object]", value).get("name") if isinstance(value, dict) else value)


def _line(value: object) -> str | None:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return collapse(str(value)) or None
