"""Pictures: sizes, encodings, broken files, PNG, JPEG and WebP as documents, and white margins that are cut off."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from PIL import Image as Pillow

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParsedText, ParseOptions, RenderOptions, Source
from qagen_dagster.formats.image import ImageFormat, cut, encode, enlarge, fit_size, flatten, trimmed
from qagen_dagster.records.document import Box, Outcome, PageSpan, VisualType

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


FORMAT = ImageFormat()
OPTIONS = ParseOptions(ocr=False)


def picture(size: tuple[int, int] = (60, 40), mode: str = "RGB", form: str = "PNG", **more: object) -> bytes:
    image = Image.new(mode, size, 0)
    ImageDraw.Draw(image).rectangle((0, 0, size[0] // 2, size[1] // 2), fill=1 if mode in "1P" else "white")
    out = io.BytesIO()
    image.save(out, form, **more)
    return out.getvalue()


def noise(width: int, height: int) -> Image.Image:
    return Image.effect_noise((width, height), 200).convert("RGB")


def opened(image: PageImage | None) -> Image.Image:
    assert image is not None
    found = Image.open(io.BytesIO(image.data))
    assert found.size == (image.width, image.height)
    assert found.format == image.media_type.removeprefix("image/").upper()
    return found


@given(
    st.integers(1, 100_000),
    st.integers(1, 100_000),
    st.builds(RenderOptions, max_pixels=st.integers(100, 10**7), max_side=st.integers(10, 5_000)),
)
def test_sizes_fit_and_keep_their_shape(width: int, height: int, how: RenderOptions) -> None:
    wide, high = fit_size(width, height, how)
    assert 1 <= wide <= min(width, how.max_side)
    assert 1 <= high <= min(height, how.max_side)
    assert wide * high <= how.max_pixels or 1 in (wide, high)
    if min(wide, high) > 50:
        assert wide / high == pytest.approx(width / height, rel=0.05)


def test_small_pictures_are_not_enlarged_and_nothing_is_one_pixel() -> None:
    assert fit_size(10, 20, RenderOptions()) == (10, 20)
    assert fit_size(0, 20, RenderOptions()) == (1, 1)


def test_png_first_then_jpeg_then_smaller() -> None:
    image = noise(300, 200)
    plain = encode(image, RenderOptions())
    assert (plain.media_type, plain.width, plain.height) == ("image/png", 300, 200)
    jpeg = encode(image, RenderOptions(max_bytes=60_000))
    assert (jpeg.media_type, jpeg.width) == ("image/jpeg", 300)
    assert len(jpeg.data) <= 60_000
    small = encode(image, RenderOptions(max_bytes=5_000))
    assert small.width < 300
    assert len(small.data) <= 5_000
    with pytest.raises(DocumentError, match="too_large"):
        encode(image, RenderOptions(max_bytes=10))


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I", "I;16", "F", "HSV"]
)
def test_every_mode_becomes_grey_or_colour(mode: str) -> None:
    assert flatten(Image.new(mode, (5, 5))).mode in ("L", "RGB")


def test_transparency_lies_on_white_and_16_bit_grey_is_scaled() -> None:
    assert flatten(Image.new("RGBA", (2, 2), (255, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)
    assert flatten(Image.new("I;16", (2, 2), 0x8000)).getpixel((0, 0)) == 128


def test_a_picture_is_one_page_without_text() -> None:
    entry = FORMAT.parse(Source("a.png", picture()), OPTIONS)[0]
    assert isinstance(entry, ParsedText)
    assert (entry.outcome, entry.text, entry.page_count) == (Outcome.NO_TEXT, "", 1)
    assert entry.pages == (PageSpan(page=1, start_line=1, end_line=0),)
    assert entry.detail == "60 x 40 pixels; OCR is off"


def test_the_page_is_the_visual() -> None:
    (page,) = FORMAT.visuals(Source("a.png", picture()), None, OPTIONS)
    assert (page.label, page.type, page.page) == ("Page 1", VisualType.PAGE, 1)
    assert page.box == Box(x0=0, y0=0, x1=60, y1=40)


def test_renders_scale_and_crop() -> None:
    source = Source("a.jpg", picture((400, 200), form="JPEG"))
    assert opened(FORMAT.render(source, 1, OPTIONS, RenderOptions(max_side=100))).size == (100, 50)
    crop = RenderOptions(crop=Box(x0=10, y0=10, x1=110, y1=60))
    assert opened(FORMAT.render(source, 1, OPTIONS, crop)).size == (100, 50)
    beyond = RenderOptions(crop=Box(x0=390, y0=-50, x1=900, y1=20))
    assert opened(FORMAT.render(source, 1, OPTIONS, beyond)).size == (10, 20)


def test_a_frame_is_drawn_around_its_box() -> None:
    source = Source("a.png", picture((400, 200)))
    framed = opened(
        FORMAT.render(source, 1, OPTIONS, RenderOptions(frame=Box(x0=250, y0=120, x1=350, y1=180)))
    )
    plain = opened(FORMAT.render(source, 1, OPTIONS, RenderOptions()))
    assert framed.getpixel((249, 150)) == (200, 30, 30)
    assert framed.getpixel((300, 150)) == plain.getpixel((300, 150))


def test_pages_and_crops_that_do_not_exist() -> None:
    source = Source("a.png", picture())
    with pytest.raises(DocumentError, match="no page 2"):
        FORMAT.render(source, 2, OPTIONS, RenderOptions())
    with pytest.raises(DocumentError, match="60 x 40"):
        FORMAT.render(source, 1, OPTIONS, RenderOptions(crop=Box(x0=60, y0=0, x1=80, y1=9)))


def test_exif_orientation_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    source = Source("a.jpg", picture((60, 40), form="JPEG", exif=exif))
    assert opened(FORMAT.render(source, 1, OPTIONS, RenderOptions())).size == (40, 60)
    assert FORMAT.visuals(source, None, OPTIONS)[0].box == Box(x0=0, y0=0, x1=40, y1=60)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_truncated_files_are_corrupt(form: str) -> None:
    out = io.BytesIO()
    noise(80, 80).save(out, form)
    for share in (0.1, 0.5, 0.9):
        data = out.getvalue()[: int(len(out.getvalue()) * share)]
        with pytest.raises(DocumentError) as failure:
            FORMAT.parse(Source("a.png", data), OPTIONS)
        assert failure.value.outcome == "corrupt"


def test_bombs_are_refused_by_their_header() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1_000)))
    with pytest.raises(DocumentError, match="too_large"):
        FORMAT.parse(Source("a.png", data + chunk(b"IEND", b"")), OPTIONS)
    with pytest.raises(DocumentError, match="100 pixels"):
        FORMAT.parse(Source("a.png", picture((20, 20))), ParseOptions(ocr=False, max_pixels=100))


@given(st.binary(max_size=300))
def test_random_bytes_after_a_signature_have_an_outcome(data: bytes) -> None:
    for start in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", picture()[:60]):
        assert outcome_of(start + data) in Outcome.__members__.values()


def outcome_of(data: bytes) -> str:
    try:
        entry = FORMAT.parse(Source("a.png", data), OPTIONS)[0]
    except DocumentError as failure:
        return failure.outcome
    return entry.outcome


def page_picture(width: int, height: int, *, noise: bool = False) -> PageImage:
    picture = Pillow.new("RGB", (width, height), "white")
    if noise:
        picture = Pillow.effect_noise((width, height), 80).convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return PageImage("image/png", buffer.getvalue(), width, height)


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
    image = cut(page_picture(600, 800), part, how)
    assert image.width * image.height <= limit
    assert max(image.width, image.height) <= 700


def test_too_many_bytes_become_jpeg() -> None:
    how = RenderOptions(max_bytes=60_000)
    image = cut(page_picture(300, 300, noise=True), (0, 0, 1, 1), how)
    assert image.media_type == "image/jpeg"
    assert len(image.data) <= 60_000
