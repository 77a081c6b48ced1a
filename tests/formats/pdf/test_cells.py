"""Tables without ruling lines: close cells, cells of several lines, and columns of blanks in letters of one width."""

from __future__ import annotations

import pymupdf

from tests.formats.pdf.samples import lines, pdf, put, write

NAMES, WORDS = 64, 150
LONG = "Reads the depth of the water at the end of the pier and sends"  # the widest line of a column


def shown(*rows: tuple[tuple[float, str], ...], step: float = 11) -> list[str]:
    """The lines of a page with rows of texts, each with its left edge."""

    def draw(page: pymupdf.Page) -> None:
        for n, row in enumerate(rows):
            put(page, 100 + n * step, *row)

    return lines(pdf(draw))


def test_a_wrapped_cell_stays_as_the_page_shows_it():
    assert shown(
        ((NAMES, "read"), (WORDS, LONG)),
        ((WORDS, "it to the office of the harbour master."),),
        ((NAMES, "stop"), (WORDS, "Stops.")),
    ) == [f"read | {LONG}", "it to the office of the harbour master.", "stop | Stops."]


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


def test_a_bar_within_a_text_is_no_edge_of_a_cell() -> None:
    rows = [((60, "Kest | Mill"), (250, "pond"), (400, "weir")), ((60, "Wend | Hall"), (250, "pond"))]
    assert shown(*rows) == ["Kest | Mill | pond | weir", "Wend | Hall | pond"]
