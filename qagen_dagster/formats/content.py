"""Detection of a file's kind from its bytes: signatures of common kinds, and whether bytes are text or binary."""

from __future__ import annotations

import re

HEAD_BYTES = 4_096

# Signatures at the start of a file, with their description for messages.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"PK\x03\x04", "a ZIP archive (or an office document)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\x00", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (b"{\\rtf", "rich text (RTF)"),
    (b"%!PS", "PostScript"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"version https://git-lfs.github.com/spec", "a Git LFS pointer instead of the file itself"),
)
_PDF_WITHIN = 1_024  # readers accept leading junk before %PDF-, within the first kilobyte
_HTML = re.compile(rb"(?:<!--[^>]{0,500}-->\s*)?<(?:!doctype\s+html|html|head|body|title|script)\b", re.I)
_WHITE = b" \t\r\n\x0b\x0c"
_MAX_CONTROL_SHARE = 0.05
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


def content_kind(head: bytes) -> str:
    """A description of what the first bytes show ("an HTML page"); empty when nothing is recognised."""
    for signature, words in _SIGNATURES:
        if head.startswith(signature):
            return words
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "a WebP image"
    if is_pdf(head):
        return "a PDF"
    start = without_bom(head)
    if _HTML.match(start):
        return "an HTML page"
    if start.startswith((b"<?xml", b"<!DOCTYPE")):
        return "XML"
    return ""


def is_pdf(head: bytes) -> bool:
    """Whether the bytes have a PDF header within the range in which readers look for it."""
    return b"%PDF-" in head[:_PDF_WITHIN]


def without_bom(head: bytes) -> bytes:
    """The bytes without a leading UTF-8 byte order mark and white space."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(_WHITE)


def looks_binary(data: bytes) -> bool:
    """Whether the first 64 KB hold too many control characters to be text in any encoding.

    UTF-16 and UTF-32 count as text, with or without a byte order mark, although they are full of NUL.
    """
    sample = data[:65_536]
    if sample.startswith(_WIDE_BOMS) or sample.startswith(b"\x00\x00\xfe\xff"):
        return False
    if wide_encoding(sample):
        return False
    return control_share(sample) > _MAX_CONTROL_SHARE


def control_share(sample: bytes) -> float:
    """Share of bytes that are control characters which text does not use (0 for no bytes)."""
    if not sample:
        return 0.0
    text_controls = b"\t\n\r\x0b\x0c\x1b\x08\x1a"
    controls = bytes(range(32)) + b"\x7f"
    kept = sample.translate(None, bytes(set(controls) - set(text_controls)))
    return (len(sample) - len(kept)) / len(sample)


def wide_encoding(sample: bytes) -> str:
    """The UTF-16 or UTF-32 variant whose pattern of NUL bytes the sample shows; empty when none.

    Mostly-Latin text has its NUL bytes at fixed positions of each two- or four-byte unit.
    """
    if len(sample) < 4 or 0 not in sample:
        return ""
    sample = sample[: len(sample) - len(sample) % 4][:8_192]
    nul = [sample[at::4].count(0) / (len(sample) / 4) for at in range(4)]
    if min(nul[1:]) > 0.9 and nul[0] < 0.1:
        return "utf-32-le"
    if min(nul[:3]) > 0.9 and nul[3] < 0.1:
        return "utf-32-be"
    if min(nul[1], nul[3]) > 0.5 and max(nul[0], nul[2]) < 0.05:
        return "utf-16-le"
    if min(nul[0], nul[2]) > 0.5 and max(nul[1], nul[3]) < 0.05:
        return "utf-16-be"
    return ""
