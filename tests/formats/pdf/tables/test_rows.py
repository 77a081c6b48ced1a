"""The lines of a ruled table as rows: wrapped cells belong to one row."""

from __future__ import annotations

import pymupdf

from tests.formats.pdf.samples import lines, pdf
from tests.formats.pdf.tables.test_ruling import put, rule


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
        "Port | It is read by the keeper of the har- bour at noon. | It sends the depth to the office every hour.",
        "Pier | Not read. | Not read.",
        "Sill | It is read at low water and at high water. | Not read.",
    ]
