"""The format of PNG, JPEG and WebP files: a document of one page, with text if OCR finds some.

Other kinds of images are refused, because their decoders would enlarge the attack surface.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Generator
from contextlib import contextmanager

from PIL import Image, ImageOps, UnidentifiedImageError

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import (
    VERSIONS,
    PageImage,
    ParsedText,
    ParseOptions,
    RenderOptions,
    RowFailure,
    Source,
)
from qagen_dagster.formats.lines import join_notes, split_lines
from qagen_dagster.formats.ocr import ocr_image
from qagen_dagster.formats.picture import encode, framed
from qagen_dagster.records.document import (
    Box,
    Metadata,
    Outcome,
    PageSpan,
    Visual,
    VisualType,
)

_FORMATS = ("PNG", "JPEG", "WEBP")
_FOR_OCR = RenderOptions(max_pixels=20_000_000, max_side=8_000, max_bytes=50_000_000)


class ImageFormat:
    """A picture as a document of one page, turned upright; one point is one pixel."""

    name = "image"
    version = VERSIONS["image"]
    suffixes: tuple[str, ...] = (".png", ".jpg", ".jpeg", ".webp")

    def sniff(self, head: bytes) -> bool:
        """Whether it is PNG, JPEG or WebP; the suffix may name another of the three."""
        webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
        return webp or head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"))

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """The text that OCR finds; otherwise the outcome is `no_text`. Raises DocumentError `corrupt` or `too_large`."""
        picture = _open(source, options)
        shape = f"{picture.width} x {picture.height} pixels"
        text = ocr_image(encode(picture, _FOR_OCR).data, options.ocr_languages) if options.ocr else None
        found = split_lines(text or "")
        count = len(found.lines)
        why = "" if count else "OCR found no text" if text is not None else _why_no_ocr(options)
        return [
            ParsedText(
                text=found.text,
                outcome=Outcome.PARSED if count else Outcome.NO_TEXT,
                detail=join_notes(shape, why),
                page_count=1,
                pages=(PageSpan(page=1, start_line=1, end_line=count),),
                metadata=Metadata(),
                ocr=bool(count),
            )
        ]

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        """The whole picture as "Page 1". Raises DocumentError `corrupt` or `too_large`."""
        picture = _open(source, options)
        box = Box(x0=0, y0=0, x1=picture.width, y1=picture.height)
        return (Visual(label="Page 1", type=VisualType.PAGE, page=1, box=box, reference=source.name),)

    def render(
        self, source: Source, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """The picture or a crop of it. Raises DocumentError when the page or crop does not exist."""
        if page != 1:
            raise DocumentError("unsupported", f"there is no page {page}: a picture has one page")
        picture = _open(source, options)
        picture = framed(picture, how.frame, 1) if how.frame else picture
        return encode(_crop(picture, how.crop) if how.crop else picture, how)


def _crop(picture: Image.Image, box: Box) -> Image.Image:
    left, top = max(0, int(box.x0)), max(0, int(box.y0))
    right, bottom = min(picture.width, round(box.x1)), min(picture.height, round(box.y1))
    if right - left < 1 or bottom - top < 1:
        size = f"{picture.width} x {picture.height}"
        raise DocumentError("unsupported", f"the crop holds no pixel of the picture ({size})")
    return picture.crop((left, top, right, bottom))


def _why_no_ocr(options: ParseOptions) -> str:
    return "tesseract is not installed" if options.ocr else "OCR is off"


def _open(source: Source, options: ParseOptions) -> Image.Image:
    """The decoded picture, rotated by its EXIF orientation."""
    with _named_outcomes(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(source.data), formats=_FORMATS) as picture:
            # The header gives the size, so a decompression bomb is refused before any pixel is decoded.
            if picture.width * picture.height > options.max_pixels:
                size = f"{picture.width:,} x {picture.height:,} pixels"
                raise DocumentError("too_large", f"{size}; the limit is {options.max_pixels:,} pixels")
            picture.load()
            return ImageOps.exif_transpose(picture)


@contextmanager
def _named_outcomes() -> Generator[None]:
    try:
        yield
    except UnidentifiedImageError as error:
        raise DocumentError("corrupt", "no PNG, JPEG or WebP image that can be read") from error
    except Image.DecompressionBombError as error:
        raise DocumentError("too_large", str(error)) from error
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, OverflowError) as error:
        raise DocumentError("corrupt", f"the image cannot be decoded: {error}") from error
