"""Pages that we have drawn lose the white around what is on them, whatever mode and encoding they have."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw

from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.formats.image import trimmed

_ROOMY = RenderOptions(max_pixels=1_000_000, max_side=2_000, max_bytes=1_000_000)


def page(mode: str, form: str, box: tuple[int, int, int, int] | None) -> PageImage:
    picture = Image.new(mode, (400, 600), "white")
    if box is not None:
        ImageDraw.Draw(picture).rectangle(box, fill="black")
    out = io.BytesIO()
    picture.save(out, form)
    return PageImage(f"image/{form.lower()}", out.getvalue(), *picture.size)


@pytest.mark.parametrize(
    ("mode", "form", "blur"),
    [("RGB", "PNG", 0), ("L", "PNG", 0), ("1", "PNG", 0), ("RGBA", "PNG", 0), ("RGB", "JPEG", 16)],
)
def test_the_white_around_what_is_drawn_goes(mode: str, form: str, blur: int) -> None:
    small = trimmed(page(mode, form, (100, 200, 180, 240)), _ROOMY, margin=10)
    assert abs(small.width - (81 + 20)) <= blur  # JPEG blurs an edge within its blocks of 8 pixels
    assert abs(small.height - (41 + 20)) <= blur


def test_what_stands_at_the_edge_keeps_the_margin_that_there_is() -> None:
    small = trimmed(page("RGB", "PNG", (0, 0, 399, 9)), _ROOMY, margin=12)
    assert (small.width, small.height) == (400, 22)


def test_a_white_page_is_left_as_it_is() -> None:
    small = trimmed(page("RGB", "PNG", None), _ROOMY)
    assert (small.width, small.height) == (400, 600)
