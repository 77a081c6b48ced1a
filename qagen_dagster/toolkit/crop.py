"""Cuts a part out of the picture of a page, by fractions of its width and height."""

from __future__ import annotations

import io
from dataclasses import replace

from PIL import Image

from qagen_dagster.formats.base import PageImage, RenderOptions

Fractions = tuple[float, float, float, float]  # left, top, right, bottom, each 0 to 1

_MAX_PIXELS = 8_000_000  # for the whole page at a resolution that is high enough for a small part
_MAX_SIDE = 6_000
_MAX_BYTES = 40_000_000
_QUALITIES = (90, 75, 50, 30)


def enlarge(how: RenderOptions, part: Fractions) -> RenderOptions:
    """Options to render the whole page with, so that `part` of it fills the limits of `how`."""
    width, height = part[2] - part[0], part[3] - part[1]
    return replace(
        how,
        max_pixels=max(how.max_pixels, min(_MAX_PIXELS, int(how.max_pixels / (width * height)))),
        max_side=max(how.max_side, min(_MAX_SIDE, int(how.max_side / min(width, height)))),
        max_bytes=_MAX_BYTES,
    )


def cut(page: PageImage, part: Fractions, how: RenderOptions) -> PageImage:
    """The part of a page's picture, within the limits of `how`; PNG, or JPEG where PNG is too large."""
    with Image.open(io.BytesIO(page.data)) as whole:
        left, top, right, bottom = part
        picture = whole.convert("RGB").crop(
            (
                int(left * whole.width),
                int(top * whole.height),
                max(int(left * whole.width) + 1, round(right * whole.width)),
                max(int(top * whole.height) + 1, round(bottom * whole.height)),
            )
        )
    scale = min(
        1.0, how.max_side / max(picture.size), (how.max_pixels / (picture.width * picture.height)) ** 0.5
    )
    if scale < 1.0:
        size = (max(1, int(picture.width * scale)), max(1, int(picture.height * scale)))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return _encode(picture, how.max_bytes)


def _encode(picture: Image.Image, max_bytes: int) -> PageImage:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    media_type = "image/png"
    for quality in _QUALITIES:
        if buffer.tell() <= max_bytes:
            break
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=quality)
        media_type = "image/jpeg"
    return PageImage(media_type, buffer.getvalue(), picture.width, picture.height)
