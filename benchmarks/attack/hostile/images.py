"""Images: sizes that are only declared, bombs in side chunks, several frames, and data that is cut off."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from PIL import Image

from benchmarks.attack.hostile.kind import Kind, Trap, document, noise

PICTURE = Image.effect_noise((90, 60), 80)
ANY = ("parsed", "no_text", "corrupt")


def _saved(form: str, mode: str = "L", size: tuple[int, int] = (90, 60), **options: Any) -> bytes:
    buffer = io.BytesIO()
    PICTURE.convert(mode).resize(size).save(buffer, form, **options)
    return buffer.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(
    width: int, height: int, *more: bytes, depth: int = 8, colours: int = 0, data: bytes | None = None
) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0))
    pixels = zlib.compress(bytes((width + 1) * height)) if data is None else data
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _frames(form: str, count: int) -> bytes:
    rest: Sequence[Image.Image] = [PICTURE.point(lambda value, n=n: value ^ n) for n in range(1, count)]
    return _saved(form, save_all=True, append_images=rest)


HEALTHY = "healthy.png", _saved("PNG")


def images() -> list[Kind]:
    png, jpeg = _saved("PNG"), _saved("JPEG")
    bomb = zlib.compress(bytes(300_000_000))
    return [
        document("60,000 x 60,000 pixels in 100 bytes", "huge.png", _png(60_000, 60_000, data=b""), "too_large"),
        document("four billion pixels wide", "wide.png", _png(2**31 - 1, 1, data=b""), "too_large"),
        document("more pixels than a number holds", "over.png", _png(2**32 - 1, 2**32 - 1, data=b""), "too_large", "corrupt"),
        document("one pixel wide, a million high", "high.png", _png(1, 1_000_000), *ANY),
        document("no pixels", "zero.png", _png(0, 0), "corrupt"),
        document("data for 100 times the pixels", "more.png", _png(90, 60, data=bomb), *ANY),
        document("a text of 300 MB in 300 kB", "ztxt.png", _png(90, 60, _chunk(b"zTXt", b"a\0\0" + bomb)), *ANY),
        document("a colour profile of 300 MB", "iccp.png", _png(90, 60, _chunk(b"iCCP", b"a\0\0" + bomb)), *ANY),
        document("a palette that is not there", "palette.png", _png(90, 60, colours=3), *ANY),
        document("a wrong checksum", "checksum.png", png[:-5] + b"\0" * 5, *ANY),
        document("a chunk of 4 GB", "chunk.png", png[:33] + b"\xff\xff\xff\xffIDAT" + noise(99), "corrupt"),
        document("100,000 empty chunks", "chunks.png", _png(90, 60, *[_chunk(b"tEXt", b"a\0b")] * 100_000), *ANY),
        document("cut in the middle", "cut.png", png[: len(png) // 2], "corrupt"),
        document("nothing but the signature", "signature.png", png[:8], "corrupt"),
        document("200 frames", "frames.png", _frames("PNG", 200), *ANY),
        document("16 bits for a pixel", "deep.png", _png(4, 4, depth=16, data=zlib.compress(bytes(36))), *ANY),
        document("a JPEG that is cut", "cut.jpg", jpeg[: len(jpeg) // 2], "corrupt"),
        document("a JPEG of 65,535 x 65,535", "huge.jpg", _resized(jpeg, 65_535), "too_large"),
        document("a JPEG of more lines than it has", "lines.jpg", _resized(jpeg, 5_000), *ANY),
        document("a JPEG with a scan 10,000 times", "scans.jpg", lambda _: _scans(), "timeout", *ANY),
        document("a JPEG in CMYK", "cmyk.jpg", _saved("JPEG", "CMYK"), "no_text", "parsed"),
        document("a JPEG with a wrong orientation", "turned.jpg", _saved("JPEG", exif=_orientation(4_000)), *ANY),
        document("a JPEG with a broken EXIF", "exif.jpg", _saved("JPEG", exif=b"Exif\0\0" + noise(5_000)), *ANY),
        document("a JPEG that is also HTML", "html.jpg", jpeg[:2] + b"\xff\xfe\0\x1d<script>alert(1)</script>" + jpeg[2:], *ANY),
        document("a PNG named .jpg", "png.jpg", png, "no_text", "parsed"),
        document("a WebP of noise", "noise.webp", b"RIFF\xff\xff\xff\x7fWEBPVP8X" + noise(999), "corrupt", "too_large"),
        document("a WebP of 16,384 x 16,384", "huge.webp", _huge_webp(), "too_large", "corrupt"),
        document("an animated WebP", "animated.webp", _frames("WEBP", 40), *ANY),
        document("an animated GIF", "animated.gif", _frames("GIF", 40), "unsupported"),
        document("a GIF named .png", "gif.png", _frames("GIF", 2), "not_what_it_says"),
        document("a TIFF of many frames", "frames.tiff", _frames("TIFF", 40), "unsupported"),
        document("a TIFF named .png", "tiff.png", _frames("TIFF", 2), "not_what_it_says"),
        document("a drawing in SVG named .png", "svg.png", _svg, "not_what_it_says"),
        document("a PostScript program named .jpg", "eps.jpg", b"%!PS-Adobe-3.0 EPSF\n(/etc/passwd) run", "not_what_it_says"),
        document("a PDF named .png", "pdf.png", b"%PDF-1.7\n" + noise(99), "not_what_it_says"),
    ]  # fmt: skip


def _resized(jpeg: bytes, side: int) -> bytes:
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", side, side) + jpeg[at + 4 :]


def _scans() -> bytes:
    """A progressive JPEG of 800 x 800 pixels whose last scan comes again and again."""
    whole = _saved("JPEG", "RGB", (800, 800), progressive=True)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    return whole[:-2] + last[:200] * 10_000 + b"\xff\xd9"


def _orientation(value: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = value
    return exif.tobytes()


def _huge_webp() -> bytes:
    body = (
        b"VP8X"
        + struct.pack("<I", 10)
        + bytes(4)
        + (16_383).to_bytes(3, "little") * 2
        + b"VP8 \4\0\0\0"
        + bytes(4)
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def _svg(trap: Trap) -> str:
    return f"<svg xmlns='http://www.w3.org/2000/svg'><image href='file://{trap.file}'/></svg>"
