"""What the box of a visual holds: all panels and labels of it, and nothing of the text around it."""

from __future__ import annotations

from typing import Any

import pymupdf
import pytest

from qagen_dagster.records.document import VisualType
from tests.formats.pdf.test_visuals import CELLS, caption, chart, covers, pages, prose, visuals_of


def number_line(page: Any, y: float) -> None:
    page.draw_line((170, y), (450, y))
    for mark in range(5):
        page.draw_line((170 + 70 * mark, y - 6), (170 + 70 * mark, y + 6))


def test_a_table_between_rules_needs_no_caption() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for y in (200, 220, 262):
        page.draw_line((60, y), (400, y))
    for row, texts in enumerate(CELLS):
        for column, text in enumerate(texts):
            page.insert_text((64 + column * 110, 213 + row * 20), text, fontsize=9)
    prose(page, 60, 290, 535, 380)
    (table,) = visuals_of(document)
    assert table.type is VisualType.TABLE
    assert covers(table, (60, 200, 400, 262))


def test_panels_far_apart_under_one_caption_are_one_figure() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    chart(page, 80, 200)
    chart(page, 325, 200)
    caption(page, 80, 340, "Figure 1. Rain by quarter.")
    prose(page, 60, 360, 535, 440)
    (figure,) = visuals_of(document)
    assert covers(figure, (80, 200, 500, 342))


def test_a_number_line_is_the_figure_and_not_the_text_above_it() -> None:
    document, (page,) = pages()
    for n in range(6):
        page.insert_text((110, 100 + 30 * n), f"x{n} = {n} + a", fontsize=10)
    number_line(page, 300)
    caption(page, 170, 330, "Figure 1. The numbers from one to five.")
    prose(page, 60, 360, 535, 440)
    (figure,) = visuals_of(document)
    assert covers(figure, (170, 294, 450, 332))


def test_a_title_below_a_panel_is_not_cut() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    chart(page, 200, 200)
    title = "(b) Rain at the old harbour gauge"
    end = 345 + pymupdf.get_text_length(title, fontsize=9)
    page.insert_text((205, 325), "(a) Rain at the pier", fontsize=9)
    page.insert_text((345, 325), title, fontsize=9)
    caption(page, 240, 350, "Figure 1. Rain by quarter.")
    prose(page, 60, 370, 535, 450)
    (figure,) = visuals_of(document)
    assert end > 440
    assert covers(figure, (200, 200, end, 352))


def test_frames_below_each_other_are_one_figure() -> None:
    document, (page,) = pages()
    for n in range(3):
        page.draw_rect(pymupdf.Rect(60, 98 + 100 * n, 535, 180 + 100 * n))
        page.insert_textbox(
            (64, 100 + 100 * n, 531, 178 + 100 * n), "A frame holds a text of its own. " * 20, fontsize=8
        )
    caption(page, 60, 395, "Figure 1. Three answers of the program.")
    prose(page, 60, 410, 535, 480)
    (figure,) = visuals_of(document)
    assert covers(figure, (60, 98, 535, 397))


def accounts(page: Any, y: float) -> None:
    """Rows of names and numbers without ruling; the first stands at `y`, the last 42 points lower."""
    for n, name in enumerate(("Harbour dues", "Mooring", "Pilotage", "Storage")):
        page.insert_text((60, y + 14 * n), name, fontsize=9)
        for right, number in ((330, f"{n + 1},{204 + n}"), (420, f"{n + 2},{311 + n}")):
            wide = pymupdf.get_text_length(number, fontsize=9)
            page.insert_text((right - wide, y + 14 * n), number, fontsize=9)


def heads(page: Any, y: float) -> None:
    page.insert_text((306, y), "Income", fontsize=9)
    page.insert_text((400, y), "Cost of it", fontsize=9)


@pytest.mark.parametrize("between", ["Dues of ships:", "-" * 70])
def test_a_line_of_text_does_not_part_numbers_from_their_heads(between: str) -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    heads(page, 186)
    page.insert_text((60, 200), between, fontsize=9)
    accounts(page, 214)
    (table,) = visuals_of(document)
    assert covers(table, (60, 179, 434, 258))


def test_signs_of_currency_do_not_count_as_columns_of_numbers() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for left in (240, 320, 400):
        page.insert_text((left - 9, 186), str(1700 + left), fontsize=9)
        for n, name in enumerate(("Harbour dues", "Mooring", "All dues")):
            page.insert_text((60, 200 + 14 * n), name, fontsize=9)
            page.insert_text((left, 200 + 14 * n), "1,204", fontsize=9)
            if n != 1:
                page.insert_text((left - 30, 200 + 14 * n), "$", fontsize=9)
    (table,) = visuals_of(document)
    assert covers(table, (60, 179, 422, 230))


def test_a_curve_that_leaves_its_clipped_chart_does_not_enlarge_the_figure() -> None:
    document, (page,) = pages()
    chart(page, 200, 300)
    page.draw_bezier((210, 60), (250, 380), (330, 380), (380, 440))
    drawn = page.get_contents()[-1]
    curve = document.xref_stream(drawn)
    document.update_stream(drawn, b"q 200 430 180 112 re W n\n" + curve + b"\nQ")
    caption(page, 200, 430, "Figure 1. Rain by quarter.")
    (figure,) = visuals_of(document)
    assert covers(figure, (200, 300, 380, 432))


def test_a_short_caption_at_the_margin_belongs_to_the_chart_above_it() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    chart(page, 300, 200)
    caption(page, 60, 340, "Figure 1. Rain.")
    prose(page, 60, 360, 535, 440)
    (figure,) = visuals_of(document)
    assert covers(figure, (60, 200, 480, 342))


def test_a_framed_note_above_a_chart_is_no_part_of_the_figure() -> None:
    document, (page,) = pages()
    for y in (150, 200):
        page.draw_line((60, y), (535, y))
    for x in (60, 535):
        page.draw_line((x, 150), (x, 200))
    page.insert_textbox((64, 152, 531, 198), "Read the gauge every day. " * 10, fontsize=10)
    chart(page, 200, 240)
    caption(page, 200, 370, "Figure 1. Rain by quarter.")
    prose(page, 60, 390, 535, 470)
    (figure,) = visuals_of(document)
    assert covers(figure, (200, 240, 380, 372))


def test_titles_of_panels_are_in_the_box_but_not_the_program_above_them() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 110)
    chart(page, 80, 200)
    chart(page, 325, 200)
    for x in (140, 385):
        page.insert_text((x, 190), "Rain by quarter", fontsize=8)
    program = "> plot(rain ~ quarter, data = gauges, layout = c(2, 1), col = 4, lwd = 2, main = title, axes = FALSE, ylim = 9, las = 2, pch = 16)"
    middle = pymupdf.get_text_length(program, fontsize=8) / 2
    page.insert_text((292 - middle, 179), program, fontsize=8)
    caption(page, 80, 340, "Figure 1. Rain by quarter.")
    prose(page, 60, 360, 535, 440)
    (figure,) = visuals_of(document)
    assert covers(figure, (80, 183, 504, 342), slack=6)


def test_lines_of_a_drawing_are_followed_from_one_to_the_next() -> None:
    document, (page,) = pages()
    chart(page, 200, 300)
    for n in range(3):
        page.draw_line((210 + 40 * n, 250 - 50 * n), (250 + 40 * n, 284 - 50 * n))
    caption(page, 200, 430, "Figure 1. Rain by quarter.")
    prose(page, 60, 460, 535, 540)
    (figure,) = visuals_of(document)
    assert covers(figure, (200, 150, 380, 432))


def test_lines_of_a_program_above_a_table_of_numbers_are_no_heads() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    page.insert_text((60, 178), "gauges[1:5, ]", fontsize=9)
    page.insert_text((60, 190), "gauges", fontsize=9)
    page.insert_text((110, 202), "age", fontsize=9)
    page.insert_text((160, 202), "rain", fontsize=9)
    for n in range(5):
        for x, number in ((64, n + 1), (110, n + 3), (160, 12.5)):
            page.insert_text((x, 214 + 12 * n), str(number), fontsize=9)
    (table,) = visuals_of(document)
    assert covers(table, (64, 195, 177, 263), slack=6)


@pytest.mark.parametrize("apart", [9, 10, 11])
def test_numbers_of_several_ruled_tables_do_not_join_them(apart: int) -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    tops = [200 + n * (46 + apart) for n in range(3)]
    for top in tops:
        for y in (top, top + 18, top + 46):
            page.draw_line((60, y), (400, y))
        for row, texts in enumerate(
            (("Pier", "Boats", "Rain"), ("North", "84", "12"), ("South", "317", "9"))
        ):
            for column, text in enumerate(texts):
                page.insert_text((64 + column * 110, top + 13 + row * 14), text, fontsize=9)
    assert [one.box.y0 for one in visuals_of(document) if one.box] == pytest.approx(tops, abs=1)
