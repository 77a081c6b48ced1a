"""Visuals of PDFs drawn here: what is found, where, what it is called, what is left alone, and which pages are left out."""

from __future__ import annotations

import io
import itertools
import time
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.pdf import visuals
from qagen_dagster.formats.pdf.captions import Text
from qagen_dagster.formats.pdf.reader import PdfFormat
from qagen_dagster.records.document import PageSpan, Visual, VisualType

OPTIONS = ParseOptions(ocr=False)
PROSE = (
    "The gauge stands on a concrete block at the end of the pier and sends its readings by radio every ten "
    "minutes. Nobody has to climb down to it, except after storms, when weed and gravel cover the inlet. "
)
CELLS = [["Station", "Depth", "Rain"], ["Port Carrick", "12", "840"], ["Gannet Point", "31", "912"]]


def pages(count: int = 1) -> tuple[Any, list[Any]]:
    document: Any = pymupdf.open()
    for _ in range(count):
        document.new_page(width=595, height=842)
    return document, [document[number] for number in range(count)]


def prose(page: Any, x0: float, y0: float, x1: float, y1: float, times: int = 2) -> None:
    page.insert_textbox((x0, y0, x1, y1), PROSE * times, fontsize=10, fontname="tiro")


def caption(page: Any, x: float, y: float, text: str) -> None:
    page.insert_text((x, y), text, fontsize=9, fontname="helv")


def grid(page: Any, x: float, y: float, cells: list[list[str]], wide: float = 90, high: float = 18) -> None:
    rows, columns = len(cells), len(cells[0])
    for row in range(rows + 1):
        page.draw_line((x, y + row * high), (x + columns * wide, y + row * high))
    for column in range(columns + 1):
        page.draw_line((x + column * wide, y), (x + column * wide, y + rows * high))
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            page.insert_text((x + column * wide + 4, y + row * high + 13), text, fontsize=9)


def open_rows(page: Any) -> None:
    """The cells without any ruling."""
    for row, texts in enumerate(CELLS):
        for column, text in enumerate(texts):
            page.insert_text((64 + column * 110, 213 + row * 16), text, fontsize=9)


def raster(page: Any, box: tuple[float, float, float, float], shade: int = 90) -> None:
    out = io.BytesIO()
    Image.new("RGB", (60, 40), (shade, 120, 200)).save(out, "PNG")
    page.insert_image(pymupdf.Rect(*box), stream=out.getvalue(), keep_proportion=False)


def chart(page: Any, x: float, y: float) -> None:
    page.draw_line((x, y), (x, y + 100))
    page.draw_line((x, y + 100), (x + 180, y + 100))
    for bar, height in enumerate((30, 60, 90, 45)):
        box = pymupdf.Rect(x + 15 + bar * 40, y + 100 - height, x + 40 + bar * 40, y + 100)
        page.draw_rect(box, fill=(0.2, 0.4, 0.7))
        page.insert_text((x + 15 + bar * 40, y + 111), f"Q{bar + 1}", fontsize=7)


def visuals_of(document: Any, options: ParseOptions = OPTIONS) -> tuple[Visual, ...]:
    return PdfFormat().visuals(Source("made.pdf", document.tobytes()), None, options)


def lines_of(document: Any) -> list[str]:
    (parsed,) = PdfFormat().parse(Source("made.pdf", document.tobytes()), OPTIONS)
    assert isinstance(parsed, ParsedText)
    return parsed.text.split("\n")


def covers(visual: Visual, box: tuple[float, float, float, float], slack: float = 14) -> bool:
    """Whether the visual's box holds `box` and is not larger than it by more than the slack at any side."""
    shown = visual.box
    assert shown is not None
    inner = shown.x0 <= box[0] + 1 and shown.y0 <= box[1] + 1
    inner = inner and shown.x1 >= box[2] - 1 and shown.y1 >= box[3] - 1
    outer = shown.x0 > box[0] - slack and shown.y0 > box[1] - slack and shown.x1 < box[2] + slack
    return inner and outer and shown.y1 < box[3] + slack


def test_a_ruled_table_with_its_caption_and_lines() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    caption(page, 60, 190, "Table 1. Depth and rain at two stations.")
    grid(page, 60, 196, CELLS)
    prose(page, 60, 290, 535, 380)
    (table,) = visuals_of(document)
    assert (table.label, table.type, table.page) == ("Table 1", VisualType.TABLE, 1)
    assert table.caption == "Table 1. Depth and rain at two stations."
    assert covers(table, (60, 183, 330, 250))
    lines = lines_of(document)
    assert table.start_line is not None
    assert table.end_line is not None
    own = lines[table.start_line - 1 : table.end_line]
    assert own[0] == table.caption
    assert own[-1].startswith("Gannet Point")
    assert own[-1].endswith("912")


def test_a_table_without_text_has_no_lines() -> None:
    assert visuals._rows(Text(595, 842, [], 10.0), (60.0, 200.0, 330.0, 254.0), []) is None


def test_a_table_between_level_rules_only() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    open_rows(page)
    for y in (200, 218, 252):
        page.draw_line((60, y), (360, y))
    caption(page, 60, 268, "Table 4: Depth and rain.")
    prose(page, 60, 300, 535, 390)
    (table,) = visuals_of(document)
    assert (table.label, table.type) == ("Table 4", VisualType.TABLE)
    assert covers(table, (60, 200, 360, 270))


def test_rows_of_numbers_are_a_table_without_a_caption() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    for row, (name, *values) in enumerate(
        [("Sales", "120", "130"), ("Costs", "80", "95"), ("Tax", "12", "11"), ("Result", "28", "24")]
    ):
        page.insert_text((60, 213 + row * 14), name, fontsize=9)
        for column, value in enumerate(values):
            page.insert_text((300 + column * 80, 213 + row * 14), value, fontsize=9)
    prose(page, 60, 300, 535, 390)
    (table,) = visuals_of(document)
    assert (table.label, table.type, table.caption) == ("table p1-1", VisualType.TABLE, "")


def test_a_picture_with_a_caption_of_two_lines() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    raster(page, (150, 180, 400, 320))
    caption(page, 150, 336, "Fig. 2: The pier at low water, seen from the light-")
    caption(page, 150, 347, "house in the north.")
    prose(page, 60, 380, 535, 470)
    (figure,) = visuals_of(document)
    assert (figure.label, figure.type) == ("Figure 2", VisualType.FIGURE)
    assert figure.caption == "Fig. 2: The pier at low water, seen from the lighthouse in the north."
    assert covers(figure, (150, 180, 400, 349))
    assert figure.start_line is not None
    assert figure.end_line == figure.start_line + 1
    assert lines_of(document)[figure.start_line - 1].startswith("Fig. 2")


def test_a_drawn_chart_takes_its_labels_along() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    chart(page, 150, 200)
    page.insert_text((200, 194), "Rain by quarter", fontsize=8)
    caption(page, 150, 335, "Figure 3. Rain by quarter, in millimetres.")
    prose(page, 60, 380, 535, 470)
    (figure,) = visuals_of(document)
    assert (figure.label, figure.type) == ("Figure 3", VisualType.FIGURE)
    assert covers(figure, (150, 186, 330, 337), slack=25)


def test_a_chart_without_caption_is_a_drawing_and_a_picture_an_image() -> None:
    document, (page,) = pages()
    prose(page, 60, 60, 535, 140)
    raster(page, (150, 180, 400, 320))
    prose(page, 60, 360, 535, 440)
    for turn in range(30):
        page.draw_circle((300, 560), 20 + 2 * turn)
    prose(page, 60, 700, 535, 780)
    image, drawing = visuals_of(document)
    assert (image.label, image.type) == ("image p1-1", VisualType.IMAGE)
    assert (drawing.label, drawing.type) == ("drawing p1-1", VisualType.DIAGRAM)
    assert image.caption == drawing.caption == ""


def test_figures_of_two_columns_stay_in_their_columns() -> None:
    document, (page,) = pages()
    prose(page, 50, 60, 285, 300, times=3)
    raster(page, (60, 320, 270, 430))
    caption(page, 60, 446, "Figure 1: Left column.")
    prose(page, 50, 480, 285, 760, times=3)
    raster(page, (320, 60, 530, 170), shade=200)
    caption(page, 320, 186, "Figure 2: Right column.")
    prose(page, 310, 220, 545, 420, times=3)
    grid(page, 315, 470, CELLS, wide=70)
    caption(page, 315, 462, "Table 1: Right column.")
    prose(page, 310, 560, 545, 760, times=3)
    found = {one.label: one for one in visuals_of(document)}
    assert set(found) == {"Figure 1", "Figure 2", "Table 1"}
    assert covers(found["Figure 1"], (60, 320, 270, 448))
    assert covers(found["Figure 2"], (320, 60, 530, 188))
    assert covers(found["Table 1"], (315, 455, 525, 524))


def test_boxes_are_those_of_the_page_as_displayed() -> None:
    document, (page,) = pages()
    page.set_rotation(90)
    # Drawn so that it is upright once the page is turned.
    turn = page.derotation_matrix
    shown = pymupdf.Rect(200, 150, 500, 330)
    raster(page, tuple(shown * turn))
    for text, y in (("Figure 1. A turned page.", 346), *((PROSE[:95], 420 + 12 * line) for line in range(5))):
        page.insert_text(pymupdf.Point(200, y) * turn, text, fontsize=9, rotate=90)
    (figure,) = visuals_of(document)
    assert figure.label == "Figure 1"
    assert covers(figure, (200, 150, 500, 349))


def test_what_is_repeated_on_every_page_is_left_out() -> None:
    document, all_pages = pages(5)
    for number, page in enumerate(all_pages):
        raster(page, (450, 20, 550, 70))
        page.draw_line((50, 78), (545, 78))
        prose(page, 60, 100, 535, 200)
        if number == 2:
            raster(page, (150, 300, 400, 420), shade=10)
    (image,) = visuals_of(document)
    assert (image.label, image.page) == ("image p3-1", 3)


def test_mentions_in_prose_are_no_captions() -> None:
    document, (page,) = pages()
    text = (
        "The gauges were placed along the coast in the spring of the year, as is shown in\n"
        "Figure 3. They were read every day by the keeper of the light, who wrote into his\n"
        "Table 2 and two other tables what he saw of the weather, the sea and the many boats.\n"
        "Figure 3 shows where they stood and Table 2 lists all of what was read that summer."
    )
    page.insert_text((60, 90), text.split("\n"), fontsize=10, fontname="tiro")
    raster(page, (150, 180, 400, 320))
    (image,) = visuals_of(document)
    assert image.label == "image p1-1"


def test_a_list_of_figures_has_no_figures() -> None:
    document, (page,) = pages()
    for row in range(8):
        page.insert_text(
            (60, 90 + 16 * row), f"Figure {row + 1}: The pier at noon {'. ' * 30} {row + 3}", fontsize=10
        )
    assert visuals_of(document) == ()


def test_frames_around_prose_and_borders_are_no_tables() -> None:
    document, (page,) = pages()
    page.draw_rect(pymupdf.Rect(20, 20, 575, 822))
    page.draw_rect(pymupdf.Rect(55, 55, 540, 150), fill=(0.9, 0.9, 1))
    prose(page, 60, 60, 535, 150)
    for row in range(4):
        for column in range(3):
            page.draw_rect(
                pymupdf.Rect(60 + 100 * column, 300 + 30 * row, 160 + 100 * column, 330 + 30 * row)
            )
    page.insert_text((64, 320), "Name", fontsize=9)
    assert visuals_of(document) == ()


def test_labels_are_unique() -> None:
    document, all_pages = pages(3)
    for shade, page in enumerate(all_pages):
        raster(page, (150, 100 + 30 * shade, 400, 240 + 30 * shade), shade=40 * shade)
        caption(page, 150, 256 + 30 * shade, "Figure 1. The same name again.")
    assert [one.label for one in visuals_of(document)] == [
        "Figure 1",
        "Figure 1 (page 2)",
        "Figure 1 (page 3)",
    ]


def test_a_page_that_is_only_a_picture_is_one_visual() -> None:
    document, (first, second, _) = pages(3)
    prose(first, 60, 60, 535, 140)
    raster(second, (0, 0, 595, 842))
    (page,) = visuals_of(document)
    assert (page.label, page.type, page.page) == ("Page 2", VisualType.PAGE, 2)
    assert (page.start_line, page.end_line) == (None, None)


def test_the_list_ends_with_a_note_where_the_limit_is() -> None:
    sheet, (whole,) = pages()
    for row in range(12):
        for column in range(4):
            x, y = 20 + 130 * column, 30 + 64 * row
            raster(whole, (x, y, x + 60, y + 44))
    document, all_pages = pages(23)  # the first is a title page
    for number, page in enumerate(all_pages):  # nowhere at the same place on three pages
        right, down = 1.3 * number, 0.4 * number
        page.show_pdf_page(pymupdf.Rect(right, down, 595 + right, 842 + down), sheet, 0)
        page.insert_text((30, 835), f"Plates, sheet {number + 1}", fontsize=8)
    *listed, note = visuals_of(document)
    assert len(listed) == 1_000
    assert (note.type, note.page) == (VisualType.PAGE, 22)
    assert note.caption == "The list ends here after 1,000 visuals: pages 22 to 23 may show more."


_BOX = st.tuples(*[st.floats(-50, 900, allow_nan=False) for _ in range(4)])
_WORDS = st.sampled_from(["Figure 1. A thing", "Table 2: Rows", "12", "Rain", PROSE[:90], "Tab. 3", "Fig. X"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(_BOX, max_size=12), st.lists(st.tuples(_WORDS, _BOX), max_size=12), st.sampled_from([0, 90, 180])
)
def test_whatever_stands_on_a_page_boxes_lie_on_it_and_labels_differ(
    boxes: list[tuple[float, ...]], texts: list[tuple[str, tuple[float, ...]]], turn: int
) -> None:
    document, (page,) = pages()
    for x0, y0, x1, y1 in boxes:
        page.draw_rect(
            pymupdf.Rect(min(x0, x1), min(y0, y1), max(x0, x1) + 1, max(y0, y1) + 1), fill=(0.5, 0.5, 0)
        )
    for text, (x, y, *_) in texts:
        page.insert_text((x, y), text, fontsize=9)
    page.set_rotation(turn)
    found = visuals_of(document)
    lines = lines_of(document) if any(one.start_line for one in found) else [""]
    assert len({one.label for one in found}) == len(found)
    for one in found:
        assert one.box is not None
        assert 0 <= one.box.x0 <= one.box.x1 <= max(595, 842 if turn == 90 else 0)
        assert 0 <= one.box.y0 <= one.box.y1 <= max(595, 842 if turn != 90 else 0)
        assert 1 <= (one.start_line or 1) <= (one.end_line or 1) <= len(lines)


def test_visuals_stand_on_the_lines_of_the_stored_text_and_nothing_is_recognised_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, (first, scan, last) = pages(3)
    prose(first, 60, 60, 535, 300)
    raster(scan, (40, 60, 555, 780))
    grid(last, 60, 120, CELLS)
    caption(last, 60, 110, "Table 1: What the stations measured")
    read = {one.label: one for one in visuals_of(document)}
    program = tmp_path / "tesseract"
    program.write_text(f"#!/bin/sh\n/bin/echo asked >> {tmp_path / 'asked'}\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    length = len(lines_of(document))
    table = read["Table 1"]
    assert table.start_line
    assert table.end_line
    shift = 7  # lines that an earlier reading recognised on the second page
    ends = table.start_line - 1  # of the first page
    known = (
        PageSpan(page=1, start_line=1, end_line=ends),
        PageSpan(page=2, start_line=ends + 1, end_line=ends + shift),
        PageSpan(page=3, start_line=ends + shift + 1, end_line=length + shift),
    )
    found = {one.label: one for one in visuals_of(document, ParseOptions(known_pages=known))}
    assert (found["Page 2"].start_line, found["Page 2"].end_line) == (ends + 1, ends + shift)
    assert found["Table 1"].start_line == table.start_line + shift
    assert found["Table 1"].end_line == table.end_line + shift
    assert not (tmp_path / "asked").exists()


def test_limits_count_what_is_on_the_pages_and_name_the_pages_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document, all_pages = pages(6)
    for number, page in enumerate(all_pages):
        grid(page, 60 + 9 * number, 90 + 15 * number, CELLS)
    monkeypatch.setattr(visuals, "MAX_WORK", 80)
    *listed, note = visuals_of(document)
    assert [one.page for one in listed] == list(range(1, note.page))
    assert (
        note.caption
        == f"The list ends here after {len(listed)} visuals: pages {note.page} to 6 may show more."
    )


def test_a_busy_machine_gives_the_same_visuals(monkeypatch: pytest.MonkeyPatch) -> None:
    document, (page,) = pages()
    grid(page, 60, 90, CELLS)
    alone = visuals_of(document)
    hours = itertools.count(step=3_600.0)
    for clock in ("monotonic", "perf_counter", "time", "thread_time", "process_time"):
        monkeypatch.setattr(time, clock, lambda: next(hours))
    assert visuals_of(document) == alone != ()
