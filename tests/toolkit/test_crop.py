from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.toolkit.crop import cut, enlarge


def page(width: int, height: int, *, noise: bool = False) -> PageImage:
    picture = Pillow.new("RGB", (width, height), "white")
    if noise:
        picture = Pillow.effect_noise((width, height), 80).convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return PageImage("image/png", buffer.getvalue(), width, height)


@settings(max_examples=40)
@given(
    left=st.floats(0, 0.97),
    top=st.floats(0, 0.97),
    width=st.floats(0.02, 1),
    height=st.floats(0.02, 1),
    limit=st.integers(10_000, 300_000),
)
def test_a_cut_keeps_the_limits(left: float, top: float, width: float, height: float, limit: int) -> None:
    part = (left, top, min(1.0, left + width), min(1.0, top + height))
    how = RenderOptions(max_pixels=limit, max_side=700)
    finer = enlarge(how, part)
    assert finer.max_pixels <= max(8_000_000, limit)
    assert finer.max_side <= 6_000
    image = cut(page(600, 800), part, how)
    assert image.width * image.height <= limit
    assert max(image.width, image.height) <= 700


def test_too_many_bytes_become_jpeg() -> None:
    how = RenderOptions(max_bytes=60_000)
    image = cut(page(300, 300, noise=True), (0, 0, 1, 1), how)
    assert image.media_type == "image/jpeg"
    assert len(image.data) <= 60_000
