"""The JSON Lines format: each row is one document.

A row is an object. The text is the first non-empty field of `content`, `text` and `abstract`. An `id` names the document. `title`,
`authors` (or `author`), `date` (or `year`), `doi`, `abstract`, `language` and `pdf_url` (or `url`) become metadata. Other fields are
ignored.
"""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import VERSIONS, Format, ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.decoding import ABSENT, collapse, decode, join_notes, looks_binary, split_lines
from qagen_dagster.formats.plain_text import looks_like_text
from qagen_dagster.formats.wrap import with_split_lines
from qagen_dagster.records.document import Metadata, Outcome

_TEXT_FIELDS = ("content", "text", "abstract")
_MOST_WHOLE = 1e15  # larger numbers with a decimal point or an exponent are not certain to be whole
_YEAR = re.compile(r"^(\d{4})\.0$")
_NAMES = re.compile(r"['\"]\s*,\s*['\"]")  # between the names of a list as Python writes it
_ROW = re.compile(r"[^ \t\r\n\ufeff\0][^\n]*")  # one match in each line that is not blank


@dataclass(frozen=True)
class _Row:
    number: int  # 1-based line in the file
    fields: dict[str, object]
    id: str | None


class JsonlFormat(Format):
    """`.jsonl` and `.ndjson` files, whose rows are documents."""

    name = "jsonl"
    version = VERSIONS["jsonl"]
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")

    def sniff(self, head: bytes) -> bool:
        """Whether the file is text that does not begin with `<`, as markup does; `parse` checks each row."""
        return looks_like_text(head) and head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"<"

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """Documents and failures in the order of rows. The line number names a row without id. Raises DocumentError: `empty`, `binary`,
        `not_what_it_says` if no line is a JSON object, or `too_large` if there are too many rows."""
        if looks_binary(source.data):
            raise DocumentError("binary", "too many control characters for a text")
        decoded = decode(source.data, options.encoding_of(source.name))
        count = sum(1 for _ in _ROW.finditer(decoded.text))  # before any row is parsed
        if count > options.max_rows:
            raise DocumentError("too_large", f"{count:,} rows; the limit is {options.max_rows:,}")
        # Only real line ends separate rows: JSON strings may hold other separators such as U+2028.
        lines = enumerate(decoded.text.replace("\r\n", "\n").split("\n"), start=1)
        rows = [_row(number, line) for number, line in lines if line.strip(" \t\r\ufeff\0")]
        if not rows:
            raise DocumentError("empty", "the file has no rows")
        if not any(isinstance(row, _Row) for row in rows):
            raise DocumentError("not_what_it_says", "no line is a JSON object")
        ids = {row.id for row in rows if isinstance(row, _Row) and row.id}
        seen: set[str] = set()
        return [
            row if isinstance(row, RowFailure) else _document(row, ids, seen, decoded.note) for row in rows
        ]


def _row(number: int, line: str) -> _Row | RowFailure:
    try:
        value: object = json.loads(line.strip("\ufeff\0"), parse_float=Decimal)
    except json.JSONDecodeError as error:
        return _failure(number, f"invalid JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return _failure(number, f"invalid JSON: {error}")
    if not isinstance(value, dict):
        return _failure(number, "not an object")
    fields = cast("dict[str, object]", value)
    fields = {name: _plain(value) for name, value in fields.items()}
    name = fields.get("id")
    if name is None or name == "":
        return _Row(number, fields, None)
    if isinstance(name, bool) or not isinstance(name, str | int):
        return _failure(number, "id is neither text nor a whole number")
    return _Row(number, fields, collapse(split_lines(str(name)).text) or None)


def _plain(value: object) -> object:
    """A value as a person would write it: a whole number without ".0", and None for the missing values of data frames."""
    if isinstance(value, Decimal):
        return int(value) if abs(value) < _MOST_WHOLE and value == int(value) else value
    is_absent = isinstance(value, float) or (isinstance(value, str) and value.strip() in ABSENT)
    return None if is_absent else value  # `json` reads decimals as Decimal, so a float is no number


def _failure(number: int, detail: str) -> RowFailure:
    return RowFailure(f"line-{number}", Outcome.CORRUPT, f"line {number}: {detail}")


def _document(row: _Row, ids: set[str], seen: set[str], note: str) -> ParsedText | RowFailure:
    name = row.id
    if name is None:
        name = str(row.number) if str(row.number) not in ids else f"row-{row.number}"
    if name in seen:
        return _failure(row.number, f"id {name!r} was given to an earlier row")
    seen.add(name)
    values = (row.fields.get(field) for field in _TEXT_FIELDS)
    text = next((value for value in values if isinstance(value, str) and value.strip()), "")
    found = split_lines(text)
    if not found.lines:
        why = f"line {row.number}: nothing in {', '.join(_TEXT_FIELDS)}"
        return RowFailure(name, Outcome.EMPTY, why, _metadata(row.fields))
    return with_split_lines(
        ParsedText(
            text=found.text,
            row=name,
            detail=join_notes(note, found.note),
            page_count=found.page_count,
            pages=found.pages,
            metadata=_metadata(row.fields),
        )
    )


def _metadata(fields: dict[str, object]) -> Metadata:
    return Metadata(
        title=_line(fields, "title"),
        authors=_authors(fields.get("authors") or fields.get("author")),
        date=_line(fields, "date") or _line(fields, "year"),
        doi=_line(fields, "doi"),
        abstract=_line(fields, "abstract"),
        language=_line(fields, "language"),
        url=_line(fields, "pdf_url") or _line(fields, "url"),
    )


def _authors(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = _NAMES.split(value.strip("[]'\"")) if value.startswith("[") else value.split(";")
    if not isinstance(value, list):
        return ()
    names = [_author(one) for one in cast("list[object]", value)]
    return tuple(name for name in names if name)


def _author(value: object) -> str:
    if isinstance(value, dict):
        name = cast("dict[str, object]", value)
        parts = (name.get("given") or name.get("first"), name.get("family") or name.get("last"))
        value = name.get("name") or " ".join(part for part in parts if isinstance(part, str))
    value = _plain(value)
    return _flat(value) if isinstance(value, str) else ""


def _line(fields: dict[str, object], name: str) -> str | None:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    return _YEAR.sub(r"\1", _flat(str(value))) or None


def _flat(text: str) -> str:
    return collapse(split_lines(text).text)
