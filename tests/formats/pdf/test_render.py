"""Pages of PDF files as pictures: limits, crops, rotation."""

from __future__ import annotations

import io

import pymupdf
import pytest
from PIL import Image

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParseOptions, RenderOptions
from qagen_dagster.records.document import Box
from tests.formats.pdf.samples import FORMAT, HEIGHT, WIDTH, pdf, scan, source

TWO_PAGES = pdf("one", "two")


def image(found: PageImage | None) -> Image.Image:
    assert found is not None
    shown = Image.open(io.BytesIO(found.data))
    assert shown.size == (found.width, found.height)
    return shown


def render(data: bytes, page: int = 1, how: RenderOptions | None = None, **more: int) -> Image.Image:
    return image(FORMAT.render(source(data), page, ParseOptions(**more), how or RenderOptions()))


def black(page: pymupdf.Page) -> None:
    page.draw_rect(pymupdf.Rect(100, 200, 200, 250), color=(0, 0, 0), fill=(0, 0, 0))


def test_a_page_is_drawn_within_the_limits():
    shown = render(pdf(black))
    assert max(shown.size) <= 1568
    assert shown.width * shown.height <= 1_150_000
    assert shown.width / shown.height == pytest.approx(WIDTH / HEIGHT, rel=0.01)


def test_a_crop_shows_what_its_box_says():
    whole = render(pdf(black), how=RenderOptions(crop=Box(x0=100, y0=200, x1=200, y1=250)))
    assert whole.convert("L").getextrema()[1] < 60
    assert min(whole.size) > 200
    assert render(pdf(black), how=RenderOptions(crop=Box(x0=300, y0=200, x1=400, y1=250))).convert(
        "L"
    ).getextrema() == (
        255,
        255,
    )


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_boxes_are_those_of_the_page_as_displayed(rotation):
    def draw(page: pymupdf.Page) -> None:
        page.set_rotation(rotation)
        page.draw_rect(pymupdf.Rect(100, 200, 200, 250) * page.derotation_matrix, fill=(0, 0, 0))

    shown = render(pdf(draw), how=RenderOptions(crop=Box(x0=101, y0=201, x1=199, y1=249)))
    assert shown.convert("L").getextrema()[1] < 60


def test_a_frame_is_drawn_around_its_box():
    found = render(pdf(black), how=RenderOptions(frame=Box(x0=100, y0=200, x1=200, y1=250))).convert("RGB")
    zoom = found.width / WIDTH
    row = [found.getpixel((round(100 * zoom) - step, round(225 * zoom))) for step in range(10)]
    assert (200, 30, 30) in row
    assert found.getpixel((round(150 * zoom), round(225 * zoom))) == (0, 0, 0)


def test_a_huge_page_is_scaled_down():
    document = pymupdf.open()
    document.new_page(width=14_000, height=9_000).insert_text((900, 900), "wide", fontsize=500)
    shown = render(document.tobytes())
    assert max(shown.size) <= 1568


def test_pages_and_crops_that_do_not_exist():
    with pytest.raises(DocumentError, match="pages 1 to 2"):
        render(TWO_PAGES, 3)
    with pytest.raises(DocumentError, match="no page 0"):
        render(TWO_PAGES, 0)
    with pytest.raises(DocumentError, match="595 x 842 points"):
        render(TWO_PAGES, 1, RenderOptions(crop=Box(x0=900, y0=10, x1=950, y1=20)))


def test_a_page_with_a_giant_picture_is_not_drawn():
    with pytest.raises(DocumentError, match="too_large") as caught:
        render(pdf(scan), max_pixels=10_000)
    assert "limit is 10,000 pixels" in caught.value.detail


def test_a_crop_is_finer_than_the_page():
    crop = Box(x0=100, y0=200, x1=200, y1=250)
    page, part = render(TWO_PAGES), render(TWO_PAGES, how=RenderOptions(crop=crop))
    assert part.width / 100 > 3 * page.width / WIDTH
    fine, usual = render(TWO_PAGES, how=RenderOptions(crop=Box(x0=0, y0=0, x1=400, y1=300))), 300 / 72
    assert fine.width / 400 > 0.7 * usual
