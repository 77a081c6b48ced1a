"""JSON lines: rows as documents, broken rows as failures."""

from __future__ import annotations

import json

import pytest

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.jsonl import JsonlFormat
from qagen_dagster.records.document import Outcome


def parse(data: bytes) -> list[ParsedText | RowFailure]:
    return JsonlFormat().parse(Source("rows.jsonl", data), ParseOptions())


def rows(*values: object) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def texts(data: bytes) -> list[tuple[str | None, str]]:
    return [(one.row, one.text) for one in parse(data) if isinstance(one, ParsedText)]


def test_rows_are_documents() -> None:
    data = rows(
        {"id": "a", "title": "T", "content": "one\r\ntwo\n", "other": "never shown", "count": 7},
        {"id": 12, "text": "twelve", "abstract": "short"},
        {"id": "c", "abstract": "only an abstract", "doi": "10.1/x"},
    )
    assert texts(data) == [("a", "one\ntwo"), ("12", "twelve"), ("c", "only an abstract")]


def test_fields_become_metadata() -> None:
    row = {"id": 1, "text": "x", "title": " A\nB ", "authors": ["Ada", {"name": "Grace"}, 3, ""]}
    entry = parse(rows({**row, "year": 2020, "doi": "10.1/x", "abstract": "s", "language": "fr"}))[0]
    assert isinstance(entry, ParsedText)
    found = entry.metadata
    assert (found.title, found.authors, found.date) == ("A B", ("Ada", "Grace"), "2020")
    assert (found.doi, found.abstract, found.language) == ("10.1/x", "s", "fr")
    entry = parse(rows({"id": 1, "text": "x", "authors": "Ada L; Grace H", "date": "2020-01-02"}))[0]
    assert isinstance(entry, ParsedText)
    assert (entry.metadata.authors, entry.metadata.date) == (("Ada L", "Grace H"), "2020-01-02")


def test_rows_without_id_are_named_by_their_line() -> None:
    data = b'{"text": "one"}\n\n{"text": "three", "id": null}\n{"id": "5", "text": "x"}\n{"text": "five"}\n'
    assert texts(data) == [("1", "one"), ("3", "three"), ("5", "x"), ("row-5", "five")]


@pytest.mark.parametrize(
    ("line", "outcome", "words"),
    [
        (b'{"id": "b", "text": ', Outcome.CORRUPT, "invalid JSON"),
        (b"[1, 2]", Outcome.CORRUPT, "not an object"),
        (b'"text"', Outcome.CORRUPT, "not an object"),
        (b'{"id": "a", "text": "again"}', Outcome.CORRUPT, "id 'a' was given to an earlier row"),
        (b'{"id": ["x"], "text": "y"}', Outcome.CORRUPT, "id is neither text nor a whole number"),
        (b'{"id": "b", "title": "no text"}', Outcome.EMPTY, "nothing in content, text, abstract"),
        (b'{"id": "b", "text": " \\n\\f"}', Outcome.EMPTY, "nothing in content, text, abstract"),
        (b'{"id": "b", "text": 5}', Outcome.EMPTY, "nothing in content, text, abstract"),
        (b"[" * 100_000, Outcome.CORRUPT, "invalid JSON"),
        (b'{"id": ' + b"9" * 5_000 + b', "text": "x"}', Outcome.CORRUPT, "invalid JSON"),
    ],
)
def test_a_broken_row_fails_alone(line: bytes, outcome: Outcome, words: str) -> None:
    found = parse(b'{"id": "a", "text": "first"}\n' + line + b'\n{"id": "z", "text": "last"}')
    named = "b" if outcome is Outcome.EMPTY else "line-2"
    assert [one.row for one in found] == ["a", named, "z"]
    failure = found[1]
    assert isinstance(failure, RowFailure)
    assert failure.outcome is outcome
    assert failure.detail.startswith("line 2: ")
    assert words in failure.detail


def test_pages_and_odd_characters_in_rows() -> None:
    entry = parse(rows({"id": "a", "text": "one\n\ftwo\r\nthree\u2028still three\ud800\0"}))[0]
    assert isinstance(entry, ParsedText)
    assert entry.text == "one\ntwo\nthree\u2028still three\ufffd"
    assert entry.page_count == 2
    assert entry.detail == "1 NUL character removed; 1 lone surrogate shown as U+FFFD"


def test_encodings_and_line_ends_of_the_file() -> None:
    data = '{"id": "a", "text": "é"}\r\n{"id": "b", "text": "ü"}\r\n'
    assert texts(b"\xef\xbb\xbf" + data.encode()) == [("a", "é"), ("b", "ü")]
    assert texts(data.encode("utf-16")) == [("a", "é"), ("b", "ü")]
    for inside in "\u2028\u2029\x85\x1c":  # line ends of Python's `splitlines`, but not of a file of rows
        row = json.dumps({"id": "a", "text": f"x{inside}y"}, ensure_ascii=False)
        assert texts(f"{row}\n{data}".encode())[0] == ("a", f"x{inside}y")


def test_files_that_hold_no_rows() -> None:
    with pytest.raises(DocumentError, match="empty"):
        parse(b" \n\n")
    with pytest.raises(DocumentError, match="not_what_it_says"):
        parse(b"id,text\n1,hello\n")
    with pytest.raises(DocumentError, match="binary"):
        parse(bytes(1_000))


def test_a_file_of_too_many_rows_is_too_large_as_a_whole() -> None:
    with pytest.raises(DocumentError, match="100,001 rows; the limit is 100,000") as error:
        parse(b"{}\n" * 100_001)
    assert error.value.outcome == Outcome.TOO_LARGE
    two = ParseOptions(max_rows=2)
    data = b'\xef\xbb\xbf\n \n{"id": "a", "text": "x"}\r\n\t\n' + b"\n" * 9 + b'{"id": "b", "text": "y"}'
    assert len(JsonlFormat().parse(Source("rows.jsonl", data), two)) == 2
    with pytest.raises(DocumentError, match="3 rows; the limit is 2"):
        JsonlFormat().parse(Source("rows.jsonl", data + b"\n{}"), two)


def test_what_a_data_frame_writes_where_nothing_is_is_absent() -> None:
    data = (
        b'{"id": "a", "title": NaN, "date": NaN, "doi": "nan", "authors": NaN, "text": "x"}\n'
        b'{"id": 3.0, "title": "<NA>", "year": 2021.0, "authors": ["Ada", NaN, "nan"], "text": "y"}\n'
        b'{"id": NaN, "title": "Inf", "year": Infinity, "content": "nan", "text": "z"}\n'
        b'{"id": "d", "year": -Infinity, "text": NaN, "abstract": "only"}'
    )
    found = [one for one in parse(data) if isinstance(one, ParsedText)]
    assert [(one.row, one.text) for one in found] == [("a", "x"), ("3", "y"), ("row-3", "z"), ("d", "only")]
    first, second, third, fourth = (one.metadata for one in found)
    assert (first.title, first.date, first.doi, first.authors) == (None, None, None, ())
    assert (second.title, second.date, second.authors) == (None, "2021", ("Ada",))
    assert (third.title, third.date, fourth.date) == ("Inf", None, None)


def test_values_keep_their_digits_and_lists_of_names_are_split() -> None:
    data = (
        b'{"id": "a", "title": 1.10, "doi": 10.10, "year": "2021.0", "authors": NaN, "author": "Ann", "text": "x"}\n'
        b'{"id": "b", "title": "NULL", "date": "Infinity", "authors": "[\'Ann Moe\', \\"Per O\'Neil\\"]", "text": "\\u00965 mg"}'
    )
    first, second = (one for one in parse(data) if isinstance(one, ParsedText))
    found = first.metadata
    assert (found.title, found.doi, found.date, found.authors) == ("1.10", "10.10", "2021", ("Ann",))
    assert (second.metadata.title, second.metadata.date, second.text) == (None, None, "\u20135 mg")
    assert second.metadata.authors == ("Ann Moe", "Per O'Neil")


def test_given_and_family_names_of_authors_are_joined() -> None:
    names = [{"given": "Ada", "family": "Finch"}, {"first": "Bo", "last": "Wren"}, {"family": "Moss"}]
    entry = parse(rows({"text": "x", "authors": names}))[0]
    assert isinstance(entry, ParsedText)
    assert entry.metadata.authors == ("Ada Finch", "Bo Wren", "Moss")
