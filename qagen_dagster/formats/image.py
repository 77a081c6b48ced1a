"""Pictures: the format of PNG, JPEG and WebP files, and how all formats scale, crop and encode pictures for models.

A picture file is a document of one page, with text if OCR finds some. Other kinds of images are refused, because their decoders
would enlarge the attack surface.
"""

import io
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from PIL import Image, ImageChops, ImageDraw, ImageOps, UnidentifiedImageError

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats import base
from qagen_dagster.formats.decoding import join_notes, split_lines
from qagen_dagster.formats.ocr import ocr_image
from qagen_dagster.records.document import Box, Metadata, Outcome, PageSpan, Visual, VisualType

_JPEG_QUALITIES = (88, 75, 60, 45)
_SHRINK = 0.75  # factor for each further attempt to meet the limit of bytes
_MIN_SIDE = 16  # pixels; a smaller picture shows nothing
_FRAME = (200, 30, 30)  # red, because few framed contents are red
_INKED = [255 * (value > 12) for value in range(256)]  # for inverted grey; almost white counts as white
_GREY_16_BITS = frozenset({"I", "I;16", "I;16L", "I;16B", "I;16N"})
_FORMATS = ("PNG", "JPEG", "WEBP")
_FOR_OCR = base.RenderOptions(max_pixels=20_000_000, max_side=8_000, max_bytes=50_000_000)
Fractions = tuple[float, float, float, float]  # left, top, right, bottom, each 0 to 1
_MAX_PIXELS = 8_000_000  # for the whole page at a resolution that is high enough for a small part
_MAX_SIDE = 6_000
_MAX_BYTES = 40_000_000


def fit_size(width: float, height: float, how: base.RenderOptions) -> tuple[int, int]:
    """The size scaled down to `max_side` and `max_pixels`, in whole pixels, each >= 1.

    The size is never scaled up. A format that can render at any scale passes its preferred size.
    """
    if width <= 0 or height <= 0:
        return 1, 1
    scale = min(1.0, how.max_side / max(width, height), (how.max_pixels / (width * height)) ** 0.5)
    return max(1, int(width * scale + 1e-6)), max(1, int(height * scale + 1e-6))


def encode(picture: Image.Image, how: base.RenderOptions) -> base.PageImage:
    """`picture` within the limits of `how`: as PNG if that fits, else as JPEG. The quality is lowered first, then the size.

    Transparent pixels become white. Raises DocumentError when even a tiny JPEG exceeds the limit.
    """
    picture = flatten(picture)
    size = fit_size(picture.width, picture.height, how)
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    data = _bytes_of(picture, "PNG")
    if len(data) <= how.max_bytes:
        return base.PageImage("image/png", data, picture.width, picture.height)
    while True:
        for quality in _JPEG_QUALITIES:
            data = _bytes_of(picture, "JPEG", quality=quality)
            if len(data) <= how.max_bytes:
                return base.PageImage("image/jpeg", data, picture.width, picture.height)
        if max(picture.size) <= _MIN_SIDE:
            raise DocumentError("too_large", f"no picture fits into {how.max_bytes:,} bytes")
        smaller = (max(1, int(picture.width * _SHRINK)), max(1, int(picture.height * _SHRINK)))
        picture = picture.resize(smaller, Image.Resampling.LANCZOS)


def framed(picture: Image.Image, box: Box, zoom: float) -> Image.Image:
    """The picture with a frame around `box`. `zoom` is the number of pixels per unit of `box`."""
    drawn = flatten(picture).convert("RGB")
    width = max(2, max(drawn.size) // 300)
    corners = (box.x0 * zoom - width, box.y0 * zoom - width, box.x1 * zoom + width, box.y1 * zoom + width)
    ImageDraw.Draw(drawn).rectangle(corners, outline=_FRAME, width=width)
    return drawn


def trimmed(image: base.PageImage, how: base.RenderOptions, margin: int = 12) -> base.PageImage:
    """A drawn page without its white border, except for `margin` pixels. A blank page keeps its border."""
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


class ImageFormat(base.Format):
    """A picture as a document of one page, turned upright; one point is one pixel."""

    name = "image"
    version = base.VERSIONS["image"]
    suffixes: tuple[str, ...] = (".png", ".jpg", ".jpeg", ".webp")

    def sniff(self, head: bytes) -> bool:
        """Whether the file is PNG, JPEG or WebP; its suffix may name another of these formats."""
        webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
        return webp or head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"))

    def parse(
        self, source: base.Source, options: base.ParseOptions
    ) -> list[base.ParsedText | base.RowFailure]:
        """The text that OCR finds; otherwise the outcome is `no_text`. Raises DocumentError `corrupt` or `too_large`."""
        picture = _open(source, options)
        shape = f"{picture.width} x {picture.height} pixels"
        text = ocr_image(encode(picture, _FOR_OCR).data, options.ocr_languages) if options.ocr else None
        found = split_lines(text or "")
        count = len(found.lines)
        missing = "tesseract is not installed" if options.ocr else "OCR is off"
        why = "" if count else missing if text is None else "OCR found no text"
        return [
            base.ParsedText(
                text=found.text,
                outcome=Outcome.PARSED if count else Outcome.NO_TEXT,
                detail=join_notes(shape, why),
                page_count=1,
                pages=(PageSpan(page=1, start_line=1, end_line=count),),
                metadata=Metadata(),
                ocr=bool(count),
            )
        ]

    def visuals(self, source: base.Source, row: str | None, options: base.ParseOptions) -> tuple[Visual, ...]:
        """The whole picture as "Page 1". Raises DocumentError `corrupt` or `too_large`."""
        picture = _open(source, options)
        box = Box(x0=0, y0=0, x1=picture.width, y1=picture.height)
        return (Visual(label="Page 1", type=VisualType.PAGE, page=1, box=box, reference=source.name),)

    def render(
        self, source: base.Source, page: int, options: base.ParseOptions, how: base.RenderOptions
    ) -> base.PageImage | None:
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


def _open(source: base.Source, options: base.ParseOptions) -> Image.Image:
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


def enlarge(how: base.RenderOptions, part: Fractions) -> base.RenderOptions:
    """Options for rendering the whole page so large that `part` of it fills the limits of `how`, as far as this module's maximums allow."""
    width, height = part[2] - part[0], part[3] - part[1]
    return replace(
        how,
        max_pixels=max(how.max_pixels, min(_MAX_PIXELS, int(how.max_pixels / (width * height)))),
        max_side=max(how.max_side, min(_MAX_SIDE, int(how.max_side / min(width, height)))),
        max_bytes=_MAX_BYTES,
    )


def cut(page: base.PageImage, part: Fractions, how: base.RenderOptions) -> base.PageImage:
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
    return encode(picture, how)
