"""Tables without ruling lines: close cells, cells of several lines, and columns of blanks in letters of one width."""

from __future__ import annotations

from dataclasses import replace

import pymupdf
import pytest

from qagen_dagster.formats.pdf.cells import part_printed
from qagen_dagster.formats.pdf.fragments import Font, fragments_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from tests.formats.pdf.samples import lines, pdf, put, write

NAMES, WORDS = 64, 150
LONG = "Reads the depth of the water at the end of the pier and sends"  # the widest line of a column


def shown(*rows: tuple[tuple[float, str], ...], step: float = 11) -> list[str]:
    """The lines of a page with rows of texts, each with its left edge."""

    def draw(page: pymupdf.Page) -> None:
        for n, row in enumerate(rows):
            put(page, 100 + n * step, *row)

    return lines(pdf(draw))


def test_wrapped_cells_are_one_row():
    assert shown(
        ((NAMES, "read"), (WORDS, LONG)),
        ((WORDS, "it to the office of the harbour master, who keeps all the lev-"),),
        ((WORDS, "els of a year."),),
        ((NAMES, "stop"), (WORDS, "Stops.")),
    ) == [
        f"read | {LONG} it to the office of the harbour master, who keeps all the levels of a year.",
        "stop | Stops.",
    ]


def test_a_line_that_had_room_above_is_another_row():
    assert shown(
        ((NAMES, "read"), (WORDS, LONG)),
        ((NAMES, "stop"), (WORDS, "Stops the gauge")),
        ((WORDS, "Port Carrick only"),),
    ) == [f"read | {LONG}", "stop | Stops the gauge", "Port Carrick only"]


def test_single_words_below_each_other_are_rows():
    assert shown(
        ((NAMES, "names"), (WORDS, "harbourmaster")),
        ((WORDS, "lighthousekeeper"),),
        ((WORDS, "ferryman"),),
    ) == ["names | harbourmaster", "lighthousekeeper", "ferryman"]


def test_a_line_below_a_space_is_no_part_of_the_cell():
    def draw(page: pymupdf.Page) -> None:
        put(page, 100, (NAMES, "read"), (WORDS, LONG))
        put(page, 130, (WORDS, "it is read at noon."))

    assert lines(pdf(draw)) == [f"read | {LONG}", "it is read at noon."]


def test_a_first_cell_goes_on_in_lower_case_together_with_others():
    rows = (
        ((NAMES, "view of the"), (WORDS, LONG)),
        ((NAMES, "pier"), (WORDS, "it to the office.")),
        ((NAMES, "Station map"), (WORDS, "Shows the pier.")),
    )
    third = tuple((*row, (450, value)) for row, value in zip(rows, ("1", "", "2"), strict=True))
    wide = tuple(tuple(cell for cell in row if cell[1]) for row in third)
    assert shown(*wide) == [
        f"view of the pier | {LONG} it to the office. | 1",
        "Station map | Shows the pier. | 2",
    ]


def test_a_cell_close_to_another_begins_where_one_begins_above_or_below():
    assert shown(
        ((NAMES, "sync"), (WORDS, "Sends all levels")),
        ((NAMES, "synchronised-ends"), (WORDS, "Sends the last level")),
    ) == ["sync | Sends all levels", "synchronised-ends | Sends the last level"]


def test_the_number_of_a_heading_and_a_bullet_are_no_cells():
    assert shown(
        ((NAMES, "2.1"), (NAMES + 26, "Reading the gauge")),
        ((NAMES, "2.2"), (NAMES + 26, "Sending levels")),
        ((NAMES, "-"), (NAMES + 15, "Port Carrick is read at noon")),
        ((NAMES, "-"), (NAMES + 15, "Gannet Point is read at six")),
    ) == [
        "2.1 Reading the gauge",
        "2.2 Sending levels",
        "- Port Carrick is read at noon",
        "- Gannet Point is read at six",
    ]


def test_a_number_is_a_cell_between_rows_with_numbers():
    rows = [((NAMES, str(n)), (NAMES + 16, f"level of the gauge {n}")) for n in range(1, 4)]
    assert shown(*rows)[1] == "2 | level of the gauge 2"


def test_a_lone_first_cell_and_an_indented_line_are_no_part_of_the_row():
    assert shown(
        ((NAMES, "depth of gauges"), (WORDS, "Sends the depth")),
        ((NAMES, "rain of all"),),
        ((NAMES, "stop gauges"), (WORDS, LONG)),
        ((WORDS + 20, "it to the office."),),
    ) == [
        "depth of gauges | Sends the depth",
        "rain of all",
        f"stop gauges | {LONG}",
        "it to the office.",
    ]


def test_a_first_cell_with_a_capital_begins_a_row():
    rows = (
        ((NAMES, "view of the"), (WORDS, LONG), (450, "1")),
        ((NAMES, "Pier"), (WORDS, "it to the office.")),
    )
    assert shown(*rows)[1] == "Pier | it to the office."


WIDTH = 5.4  # of a letter of 9 points


def put_in_courier(page: pymupdf.Page, rows: list[str], font: str = "cour") -> None:
    """Rows of text; two blanks or more part their pieces, as in files of programs."""
    for n, row in enumerate(rows):
        at = 0
        for piece in row.split("  "):
            text = piece.strip()
            place = row.index(text, at)
            page.insert_text((60 + place * WIDTH, 100 + n * 11), text, fontsize=9, fontname=font)
            at = place + len(text)


def shown_lines(*rows: str) -> list[str]:
    return lines(pdf(lambda page: put_in_courier(page, list(rows))))


def test_values_with_one_blank_between_them_are_cells():
    assert shown_lines(
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
        shown_lines(
            "      mean depth std. error n values",
            "Port        12.5       0.25       31",
            "Pier         9.0       0.75       28",
        )[0]
        == "| mean depth | std. error | n values"
    )


def test_words_below_their_own_head_are_columns():
    assert shown_lines(
        "  station kind depth",
        "1 Carrick pier  12.5   3",
        "2    Port quay   9.0   4",
    ) == ["| station | kind | depth", "1 | Carrick | pier | 12.5 | 3", "2 | Port | quay | 9.0 | 4"]


def test_a_row_of_values_below_names_is_parted():
    assert shown_lines("    Min.  1st Qu.   Median", "-0.91871 -1.28745 -2.68053") == [
        "Min. | 1st Qu. | Median",
        "-0.91871 | -1.28745 | -2.68053",
    ]


def test_a_program_is_no_table():
    program = ["for depth in 12 14 16  # in feet", "  send 1 or 2 levels  # to 3 offices"]
    assert " | 12" not in "\n".join(shown_lines(*program))


def test_prose_in_letters_of_different_widths_is_no_table():
    rows = ["It was 12 or 13 feet deep  at noon", "It was 10 or 11 feet deep  at six"]
    assert lines(pdf(lambda page: put_in_courier(page, rows, "helv")))[0].startswith(
        "It was 12 or 13 feet deep"
    )


def test_a_line_above_that_ends_elsewhere_is_no_head():
    assert shown_lines(
        "Levels  of all gauges of the town at noon",
        "Port Carrick 12.50 840.0    9",
        "Gannet Point  9.25   1.5   12",
    )[:2] == ["Levels of all gauges of the town at noon", "Port Carrick | 12.50 | 840.0 | 9"]


def test_a_row_of_values_below_other_words_stays_as_it_is():
    assert shown_lines("Levels    in feet", "12.50 840.0 9.25 10.75")[1] == "12.50 840.0 9.25 10.75"


def test_names_that_stand_apart_are_columns():
    assert shown_lines(
        "Port   quay 12.50 840.0",
        "Pier  front  9.25   1.5",
    ) == ["Port | quay | 12.50 | 840.0", "Pier | front | 9.25 | 1.5"]


def test_bars_between_columns_are_no_cells():
    assert shown_lines("Port  | 12.50   840.0", "Pier  |  9.25     1.5") == [
        "Port | 12.50 | 840.0",
        "Pier | 9.25 | 1.5",
    ]


def test_lines_of_words_with_two_values_are_no_rows():
    assert shown_lines(
        "use 12 words or 13    of each",
        "and 14 of those in 15    towns",
    ) == ["use 12 words or 13 | of each", "and 14 of those in 15 | towns"]


def test_rows_with_far_fewer_values_are_another_table():
    assert shown_lines(
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
    assert shown_lines("Port quay 12.50  840.0", "Pier quay  9.25    1.5") == [
        "Port quay | 12.50 | 840.0",
        "Pier quay | 9.25 | 1.5",
    ]


@pytest.mark.parametrize(
    ("font", "parted"), [("cour", "Port Carrick | 12.50 | 840.0"), ("helv", "Port Carrick 12.50 840.0")]
)
def test_the_width_of_letters_shows_a_font_without_a_telling_name(font: str, parted: str):
    rows = ["Port Carrick 12.50 840.0", "Gannet Point 19.25 101.5", "Harbour gate  9.00  90.5"]
    printed = Pdf(pdf(lambda page: put_in_courier(page, rows, font))).print_text(0)
    fragments = fragments_of(printed.json)
    fragments = replace(fragments, font=[Font(90, bold=False, name="F34")] * len(fragments.text))
    found = [(text, [n]) for n, text in enumerate(fragments.text)][:2]
    part_printed(fragments, found, [0], set())
    assert found[0][0] == parted


def test_a_line_of_prose_with_wide_spaces_is_no_row_of_cells() -> None:
    words = ["This", "class", "generalizes", "the", "former", "one,", "which", "had"]

    def draw(page: pymupdf.Page) -> None:
        write(page, ["A line of text that runs over most of the width of this page."], y=80, size=9)
        put(page, 92, *[(60 + 58 * n, word) for n, word in enumerate(words)])
        write(page, ["a name that does not fit there, so its spaces are wide."], y=104, size=9)

    assert lines(pdf(draw))[1] == " ".join(words)


def test_a_table_of_words_keeps_its_cells() -> None:
    rows = [
        ["apple", "pear", "plum", "fig"],
        ["red", "green", "blue", "brown"],
        ["big", "small", "tiny", "flat"],
    ]

    def draw(page: pymupdf.Page) -> None:
        for n, row in enumerate(rows):
            put(page, 80 + 12 * n, *[(60 + 90 * column, word) for column, word in enumerate(row)])

    assert lines(pdf(draw)) == [" | ".join(row) for row in rows]


def test_numbers_that_touch_stay_two_numbers() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 100), "Pins 33", fontsize=9)
        page.insert_text((60, 300), "Another line of this page.", fontsize=9)
        page.insert_text((91, 100), "34 are free", fontsize=9)

    assert lines(pdf(draw))[0] == "Pins 33 34 are free"
