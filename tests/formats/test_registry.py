"""Choosing a format, and the one entry that never raises for bad input."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import VERSIONS, ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.registry import FORMATS, choose, failure_of, parse_file
from qagen_dagster.records.document import Outcome, Section
from tests.formats.misbehaving import Misbehaving

OPTIONS = ParseOptions(ocr=False)


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), "navy").save(out, "PNG")
    return out.getvalue()


def test_every_suffix_has_one_format() -> None:
    taken = [suffix for one in FORMATS for suffix in one.suffixes]
    assert len(taken) == len(set(taken))
    assert {".txt", ".md", ".pdf", ".xml", ".nxml", ".jsonl", ".png", ".jpg"} <= set(taken)


def test_versions_are_those_of_the_formats_in_their_order() -> None:
    assert list(VERSIONS.items()) == [(one.name, one.version) for one in FORMATS]


@pytest.mark.parametrize(("name", "loaded"), [("a.txt", False), ("a.md", False), ("a.pdf", True)])
def test_the_libraries_of_pdf_are_loaded_for_pdf_alone(name: str, loaded: bool) -> None:
    code = f"from qagen_dagster.formats import registry; import sys; registry.format_of({name!r}); "
    ended = subprocess.run(
        [sys.executable, "-c", code + "print('pymupdf' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == f"{loaded}\n"


@pytest.mark.parametrize(
    ("name", "data", "format_name"),
    [
        ("a.txt", b"hello\n", "text"),
        ("A.TXT", b"hello\n", "text"),
        ("sub/folder/notes.md", b"# Title\n", "markdown"),
        ("page.md", b"<h1 align=center>Title</h1>\n", "markdown"),
        ("a.pdf", b"%PDF-1.7\n", "pdf"),
        ("late.pdf", b"\n\n junk %PDF-1.4\n", "pdf"),
        ("a.xml", b"<?xml version='1.0'?><article><front/></article>", "jats"),
        ("a.nxml", b"\xef\xbb\xbf<article>", "jats"),
        ("utf16.xml", "<?xml version='1.0'?><article><body/></article>".encode("utf-16"), "jats"),
        ("rows.jsonl", b'{"id": 1}\n', "jsonl"),
        ("photo.jpeg", png(), "image"),
        ("wide.txt", "text without a mark".encode("utf-16-le"), "text"),
    ],
)
def test_suffix_and_content_agree(name: str, data: bytes, format_name: str) -> None:
    assert choose(Source(name, data)).name == format_name


@pytest.mark.parametrize(
    ("name", "data", "outcome", "words"),
    [
        ("report.pdf", b"<html><body>404 Not Found</body></html>\n", "not_what_it_says", "an HTML page"),
        ("report.pdf", b"\n <!DOCTYPE HTML>\n<title>x</title>", "not_what_it_says", "an HTML page"),
        ("report.pdf", gzip.compress(b"%PDF-1.4", mtime=0), "not_what_it_says", "gzip"),
        ("report.pdf", b"just some words", "not_what_it_says", "something else, not pdf"),
        ("report.pdf", bytes(range(256)) * 4, "not_what_it_says", "binary data"),
        ("sheet.md", b"PK\x03\x04" + bytes(2_000), "binary", "ZIP"),
        ("image.txt", png(), "binary", "a PNG image"),
        ("doc.txt", b"%PDF-1.4 plain", "not_what_it_says", "a PDF"),
        ("feed.xml", b"<?xml version='1.0'?><rss/>", "not_what_it_says", "XML, not jats"),
        ("photo.png", b"%PDF-1.4", "not_what_it_says", "a PDF, not image"),
        ("rows.jsonl", b"<html></html>", "not_what_it_says", "an HTML page"),
        ("lfs.pdf", b"version https://git-lfs.github.com/spec/v1\n", "not_what_it_says", "Git LFS pointer"),
        ("letter.docx", b"PK\x03\x04", "unsupported", ".docx"),
        ("Makefile", b"all:\n", "unsupported", "without a suffix"),
        ("empty.txt", b"", "empty", "no bytes"),
        ("empty.pdf", b"", "empty", "no bytes"),
    ],
)
def test_contradictions_have_a_name_and_a_line(name: str, data: bytes, outcome: str, words: str) -> None:
    with pytest.raises(DocumentError) as failure:
        choose(Source(name, data))
    assert failure.value.outcome == outcome
    assert words in failure.value.detail
    assert "\n" not in failure.value.detail
    parsed = parse_file(Source(name, data), OPTIONS)
    assert (parsed.outcome, parsed.entries) == (Outcome(outcome), ())


def test_parse_file_tells_who_read_what() -> None:
    parsed = parse_file(Source("a.txt", b"one\ntwo\n"), OPTIONS)
    assert (parsed.name, parsed.outcome, parsed.format) == ("a.txt", Outcome.PARSED, "text")
    assert parsed.parser.startswith("text-")
    assert parsed.bytes == 8
    assert parsed.sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert parsed.entries == (ParsedText(text="one\ntwo"),)


def test_the_outcome_of_a_single_document_is_that_of_its_file() -> None:
    parsed = parse_file(Source("a.png", png()), OPTIONS)
    assert parsed.outcome is Outcome.NO_TEXT
    assert "OCR is off" in parsed.detail
    assert len(parsed.entries) == 1


def test_limits_hold_for_every_format() -> None:
    assert parse_file(Source("a.txt", b"12345"), ParseOptions(max_bytes=4)).outcome is Outcome.TOO_LARGE
    assert parse_file(Source("a.txt", b"12345"), ParseOptions(max_chars=4)).outcome is Outcome.TOO_LARGE
    assert parse_file(Source("a.txt", b"1\f2\f3"), ParseOptions(max_pages=2)).outcome is Outcome.TOO_LARGE
    rows = b'{"id": "a", "text": "12345"}\n{"id": "b", "text": "1"}\n'
    parsed = parse_file(Source("a.jsonl", rows), ParseOptions(max_chars=4))
    assert parsed.outcome is Outcome.PARSED
    assert [one.outcome for one in parsed.entries] == [Outcome.TOO_LARGE, Outcome.PARSED]


def test_a_parsers_exception_is_corrupt_with_its_name() -> None:
    parsed = parse_file(Source("a.bad", b"raise"), OPTIONS, (Misbehaving(),))
    assert (parsed.outcome, parsed.detail) == (
        Outcome.CORRUPT,
        "ZeroDivisionError: integer division or modulo by zero",
    )


def test_sections_come_in_the_order_of_their_lines() -> None:
    sections = tuple(Section(title=str(line), level=1, start_line=line) for line in (2, 1, 3))

    class Unsorted(Misbehaving):
        def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
            return [ParsedText(text="1\n2\n3", sections=sections)]

    (entry,) = parse_file(Source("a.bad", b"x"), OPTIONS, (Unsorted(),)).entries
    assert isinstance(entry, ParsedText)
    assert [one.start_line for one in entry.sections] == [1, 2, 3]


def test_memory_has_its_own_outcome() -> None:
    assert failure_of(MemoryError())[0] is Outcome.OUT_OF_MEMORY
    assert failure_of(RuntimeError("malloc of 3 bytes failed"))[0] is Outcome.OUT_OF_MEMORY
    assert failure_of(DocumentError("no such outcome", "x"))[0] is Outcome.CORRUPT
    long = failure_of(ValueError("word " * 1_000))[1]
    assert len(long) <= 320
    assert "\n" not in long


SHAPES = st.sampled_from(
    [
        b"",
        b"%PDF-1.7\n",
        b"<article><front><article-meta>",
        b"<?xml version='1.0'?>\n<article>",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"---\ntitle: x\n---\n",
        b'{"id": 1, "text": "',
        b"| a | b |\n|---|---|\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(sorted({suffix for one in FORMATS for suffix in one.suffixes} | {".zip", ""})),
    start=SHAPES,
    data=st.binary(max_size=600) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")),
)
def test_random_bytes_never_raise(name: str, start: bytes, data: bytes) -> None:
    source = Source(f"file{name}", start + data)
    parsed = parse_file(source, OPTIONS)
    assert "\n" not in parsed.detail
    for entry in parsed.entries:
        if isinstance(entry, ParsedText):
            check_positions(entry)
    if parsed.outcome is Outcome.PARSED:
        found = choose(source)
        for entry in parsed.entries:
            visuals = found.visuals(source, entry.row, OPTIONS)
            count = entry.text.count("\n") + 1 if isinstance(entry, ParsedText) else 0
            labels = [one.label for one in visuals]
            assert len(labels) == len(set(labels))
            for one in visuals:
                if one.start_line is not None and one.end_line is not None:
                    assert 1 <= one.start_line <= one.end_line <= count


def check_positions(entry: ParsedText) -> None:
    """What every format promises of its text and positions."""
    text = entry.text
    assert not set(text) & {"\r", "\f", "\0"}
    assert not text.endswith("\n")
    text.encode("utf-8")
    lines = text.split("\n") if text else []
    if entry.pages:
        assert entry.page_count == len(entry.pages)
        covered: list[str] = []
        for number, span in enumerate(entry.pages, start=1):
            assert span.page == number
            assert span.start_line == len(covered) + 1
            assert span.end_line >= span.start_line - 1
            covered.extend(lines[span.start_line - 1 : span.end_line])
        assert covered == lines
    for section in entry.sections:
        assert 1 <= section.start_line <= len(lines)
    starts = [section.start_line for section in entry.sections]
    assert starts == sorted(starts)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), max_size=8))
def test_rows_of_any_text_keep_their_positions(texts: list[str]) -> None:
    rows = "\n".join(json.dumps({"id": f"r{at}", "text": text}) for at, text in enumerate(texts))
    for entry in parse_file(Source("a.jsonl", rows.encode()), OPTIONS).entries:
        if isinstance(entry, ParsedText):
            check_positions(entry)
