"""The lines of a ruled table as rows: wrapped cells belong to one row."""

from __future__ import annotations

import pymupdf

from tests.formats.pdf.samples import lines, pdf
from tests.formats.pdf.test_ruled_tables import put, rule


def test_a_cell_of_many_lines_is_one_row():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 132, 148, 240):
            rule(page, y)
        for x in (60, 150, 460):
            page.draw_line((x, 100), (x, 240), width=0.6)
        put(page, 112, (64, "Command"), (154, "What it does"))
        put(page, 128, (64, "read"), (154, "Reads the gauge"))
        put(page, 144, (64, "send"), (154, "Sends what was read"))
        for n in range(7):
            put(page, 160 + 11 * n, (154, f"it waits {n},"))
        put(page, 160, (64, "wait"))
        put(page, 171, (64, "or stop"))

    assert lines(pdf(draw))[-1] == "wait or stop | " + " ".join(f"it waits {n}," for n in range(7))


def test_lines_far_apart_in_the_first_column_are_rows():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 170, 240, 310):
            rule(page, y)
        for x in (60, 250, 460):
            page.draw_line((x, 100), (x, 310), width=0.6)
        for n in range(9):
            top = 114 + 22 * (n % 3) + 70 * (n // 3)
            put(page, top, (64, f"the command with the number {n}"), (254, f"what the command {n} does"))

    assert lines(pdf(draw)) == [
        f"the command with the number {n} | what the command {n} does" for n in range(9)
    ]


def test_cells_of_several_columns_that_go_on_in_the_next_line_are_one_row():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 200):
            rule(page, y)
        for x in (60, 130, 295, 460):
            page.draw_line((x, 100), (x, 200), width=0.6)
        put(page, 112, (64, "Gauge"), (134, "By day"), (299, "By night"))
        put(
            page,
            128,
            (64, "Port"),
            (134, "It is read by the keeper of the har-"),
            (299, "It sends the depth to the office"),
        )
        put(page, 139, (134, "bour at noon."), (299, "every hour."))
        put(page, 160, (64, "Pier"), (134, "Not read."), (299, "Not read."))
        put(page, 181, (64, "Sill"), (134, "It is read at low water and at high"), (299, "Not read."))
        put(page, 192, (134, "water."))

    assert lines(pdf(draw)) == [
        "Gauge | By day | By night",
        "Port | It is read by the keeper of the harbour at noon. | It sends the depth to the office every hour.",
        "Pier | Not read. | Not read.",
        "Sill | It is read at low water and at high water. | Not read.",
    ]


def test_rows_beside_a_name_half_way_between_them_stay_apart():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 164):
            rule(page, y, 60, 300)
        put(page, 112, (64, "Gauge"), (150, "By day"), (230, "By night"))
        for n in range(4):
            put(page, 126 + 11 * n, (150, f"9{n}.5"), (230, f"8{n}.5"))
        for n, name in enumerate(("Port", "Pier")):
            put(page, 131.5 + 22 * n, (64, name))

    assert lines(pdf(draw))[1:] == [
        "Port | 90.5 | 80.5",
        "| 91.5 | 81.5",
        "Pier | 92.5 | 82.5",
        "| 93.5 | 83.5",
    ]


def test_a_name_far_below_another_begins_a_row():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 132, 148, 220):
            rule(page, y)
        put(page, 112, (64, "Command"), (200, "What it does"))
        put(page, 128, (64, "read"), (200, "Reads the gauge"))
        put(page, 144, (64, "send"), (200, "Sends what was read to the office"))
        put(page, 159, (64, "wait()"), (200, "Waits for the next reading of the gauge, at the"))
        put(page, 170, (200, "latest until noon."))
        put(page, 181, (64, "stop()"), (200, "Stops the gauge."))
        put(page, 192, (64, "start()"), (200, "Starts the gauge."))

    assert lines(pdf(draw))[3:] == [
        "wait() | Waits for the next reading of the gauge, at the latest until noon.",
        "stop() | Stops the gauge.",
        "start() | Starts the gauge.",
    ]


DOES = (
    "reads the level of the water",
    "keeps the levels of one long year for the office",
    "stops until the next tide",
)


def parts_of_commands(page: pymupdf.Page, kinds: tuple[str, ...], count: int) -> None:
    """Parts between ruling lines, each with a name and several lines of commands and their meanings."""
    for y in (100, 116, 162, 208, 254):
        rule(page, y)
    put(page, 112, (64, "Kind"), (154, "Command"), (254, "What it does for the harbour master"))
    for part, kind in enumerate(kinds):
        top = 128 + 46 * part
        put(page, top, (64, kind))
        for n, does in enumerate(DOES[:count]):
            put(page, top + 13 * n, (154, f"{'gop'[part]}{n}-of-the-gauge"), (254, does))


def test_two_lines_of_a_part_are_one_row():
    found = lines(pdf(lambda page: parts_of_commands(page, ("gauge", "office", "pier"), 2)))
    assert found[1] == f"gauge | g0-of-the-gauge g1-of-the-gauge | {DOES[0]} {DOES[1]}"


def test_lines_beside_a_wrapped_cell_are_one_row():
    def draw(page: pymupdf.Page) -> None:
        parts_of_commands(page, ("all gauges of", "office", "pier"), 3)
        put(page, 141, (64, "the town port"))

    assert lines(pdf(draw))[1].startswith("all gauges of the town port | g0-of-the-gauge g1-of")


def test_lines_across_some_columns_make_no_second_table():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 120, 300):
            rule(page, y)
        for y in range(140, 300, 20):
            rule(page, y, 160)
        for x in (60, 160, 300, 460):
            page.draw_line((x, 99), (x, 301), width=0.6)
        put(page, 114, (64, "Harbour"), (164, "Gauge"), (304, "Depth"))
        put(page, 134, (64, "Port Carrick"))
        for n in range(9):
            put(page, 134 + 20 * n, (164, f"gauge {n}"), (304, f"1{n}.5"))

    assert lines(pdf(draw)) == [
        "Harbour | Gauge | Depth",
        "Port Carrick | gauge 0 | 10.5",
        *(f"| gauge {n} | 1{n}.5" for n in range(1, 9)),
    ]


def test_a_line_below_some_of_the_columns_parts_the_rows_beside_a_cell():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 156, 196):
            rule(page, y)
        for x in (60, 150, 300, 460):
            page.draw_line((x, 100), (x, 196), width=0.6)
        for y in (136, 176):
            page.draw_line((150, y), (460, y), width=0.6)
        put(page, 112, (64, "Gauge"), (154, "Time"), (304, "What is read"))
        for n, name in enumerate(("Port", "Pier")):
            put(page, 140 + 40 * n, (64, name))
            put(page, 130 + 40 * n, (154, "by day"), (304, "the depth"))
            put(page, 150 + 40 * n, (154, "by night"), (304, "the swell of the water"))
        page.draw_line((304, 171), (340, 171), width=0.6)  # an underlined word

    assert lines(pdf(draw)) == [
        "Gauge | Time | What is read",
        "Port | by day | the depth",
        "| by night | the swell of the water",
        "Pier | by day | the depth",
        "| by night | the swell of the water",
    ]


def test_dates_below_each_other_are_rows():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 144, 172, 200):
            rule(page, y)
        for x in (60, 150, 460):
            page.draw_line((x, 100), (x, 200), width=0.6)
        put(page, 112, (64, "Day"), (154, "What is read at the gauge"))
        for n in range(3):
            for m in range(2):
                put(
                    page,
                    127 + 28 * n + 12 * m,
                    (64, f"May {10 + 2 * n + m}"),
                    (154, f"the water of pond {n} in {m}"),
                )

    assert lines(pdf(draw))[1:3] == ["May 10 | the water of pond 0 in 0", "May 11 | the water of pond 0 in 1"]


def test_a_head_of_two_lines_is_one_row_unless_it_holds_numbers():
    def draw(page: pymupdf.Page, below: tuple[str, str]) -> None:
        for y in (100, 130, 190):
            rule(page, y)
        put(page, 112, (64, "Gauge"), (200, "Depth of"), (340, "Swell of"))
        put(page, 124, (200, below[0]), (340, below[1]))
        for n, name in enumerate(("Port", "Pier", "Sill")):
            put(page, 146 + 16 * n, (64, name), (200, f"{n + 3}.5"), (340, f"0.{n + 1}"))

    assert lines(pdf(lambda page: draw(page, ("the water", "the water"))))[:2] == [
        "Gauge | Depth of the water | Swell of the water",
        "Port | 3.5 | 0.1",
    ]
    assert lines(pdf(lambda page: draw(page, ("20", "40"))))[:2] == [
        "Gauge | Depth of | Swell of",
        "| 20 | 40",
    ]
