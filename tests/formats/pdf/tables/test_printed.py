"""Tables in letters of one width: their cells are parted by columns of blanks, also where one blank parts words."""

from __future__ import annotations

from dataclasses import replace

import pymupdf
import pytest

from qagen_dagster.formats.pdf.fragments import Font, fragments_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.tables.printed import part_printed
from tests.formats.pdf.samples import lines, pdf

WIDTH = 5.4  # of a letter of 9 points


def put(page: pymupdf.Page, rows: list[str], font: str = "cour") -> None:
    """Rows of text; two blanks or more part their pieces, as in files of programs."""
    for n, row in enumerate(rows):
        at = 0
        for piece in row.split("  "):
            text = piece.strip()
            place = row.index(text, at)
            page.insert_text((60 + place * WIDTH, 100 + n * 11), text, fontsize=9, fontname=font)
            at = place + len(text)


def shown(*rows: str) -> list[str]:
    return lines(pdf(lambda page: put(page, list(rows))))


def test_values_with_one_blank_between_them_are_cells():
    assert shown(
        "             depth  rain days",
        "Port Carrick 12.50 840.0    9",
        "Gannet Point  9.25   1.5   12",
    ) == [
        "| depth | rain | days",
        "Port Carrick | 12.50 | 840.0 | 9",
        "Gannet Point | 9.25 | 1.5 | 12",
    ]


def test_heads_of_several_words_end_where_their_columns_end():
    assert (
        shown(
            "      mean depth std. error n values",
            "Port        12.5       0.25       31",
            "Pier         9.0       0.75       28",
        )[0]
        == "| mean depth | std. error | n values"
    )


def test_words_below_their_own_head_are_columns():
    assert shown(
        "  station kind depth",
        "1 Carrick pier  12.5   3",
        "2    Port quay   9.0   4",
    ) == ["| station | kind | depth", "1 | Carrick | pier | 12.5 | 3", "2 | Port | quay | 9.0 | 4"]


def test_a_row_of_values_below_names_is_parted():
    assert shown("    Min.  1st Qu.   Median", "-0.91871 -1.28745 -2.68053") == [
        "Min. | 1st Qu. | Median",
        "-0.91871 | -1.28745 | -2.68053",
    ]


def test_a_program_is_no_table():
    program = ["for depth in 12 14 16  # in feet", "  send 1 or 2 levels  # to 3 offices"]
    assert " | 12" not in "\n".join(shown(*program))


def test_prose_in_letters_of_different_widths_is_no_table():
    rows = ["It was 12 or 13 feet deep  at noon", "It was 10 or 11 feet deep  at six"]
    assert lines(pdf(lambda page: put(page, rows, "helv")))[0].startswith("It was 12 or 13 feet deep")


def test_a_line_above_that_ends_elsewhere_is_no_head():
    assert shown(
        "Levels  of all gauges of the town at noon",
        "Port Carrick 12.50 840.0    9",
        "Gannet Point  9.25   1.5   12",
    )[:2] == ["Levels of all gauges of the town at noon", "Port Carrick | 12.50 | 840.0 | 9"]


def test_a_row_of_values_below_other_words_stays_as_it_is():
    assert shown("Levels    in feet", "12.50 840.0 9.25 10.75")[1] == "12.50 840.0 9.25 10.75"


def test_names_that_stand_apart_are_columns():
    assert shown(
        "Port   quay 12.50 840.0",
        "Pier  front  9.25   1.5",
    ) == ["Port | quay | 12.50 | 840.0", "Pier | front | 9.25 | 1.5"]


def test_bars_between_columns_are_no_cells():
    assert shown("Port  | 12.50   840.0", "Pier  |  9.25     1.5") == [
        "Port | 12.50 | 840.0",
        "Pier | 9.25 | 1.5",
    ]


def test_lines_of_words_with_two_values_are_no_rows():
    assert shown(
        "use 12 words or 13    of each",
        "and 14 of those in 15    towns",
    ) == ["use 12 words or 13 | of each", "and 14 of those in 15 | towns"]


def test_rows_with_far_fewer_values_are_another_table():
    assert shown(
        "1.50 2.50 3.50 4.50 5.50 6.50  7.50",
        "1.25 2.25 3.25 4.25 5.25 6.25  7.25",
        "123456  890123",
        "223456  990123",
    ) == [
        "1.50 | 2.50 | 3.50 | 4.50 | 5.50 | 6.50 | 7.50",
        "1.25 | 2.25 | 3.25 | 4.25 | 5.25 | 6.25 | 7.25",
        "123456 | 890123",
        "223456 | 990123",
    ]


def test_names_of_several_words_are_one_cell():
    assert shown("Port quay 12.50  840.0", "Pier quay  9.25    1.5") == [
        "Port quay | 12.50 | 840.0",
        "Pier quay | 9.25 | 1.5",
    ]


@pytest.mark.parametrize(
    ("font", "parted"), [("cour", "Port Carrick | 12.50 | 840.0"), ("helv", "Port Carrick 12.50 840.0")]
)
def test_the_width_of_letters_shows_a_font_without_a_telling_name(font: str, parted: str):
    rows = ["Port Carrick 12.50 840.0", "Gannet Point 19.25 101.5", "Harbour gate  9.00  90.5"]
    printed = Pdf(pdf(lambda page: put(page, rows, font))).print_text(0)
    fragments = fragments_of(printed.json)
    fragments = replace(fragments, font=[Font(90, bold=False, name="F34")] * len(fragments.text))
    found = [(text, [n]) for n, text in enumerate(fragments.text)][:2]
    part_printed(fragments, found, [0], set())
    assert found[0][0] == parted
