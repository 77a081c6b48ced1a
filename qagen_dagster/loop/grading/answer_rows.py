"""Reads a file of answers row by row: which rows are valid, and which document each one is about.

The rows are read twice, so that a long file is never in memory: once for the documents, and once for the answers of each document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from qagen_dagster.errors import ConfigError
from qagen_dagster.local_file import open_file
from qagen_dagster.records.base import Record

MOST_BYTES = 16_000_000  # of one row


class RowFault(Record):
    """A row that was left out, by its 1-based line number."""

    line: int
    reason: str


@dataclass(frozen=True)
class Place:
    """The position of a row in the file."""

    line: int
    offset: int


@dataclass(frozen=True)
class Row:
    """One answer."""

    document: str
    question: str
    answer: str
    id: str


@dataclass(frozen=True)
class AnswerFile:
    """The valid rows of a file by document, in the order of the documents' first rows, and the invalid rows."""

    path: Path
    documents: dict[str, list[Place]]
    faults: tuple[RowFault, ...]

    def rows(self, places: Sequence[Place]) -> list[Row]:
        """The rows at `places`, in order."""
        found: list[Row] = []
        with open_file(self.path) as file:
            for place in places:
                file.seek(place.offset)
                found.append(read_row(file.readline(MOST_BYTES)))
        return found


def read_answers(path: Path) -> AnswerFile:
    """Scan the file. Raises ConfigError when it cannot be read."""
    documents: dict[str, list[Place]] = {}
    faults: list[RowFault] = []
    try:
        for place, line in lines(path):
            try:
                documents.setdefault(read_row(line).document, []).append(place)
            except ValueError as error:
                faults.append(RowFault(line=place.line, reason=str(error)))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    return AnswerFile(path, documents, tuple(faults))


def read_row(line: bytes) -> Row:
    """Raises ValueError, which says what is wrong."""
    fields = read_object(line)
    return Row(
        document=_word(fields, "document"),
        question=_text(fields, "question"),
        answer=_text(fields, "answer"),
        id=_word(fields, "id") if fields.get("id") is not None else "",
    )


def read_object(line: bytes) -> dict[str, object]:
    """The JSON object of one line. Raises ValueError, which says what is wrong."""
    if len(line) >= MOST_BYTES:
        raise ValueError(f"longer than {MOST_BYTES:,} bytes")
    try:
        value: object = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8").strip())
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise ValueError("not JSON that can be read") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return cast("dict[str, object]", value)


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if value is None:
        raise ValueError(f"it has no `{name}`")
    if not isinstance(value, str):
        raise ValueError(f"`{name}` is not text")
    return value.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be encoded


def _word(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = _text(fields, name).strip()
    if not text:
        raise ValueError(f"`{name}` is empty")
    return text


def lines(path: Path) -> Iterator[tuple[Place, bytes]]:
    """Lines that are not blank, each at most MOST_BYTES long."""
    offset = number = 0
    with open_file(path) as file:
        while line := file.readline(MOST_BYTES):
            number += 1
            if line.strip(b" \t\r\n\xef\xbb\xbf"):
                yield Place(number, offset), line
            while len(line) >= MOST_BYTES and not line.endswith(b"\n"):
                offset += len(line)
                line = file.readline(MOST_BYTES)
            offset += len(line)
