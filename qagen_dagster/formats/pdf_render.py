"""A page, or a crop of it, as a picture within limits.

What belongs here: choosing scale and clip. What does not: encoding (`picture.py`), finding what to look at.
"""

from __future__ import annotations

import pymupdf
from PIL import Image

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParseOptions, RenderOptions
from qagen_dagster.formats.pdf_text import picture_sizes
from qagen_dagster.formats.picture import encode, fit_size
from qagen_dagster.records.document import Box, Outcome

_USUAL_ZOOM = 300 / 72  # more shows nothing new of ordinary print
_CROP_ZOOM = 600 / 72  # a small crop may be drawn this large
_CROP_SIDE = 900  # pixels that the longer side of a small crop should have


def render_page(
    document: pymupdf.Document, number: int, options: ParseOptions, how: RenderOptions
) -> PageImage:
    """1-based page `number` as displayed, or the part of it that `how.crop` names.

    Raises:
        DocumentError: `unsupported` (no such page, an empty crop), `too_large` (a picture on the page exceeds
            `max_pixels`), `corrupt` (the page cannot be drawn).
    """
    count = document.page_count
    if not 1 <= number <= count:
        pages = "1" if count == 1 else f"1 to {count}"
        raise DocumentError(Outcome.UNSUPPORTED, f"there is no page {number}; the document has pages {pages}")
    try:
        page = document[number - 1]
        clip = _clip(page.rect, how.crop)
        _check_pictures(page, options)
        return encode(_drawn(page, clip, how), how)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # whatever the library finds wrong, the page cannot be shown
        raise DocumentError(Outcome.CORRUPT, f"page {number} cannot be drawn") from error


def _clip(page: pymupdf.Rect, crop: Box | None) -> pymupdf.Rect:
    if page.is_empty or page.is_infinite:
        raise DocumentError(Outcome.CORRUPT, "the page has no size")
    if crop is None:
        return page
    clip = pymupdf.Rect(crop.x0, crop.y0, crop.x1, crop.y1) & page
    if clip.is_empty or clip.width < 0.5 or clip.height < 0.5:
        size = f"{page.width:.0f} x {page.height:.0f} points"
        raise DocumentError(Outcome.UNSUPPORTED, f"the crop shows nothing of the page, which is {size}")
    return clip


def _check_pictures(page: pymupdf.Page, options: ParseOptions) -> None:
    for width, height in picture_sizes(page):
        if width * height > options.max_pixels:
            limit = f"the limit is {options.max_pixels:,} pixels"
            raise DocumentError(
                Outcome.TOO_LARGE, f"a picture of {width:,} x {height:,} pixels on the page; {limit}"
            )


def _drawn(page: pymupdf.Page, clip: pymupdf.Rect, how: RenderOptions) -> Image.Image:
    zoom = min(max(_USUAL_ZOOM, _CROP_SIDE / max(clip.width, clip.height)), _CROP_ZOOM)
    width, height = fit_size(clip.width * zoom, clip.height * zoom, how)
    matrix = pymupdf.Matrix(width / clip.width, height / clip.height)
    drawn = page.get_pixmap(matrix=matrix, clip=clip, colorspace=pymupdf.csRGB, alpha=False)
    # The library rounds the clip outwards to whole pixels; `encode` scales the one too many away.
    return Image.frombytes("RGB", (drawn.width, drawn.height), drawn.samples)
