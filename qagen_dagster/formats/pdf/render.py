"""Rendering of a page, or a crop of it, as a picture within limits."""

from __future__ import annotations

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParseOptions, RenderOptions
from qagen_dagster.formats.image import encode, fit_size, framed
from qagen_dagster.formats.pdf.mupdf import Page, Pdf, Rect
from qagen_dagster.records.document import Box, Outcome

_USUAL_ZOOM = 300 / 72  # a higher zoom shows nothing new of ordinary print
_CROP_ZOOM = 600 / 72  # maximum zoom of a small crop
_CROP_SIDE = 900  # target length in pixels of a small crop's longer side


def render_page(pdf: Pdf, number: int, options: ParseOptions, how: RenderOptions) -> PageImage:
    """1-based page `number` as displayed, or the part of it that `how.crop` names.

    Raises:
        DocumentError: `unsupported` (no such page, an empty crop), `too_large` (a picture on the page exceeds
            `max_pixels`), `corrupt` (the page cannot be drawn).
    """
    if not 1 <= number <= pdf.count:
        pages = "page 1 only" if pdf.count == 1 else f"pages 1 to {pdf.count}"
        raise DocumentError(Outcome.UNSUPPORTED, f"there is no page {number}: the document has {pages}")
    try:
        page = pdf.page(number - 1)
        clip = _clip(page, how.crop)
        _check_pictures(page, options)
        wide, high = clip[2] - clip[0], clip[3] - clip[1]
        zoom = min(max(_USUAL_ZOOM, _CROP_SIDE / max(wide, high)), _CROP_ZOOM)
        # The library rounds the clip outwards to whole pixels; `encode` scales the extra pixel away.
        picture = page.draw(clip, *fit_size(wide * zoom, high * zoom, how))
        return encode(framed(picture, how.frame, picture.width / wide) if how.frame else picture, how)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # whatever the library reports, the page cannot be shown
        raise DocumentError(Outcome.CORRUPT, f"page {number} cannot be drawn") from error


def _clip(page: Page, crop: Box | None) -> Rect:
    if not (0 < page.width < 1e6 and 0 < page.height < 1e6):
        raise DocumentError(Outcome.CORRUPT, "the page has no usable size")
    if crop is None:
        return page.box
    clip = (max(crop.x0, 0), max(crop.y0, 0), min(crop.x1, page.width), min(crop.y1, page.height))
    if clip[2] - clip[0] < 0.5 or clip[3] - clip[1] < 0.5:
        size = f"{page.width:.0f} x {page.height:.0f} points"
        raise DocumentError(Outcome.UNSUPPORTED, f"the crop shows nothing of the page, which is {size}")
    return clip


def _check_pictures(page: Page, options: ParseOptions) -> None:
    for picture in page.pictures():
        if picture.width * picture.height > options.max_pixels:
            size = f"{picture.width:,} x {picture.height:,} pixels"
            limit = f"the limit is {options.max_pixels:,} pixels"
            raise DocumentError(Outcome.TOO_LARGE, f"the page holds a picture of {size}; {limit}")
