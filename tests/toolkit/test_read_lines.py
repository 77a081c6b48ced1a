from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Text
from qagen_dagster.records.document import Document, Outcome
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import row
from qagen_dagster.toolkit.read_lines import MAX_CHARACTERS, MAX_LINE_CHARACTERS, MAX_LINES, read_lines_tool

ROW = re.compile(r"^\s*(\d+)\| (.*)$")


def read(view: DocumentView, **arguments: object) -> str:
    (part,) = read_lines_tool(view).call(arguments)
    assert isinstance(part, Text)
    return part.text


def rows(output: str) -> dict[int, str]:
    found = [ROW.match(line) for line in output.split("\n")]
    return {int(match[1]): match[2] for match in found if match}


def plain(lines: tuple[str, ...]) -> DocumentView:
    document = Document(id="d", source="d", format="text", outcome=Outcome.PARSED, source_sha256="0" * 64)
    return DocumentView(document, lines)


def test_form(make_view) -> None:
    view = make_view("a\nb\nc\nd", pages=((1, 2), (3, 4)))
    assert read(view, start_line=2, end_line=3) == (
        "lines 2-3 of 4 (pages 1-2)\n<document_excerpt>\n2| b\n--- page 2 ---\n3| c\n</document_excerpt>"
    )


def test_no_pages_part_where_there_are_none(make_view) -> None:
    assert read(make_view("a\nb")).startswith("lines 1-2 of 2\n")


def test_empty_lines_are_left_out_and_counted(make_view) -> None:
    assert (
        read(make_view("a\n \n\nd")) == "lines 1-4 of 4\n<document_excerpt>\n1| a\n4| d\n</document_excerpt>"
    )


def test_page_without_text_is_marked(make_view) -> None:
    view = make_view("a\nb", pages=((1, 1), (2, 1), (2, 2)))
    assert "1| a\n--- page 2 ---\n--- page 3 ---\n2| b" in read(view)


def test_cut_says_how_to_go_on(make_view) -> None:
    view = make_view("\n".join(f"line {n}" for n in range(1, 1311)))
    output = read(view, start_line=41)
    assert output.endswith("[cut at line 440 of 1310: call read_lines(start_line=441) to go on]")
    assert rows(output)[440] == "line 440"
    assert len(rows(output)) == MAX_LINES


def test_end_beyond_the_document_is_its_end(make_view) -> None:
    assert read(make_view("a\nb"), start_line=2, end_line=99).startswith("lines 2-2 of 2\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"start_line": 0}, "lines 1-3"),
        ({"start_line": 4}, "lines 1-3"),
        ({"start_line": 3, "end_line": 2}, "3-3"),
        ({"start_line": "x"}, "start_line"),
        ({"from": 1}, "from"),
    ],
)
def test_bad_ranges_name_the_valid_one(make_view, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(ToolError, match=says):
        read(make_view("a\nb\nc"), **arguments)


def test_null_means_not_given(make_view) -> None:
    assert read(make_view("a\nb"), start_line=None, end_line=None).startswith("lines 1-2 of 2")


def test_document_cannot_end_the_excerpt(make_view) -> None:
    output = read(make_view("x </document_excerpt> y\n< / DOCUMENT_EXCERPT>"))
    assert output.count("</document_excerpt>") == 1
    assert "1| x <\\/document_excerpt> y" in output
    assert "2| <\\ / DOCUMENT_EXCERPT>" in output


def test_endless_line_is_cut_visibly(make_view) -> None:
    output = read(make_view("x" * 5_000))
    assert "3000 more characters of this line are hidden" in output
    assert "x" * 2_001 not in output


def test_no_text(make_view) -> None:
    assert "no text" in read(make_view(" \n"))


LINE = st.text(alphabet=st.characters(exclude_characters="\n\r<", exclude_categories=["Cs"]), max_size=60)


@given(lines=st.lists(LINE, min_size=1, max_size=60), data=st.data())
def test_every_row_is_the_documents_line(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    view = plain(tuple(lines))
    output = read(view, start_line=start, end_line=end)
    if view.has_text:
        assert rows(output) == {n: lines[n - 1] for n in range(start, end + 1) if lines[n - 1].strip()}


@given(lengths=st.lists(st.integers(0, 4_000), min_size=1, max_size=80))
def test_going_on_reaches_every_line_within_the_cap(lengths: list[int]) -> None:
    view = plain(("first", *("y" * length for length in lengths)))
    seen: list[int] = []
    start: int | None = 1
    while start is not None:
        output = read(view, start_line=start)
        assert len(output) <= MAX_CHARACTERS + 300
        seen += rows(output)
        note = re.search(r"start_line=(\d+)\)", output)
        start = int(note[1]) if note else None
    assert seen == [1, *(number for number, length in enumerate(lengths, 2) if length)]


@pytest.mark.parametrize(("more", "hidden"), [(80, False), (81, True)])
def test_no_note_takes_more_than_what_it_hides(more: int, hidden: bool) -> None:
    told = row(1, "x" * (MAX_LINE_CHARACTERS + more), MAX_LINE_CHARACTERS)
    assert (f"[{more} more characters of this line are hidden" in told) is hidden
