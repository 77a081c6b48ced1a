"""Which parts of a page belong to the figure of a caption: panels, titles and frames, however far from it."""

from __future__ import annotations

from typing import Any

import pymupdf
import pytest

from tests.formats.pdf.test_uncaptioned_visuals import centred, plot
from tests.formats.pdf.test_visuals import PROSE, caption, chart, covers, pages, prose, visuals_of
from tests.support import waterworks


def test_a_figure_may_stand_far_above_its_caption() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    chart(page, 240, 180)
    caption(page, 240, 480, "Figure 1. Rain by quarter.")
    prose(page, 60, 500, 535, 580)
    (figure,) = visuals_of(document)
    assert figure.label == "Figure 1"
    assert covers(figure, (240, 180, 420, 482))


def test_four_panels_above_one_caption_are_one_figure() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for x, y in ((80, 180), (325, 180), (80, 420), (325, 420)):
        chart(page, x, y)
    caption(page, 80, 570, "Figure 1. Rain by quarter.")
    prose(page, 60, 590, 535, 670)
    (figure,) = visuals_of(document)
    assert covers(figure, (80, 180, 500, 572))


@pytest.mark.parametrize("lines", [["plot(rain)", "}"], ["Rain of a year"]])
def test_neither_a_program_nor_a_heading_is_part_of_the_figure_below_it(lines: list[str]) -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for n, line in enumerate(lines):
        page.insert_text((62, 170 + 14 * n), line, fontsize=10 if len(lines) > 1 else 14)
    plot(page, 62, 194)
    caption(page, 62, 384, "Figure 1. Rain by day.")
    prose(page, 60, 404, 535, 484)
    (figure,) = visuals_of(document)
    assert covers(figure, (62, 194, 302, 386))


def test_the_last_line_of_a_list_is_no_title() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    page.insert_text((130, 152), "the rain of a year and of its quarters", fontsize=10)
    centred(page, 220, 170, "as counted at the pier", 10)
    plot(page, 100, 200)
    caption(page, 100, 384, "Figure 1. Rain by day.")
    prose(page, 60, 404, 535, 484)
    (figure,) = visuals_of(document)
    assert covers(figure, (100, 200, 340, 386))


def test_frames_of_a_program_below_each_other_are_one_figure() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for y in (180, 260):
        page.draw_rect(pymupdf.Rect(100, y, 480, y + 60))
        page.draw_line((110, y + 14), (200, y + 14))
        for n, line in enumerate(("read(rain)", "sort(rain, by=day)", "plot(rain)")):
            page.insert_text((104, y + 12 + 18 * n), line, fontsize=9)
    caption(page, 100, 350, "Figure 1. Two programs.")
    prose(page, 60, 370, 535, 450)
    (figure,) = visuals_of(document)
    assert covers(figure, (100, 180, 480, 352))


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\u2011", "\u2013"])
def test_a_caption_s_number_may_have_any_hyphen(hyphen: str) -> None:
    document, (page,) = pages()
    chart(page, 240, 180)
    writer: Any = pymupdf.TextWriter(page.rect)
    writer.append((240, 330), f"Figure 3.7{hyphen}2 Rain by quarter", pymupdf.Font("cjk"), 9)
    writer.write_text(page)
    (figure,) = visuals_of(document)
    assert figure.label == "Figure 3.7-2"


def test_a_caption_whose_first_line_is_a_little_larger_goes_on() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    chart(page, 240, 180)
    page.insert_text((142, 330), "Figure 1. Rain by quarter as it was counted", fontsize=11.9)
    page.insert_text((142, 343), "at the pier.", fontsize=10.9)
    prose(page, 60, 380, 535, 460)
    (figure,) = visuals_of(document)
    assert figure.caption.endswith("at the pier.")


def test_a_coloured_block_does_not_join_what_stands_on_it() -> None:
    document, (page,) = pages()
    page.draw_rect(pymupdf.Rect(40, 40, 555, 600), color=None, fill=(0.9, 0.95, 1))
    prose(page, 60, 60, 535, 140)
    plot(page, 150, 180)
    prose(page, 60, 380, 535, 460)
    (drawing,) = visuals_of(document)
    assert covers(drawing, (150, 180, 390, 340))


def test_raised_letters_do_not_end_a_caption() -> None:
    document, (page,) = pages()
    chart(page, 60, 180)
    for n, line in enumerate(("which is shown for all four stations of the pier", "and of the harbour.")):
        page.insert_text((60, 341 + 14 * n), line, fontsize=10)
    page.insert_text((60, 330), "Figure 1. The square of the rain, in mm", fontsize=10)
    page.insert_text((240, 326), "2", fontsize=7)
    (figure,) = visuals_of(document)
    assert figure.caption.endswith("and of the harbour.")


def test_a_note_right_of_the_last_line_does_not_cut_the_caption() -> None:
    document, (page,) = pages()
    chart(page, 60, 180)
    page.insert_textbox((60, 320, 535, 400), "Figure 1. " + PROSE * 2, fontsize=10, fontname="tiro")
    page.insert_text((440, 365), "./rain-1", fontsize=8)
    (figure,) = visuals_of(document)
    assert figure.caption.endswith("cover the inlet.")


def test_a_short_label_above_a_drawing_may_be_as_large_as_the_text() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    plot(page, 200, 190)
    page.insert_text((230, 186), "m1", fontsize=10)
    caption(page, 200, 380, "Figure 1. Rain by day.")
    prose(page, 60, 400, 535, 480)
    (figure,) = visuals_of(document)
    assert covers(figure, (200, 179, 440, 382), slack=8)


def test_a_caption_may_stand_beside_its_figure() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    plot(page, 60, 180)
    for n, line in enumerate(("Figure 1. Rain by day.", "Counted at the pier.")):
        page.insert_text((340, 240 + 12 * n), line, fontsize=9)
    prose(page, 60, 400, 535, 480)
    (figure,) = visuals_of(document)
    assert figure.label == "Figure 1"
    assert covers(figure, (60, 180, 428, 340))


def test_a_table_above_a_figure_is_no_part_of_it() -> None:
    document: Any = pymupdf.open(stream=waterworks.sheet("mill"))
    assert [visual.label for visual in visuals_of(document)] == ["Table 1", "Figure 1"]


def test_a_picture_below_a_caption_is_its_figure_and_not_the_text_above_it() -> None:
    document, (page,) = pages()
    for n, text in enumerate(("blur(image)", "threshold(image)", "count(dots)", "print(dots)")):
        page.insert_text((150, 160 + 30 * n), text, fontsize=10)
    caption(page, 150, 290, "Figure 1. Threshold.")
    plot(page, 150, 310)
    prose(page, 60, 560, 535, 640)
    (figure,) = visuals_of(document)
    assert covers(figure, (150, 284, 390, 470))
