"""Passages, sentences, blocks, tables and answer values: places never get lost, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.models.embedded.conversation import Exchange, Line, document_rows, rows, section
from qagen_dagster.models.embedded.text.blocks import Kind, segment, tables
from qagen_dagster.models.embedded.text.passages import join_lines, plain, split

TEXTS = st.lists(st.text(alphabet="ab C.*`_[]()|-!#<>\\1 é", max_size=40), max_size=8)


def numbered(lines: list[str]) -> list[Line]:
    return [Line(number, text) for number, text in enumerate(lines, 1)]


@given(TEXTS)
def test_every_character_of_a_passage_stands_where_it_says(lines: list[str]) -> None:
    passage = join_lines(numbered(lines))
    for char, (line, column) in zip(passage.text, passage.places, strict=True):
        assert char == " " or lines[line - 1][column] == char


@given(TEXTS)
def test_quotes_are_the_documents_own_text(lines: list[str]) -> None:
    document = "\n".join(lines)
    for block in segment(numbered(lines)):
        for sentence in split(block.passage):
            assert sentence.passage.quote().text in document


@given(TEXTS)
def test_segmenting_never_fails_and_keeps_the_order(lines: list[str]) -> None:
    starts = [block.lines[0].number for block in segment(numbered(lines))]
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("the **bold** and *slanted* `code`", "the bold and slanted code"),
        ("see [the guide](https://x.example/a_b) now", "see the guide now"),
        ("![picture](a.png)text", "text"),
        ("a **<name>** of a file", "a <name> of a file"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
    ],
)
def test_markup_goes_and_text_stays(raw: str, clean: str) -> None:
    text, columns = plain(raw)
    assert text == clean
    assert "".join(raw[column] for column in columns) == clean


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("Press <kbd>Ctrl</kbd><kbd>C</kbd>.", "Press Ctrl C ."),
        ("one<br/>two<!-- three -->", "one two"),
        ("<b>bold</b>ly", "boldly"),
        ("2<sup>64</sup> of H<sub>2</sub>O", "2^64 of H_2O"),
        ("`<b>` is a tag, <file> is none", "<b> is a tag, <file> is none"),
    ],
)
def test_tags_leave_what_a_reader_sees(raw: str, clean: str) -> None:
    assert join_lines(numbered([raw])).text == clean


def test_no_fact_is_taken_from_a_paragraph_with_letters_that_were_not_read() -> None:
    lines = ["The pump weighs", "12\ufffd34 kilograms.", "", "It has two valves."]
    assert [block.kind for block in segment(numbered(lines))] == [Kind.CODE, Kind.TEXT]


def test_comments_are_neither_headings_nor_text() -> None:
    lines = ["# Mills", "<!-- old:", "# Wheels", "It had six.", "-->", "It has four wheels now."]
    blocks = segment(numbered(lines))
    assert [(block.kind, block.passage.text) for block in blocks] == [
        (Kind.HEADING, "# Mills"),
        (Kind.TEXT, "It has four wheels now."),
    ]


def test_hyphens_at_line_ends() -> None:
    assert join_lines(numbered(["Mr. Al-", "Rikabi re-", "turned"])).text == "Mr. Al-Rikabi returned"


def test_abbreviations_do_not_end_sentences() -> None:
    text = "Dr. Ames v. U.S. Steel et al. was heard at 5 p.m. on Jan. 3 in No. 12. It ended soon."
    assert len(list(split(join_lines(numbered([text]))))) == 2


def test_double_spaced_lines_make_one_paragraph() -> None:
    lines = [
        text for n in range(14) for text in (f"line {n} of a paragraph that goes on and on for a while", "")
    ]
    blocks = segment(numbered(lines))
    assert [block.kind for block in blocks] == [Kind.TEXT]


def test_tables_need_a_header_and_even_rows() -> None:
    good = ["| A | B |", "|---|---|", "| x \\| y | 1 |"]
    table = tables(segment(numbered(good)))[0]
    assert table.rows[0].cells == ("x \\| y", "1") or table.rows[0].cells == ("x | y", "1")
    assert not tables(segment(numbered(["| A | B |", "|---|---|", "| x |"])))


def test_rows_of_tool_answers_carry_their_page() -> None:
    text = "lines 3-5 of 9 (pages 1-2)\n3| a\n--- page 2 ---\n4|  b | c\n5|> d\n[cut]"
    assert rows(text) == [Line(3, "a"), Line(4, " b | c", 2), Line(5, "d", 2)]


def test_lines_that_were_left_out_as_empty_are_known_with_their_page() -> None:
    text = "lines 3-7 of 9 (pages 1-2)\n3| a\n--- page 2 ---\n5| b\n[cut]"
    known = document_rows([Exchange("read_lines", {}, text, False)])
    assert [(line.number, line.text, line.page) for line in known.values()] == [
        (3, "a", None), (5, "b", 2), (4, "", None), (6, "", 2), (7, "", 2),
    ]  # fmt: skip


def test_sections_of_a_prompt() -> None:
    prompt = "Question:\nWho?\n\nProposed answer:\nA: b\nc\n\nEvidence:\nx"
    assert section(prompt, "Question") == "Who?"
    assert section(prompt, "Proposed answer") == "A: b\nc"
    assert section(prompt, "Missing") == ""
