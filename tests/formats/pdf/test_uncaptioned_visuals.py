"""The boxes of drawings, pictures and tables of numbers that have no caption."""

from __future__ import annotations

from typing import Any

import pymupdf
import pytest

from tests.formats.pdf.test_visual_boxes import accounts, heads
from tests.formats.pdf.test_visuals import caption, covers, pages, prose, raster, visuals_of


def plot(page: Any, x: float, y: float) -> None:
    """A drawing 240 wide and 160 high."""
    page.draw_rect(pymupdf.Rect(x, y, x + 240, y + 160))
    for n in range(30):
        page.draw_line((x + 8 * n, y + 150 - 4 * n), (x + 8 * n + 8, y + 146 - 4 * n))


def program(page: Any) -> None:
    for n, line in enumerate(("draw(pier, quay)", "moor(boats)")):
        page.insert_text((66, 190 + 14 * n), line, fontsize=9)


def centred(page: Any, middle: float, y: float, text: str, size: float) -> None:
    page.insert_text((middle - pymupdf.get_text_length(text, fontsize=size) / 2, y), text, fontsize=size)


def test_the_first_entry_of_a_list_below_a_drawing_is_not_its_label() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    plot(page, 60, 200)
    entry: Any = pymupdf.TextWriter(page.rect)
    entry.append((82, 372), "\u2022 Join the wires", font=pymupdf.Font("helv"), fontsize=10)
    entry.write_text(page)
    prose(page, 60, 400, 535, 480)
    (drawing,) = visuals_of(document)
    assert covers(drawing, (60, 200, 300, 360), slack=4)


@pytest.mark.parametrize(("count", "shown"), [(2, [240, 60]), (3, [240])])
def test_a_logo_above_the_prose_of_the_first_page_is_left_out(count: int, shown: list[int]) -> None:
    document, (page, *_) = pages(count)
    raster(page, (60, 60, 160, 120))
    prose(page, 60, 140, 535, 220)
    raster(page, (60, 240, 160, 300), shade=200)
    assert sorted((round(one.box.y0) for one in visuals_of(document) if one.box), reverse=True) == shown


def test_digits_of_one_width_are_no_output_of_a_program() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    page.insert_text((200, 186), "Boats in", fontsize=9)
    page.insert_text((300, 186), "Rain of", fontsize=9)
    for n in range(1, 6):
        page.insert_text((60, 186 + 12 * n), f"pier no. {n}", fontsize=9)
        page.insert_text((200, 186 + 12 * n), str(84 * 10**n), fontsize=9)
        page.insert_text((300, 186 + 12 * n), str(317 * 10**n), fontsize=9)
    prose(page, 60, 300, 535, 380)
    (table,) = visuals_of(document)
    assert table.type.value == "table"


def test_a_picture_does_not_cut_the_texts_between_its_parts() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for y in (200, 260):
        raster(page, (60, y, 200, y + 56), shade=int(y) - 150)
    text = "The gauge at the end of the pier"
    page.insert_text((150, 259), text, fontsize=9)
    (image,) = visuals_of(document)
    assert covers(image, (60, 200, 150 + pymupdf.get_text_length(text, fontsize=9), 316))


def test_a_head_that_begins_left_of_its_column_is_not_cut_off() -> None:
    document, (page,) = pages()
    page.insert_text((35, 186), "Account", fontsize=9)
    heads(page, 186)
    accounts(page, 200)
    (table,) = visuals_of(document)
    assert covers(table, (35, 179, 434, 244))


def test_text_beside_a_drawing_takes_the_shapes_that_it_touches() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    plot(page, 200, 180)
    for n in range(4):
        page.insert_text((210, 330 + 24 * n), f"q{n}1   q{n}2   q{n}3", fontsize=11)
    caption(page, 200, 432, "Figure 1. A model and its matrix.")
    prose(page, 60, 450, 535, 530)
    (figure,) = visuals_of(document)
    assert covers(figure, (200, 180, 440, 434))


@pytest.mark.parametrize("lines", [False, True])
def test_a_note_with_a_picture_beside_its_text_is_no_drawing(lines: bool) -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    frame = pymupdf.Rect(60, 160, 535, 235)
    if lines:
        for side in ((frame.tl, frame.tr), (frame.tr, frame.br), (frame.br, frame.bl), (frame.bl, frame.tl)):
            page.draw_line(*side)
    else:
        page.draw_rect(frame)
    page.draw_circle((90, 205), 15)
    for n in range(12):
        page.draw_line((80, 198 + n), (100, 198 + n))
    page.insert_text((66, 176), "Note", fontsize=11)
    for n, line in enumerate(
        ("The gauge stands on a block at the end of the pier and sends its readings", "by radio.")
    ):
        page.insert_text((125, 200 + 13 * n), line, fontsize=11)
    assert visuals_of(document) == ()


def test_boxes_of_a_form_are_no_table() -> None:
    document, (page,) = pages()
    for number, label in enumerate(
        ("Name of the keeper", "Address", "Harbour", "Date", "Signature", "Remarks")
    ):
        x, y = 60 + 240 * (number % 2), 100 + 60 * (number // 2)
        page.draw_rect((x, y, x + 240, y + 60))
        page.insert_text((x + 4, y + 10), label, fontsize=7)
    assert not visuals_of(document)
