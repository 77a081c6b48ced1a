"""Scaling and encoding of pictures for models, shared by all formats that render."""

from __future__ import annotations

import io

from PIL import Image, ImageChops, ImageDraw

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.records.document import Box

_JPEG_QUALITIES = (88, 75, 60, 45)
_SHRINK = 0.75
_MIN_SIDE = 16
_FRAME = (200, 30, 30)
_INKED = [255 * (value > 12) for value in range(256)]  # lighter pixels count as white
_GREY_16_BITS = frozenset({"I", "I;16", "I;16L", "I;16B", "I;16N"})


def fit_size(width: float, height: float, how: RenderOptions) -> tuple[int, int]:
    """The largest size of this shape within `max_side` and `max_pixels`, in whole pixels, each >= 1.

    It never enlarges: a format that can render at any scale passes its preferred size.
    """
    if width <= 0 or height <= 0:
        return 1, 1
    scale = min(1.0, how.max_side / max(width, height), (how.max_pixels / (width * height)) ** 0.5)
    return max(1, int(width * scale + 1e-6)), max(1, int(height * scale + 1e-6))


def encode(picture: Image.Image, how: RenderOptions) -> PageImage:
    """`picture` as PNG within the limits of `how`; above `max_bytes` as JPEG, then smaller.

    Transparent pixels become white. Raises DocumentError when even a tiny JPEG exceeds the limit.
    """
    picture = flatten(picture)
    size = fit_size(picture.width, picture.height, how)
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    data = _bytes_of(picture, "PNG")
    if len(data) <= how.max_bytes:
        return PageImage("image/png", data, picture.width, picture.height)
    while True:
        for quality in _JPEG_QUALITIES:
            data = _bytes_of(picture, "JPEG", quality=quality)
            if len(data) <= how.max_bytes:
                return PageImage("image/jpeg", data, picture.width, picture.height)
        if max(picture.size) <= _MIN_SIDE:
            raise DocumentError("too_large", f"no picture fits into {how.max_bytes:,} bytes")
        smaller = (max(1, int(picture.width * _SHRINK)), max(1, int(picture.height * _SHRINK)))
        picture = picture.resize(smaller, Image.Resampling.LANCZOS)


def framed(picture: Image.Image, box: Box, zoom: float) -> Image.Image:
    """The picture with a frame around `box`, whose unit is `zoom` pixels."""
    drawn = flatten(picture).convert("RGB")
    width = max(2, max(drawn.size) // 300)
    corners = (box.x0 * zoom - width, box.y0 * zoom - width, box.x1 * zoom + width, box.y1 * zoom + width)
    ImageDraw.Draw(drawn).rectangle(corners, outline=_FRAME, width=width)
    return drawn


def trimmed(image: PageImage, how: RenderOptions, margin: int = 12) -> PageImage:
    """A drawn page without its white border; a blank page is left unchanged."""
    with Image.open(io.BytesIO(image.data), formats=("PNG", "JPEG")) as opened:
        opened.load()
        picture = flatten(opened)
    box = ImageChops.invert(picture.convert("L")).point(_INKED).getbbox()
    if box is None:
        return encode(picture, how)
    left, top, right, bottom = box
    corner = (min(picture.width, right + margin), min(picture.height, bottom + margin))
    return encode(picture.crop((max(0, left - margin), max(0, top - margin), *corner)), how)


def flatten(picture: Image.Image) -> Image.Image:
    """The picture as opaque 8-bit grey ("L") or colour ("RGB"), from any mode."""
    if picture.mode in ("L", "RGB"):
        if "transparency" not in picture.info:
            return picture
    elif picture.mode == "1":
        return picture.convert("L")
    elif picture.mode in _GREY_16_BITS:
        # Pillow clips instead of scaling when it converts 16-bit grey to 8-bit.
        return picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif picture.mode in ("RGBX", "CMYK", "YCbCr", "LAB", "HSV", "F"):
        return picture.convert("RGB")
    layered = picture.convert("RGBA")
    ground = Image.new("RGB", layered.size, "white")
    ground.paste(layered, mask=layered.getchannel("A"))
    return ground


def _bytes_of(picture: Image.Image, form: str, *, quality: int = 75) -> bytes:
    out = io.BytesIO()
    if form == "JPEG":
        picture.save(out, form, quality=quality, optimize=True)
    else:
        picture.save(out, form)
    return out.getvalue()
