"""Turns bytes into lines of text: finds the kind of content, the encoding, and the lines and pages of the decoded text."""

import codecs
import re
from dataclasses import dataclass

from qagen_dagster.records.document import PageSpan

HEAD_BYTES = 4_096

# Signatures at the start of a file, with the names of such files in messages.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF87a", "a GIF image"), (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"), (b"MM\x00*", "a TIFF image"), (b"PK\x03\x04", "a ZIP archive (or an office document)"),
    (b"PK\x05\x06", "an empty ZIP archive"), (b"\x1f\x8b", "gzip-compressed data"), (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\x00", "xz-compressed data"), (b"\x28\xb5\x2f\xfd", "zstd-compressed data"), (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"), (b"{\\rtf", "rich text (RTF)"),
    (b"%!PS", "PostScript"), (b"\x7fELF", "a program"), (b"MZ\x90\x00", "a program"), (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"), (b"OggS", "Ogg audio or video"), (b"ID3", "MP3 audio"),
    (b"version https://git-lfs.github.com/spec", "a Git LFS pointer instead of the file itself"),
)  # fmt: skip
_PDF_WITHIN = 1_024  # readers accept leading junk before %PDF-, within the first kilobyte
_HTML = re.compile(rb"(?:<!--[^>]{0,500}-->\s*)?<(?:!doctype\s+html|html|head|body|title|script)\b", re.I)
_WHITE = b" \t\r\n\x0b\x0c"
_MAX_CONTROL_SHARE = 0.05  # maximum share of stray control characters in a text
_MISSING = "nan NaN -nan .nan .NaN NaT <NA> N/A n/a #N/A None null Null NULL ~ inf -inf .inf -.inf Infinity -Infinity"
ABSENT = frozenset(_MISSING.split())  # as data frames and YAML write missing values
_BOMS: tuple[tuple[bytes, str], ...] = (  # UTF-32 first: one of its marks begins with a mark of UTF-16
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_WIDE_BOMS = tuple(mark for mark, name in _BOMS if name != "utf-8")
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ASCII_LETTER = re.compile(rb"[A-Za-z]")
_HIGH = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@", b"\x1b(J")
# Possible encodings of a file that is not Unicode. Code pages that differ from these in only a few characters are left out, because
# detection would confuse them.
_LATIN = (
    "cp1250", "cp1252", "cp1254", "cp1257", "cp1258", "iso8859_1", "iso8859_2", "iso8859_9", "iso8859_13", "mac_roman",
)  # fmt: skip
_DOS = ("cp437", "cp850", "cp852")
_OF_DOS = re.compile(
    rb"[A-Za-z][\x81\x82\x84\x88\x94\xa7][a-z]"
)  # letters of DOS that are other signs elsewhere
# Bytes between a letter and a small letter that are signs or capitals in Mac Roman
_NOT_MAC = re.compile(
    rb"[A-Za-z][\xa0-\xa6\xa8-\xbd\xc0-\xc8\xca-\xce\xd6\xd7\xd9-\xdd\xe0-\xf4\xf6-\xff][a-z]"
)
_OTHER_SCRIPTS = (
    "cp1251", "cp1253", "cp1255", "cp1256", "iso8859_5", "iso8859_6", "iso8859_7", "iso8859_8", "koi8_r", "koi8_u", "cp866", "mac_cyrillic",
    "cp874", "big5hkscs", "cp949", "cp932", "euc_jis_2004", "euc_kr", "gb18030",
)  # fmt: skip
_NOT_ISO = re.compile(rb"[\x80-\x84\x86-\x9f]")  # ISO 8859 has no characters at these codes
# Western text with signs but no letters beyond ASCII
_SIGNS = re.compile(
    rb"(?:[\0-\x7f]|(?<![A-Za-z\x80-\xff])[\x80\x96\x97\xa2\xa3\xa5-\xb7\xb9-\xbe](?![A-Za-z\x80-\xff])|[\xb0\xb1\xb5](?=[A-Za-z]\b))*"
)
_EURO = re.compile(rb"\xa4|[a-z]\xbd[a-z]")  # the euro sign or "oe" of ISO 8859-15
_FEW = 0.2  # a text of another script has at least this share of its letters beyond ASCII
_SURROGATE = re.compile("[\ud800-\udfff]")
# Invisible characters, which would keep a search from finding words: marks of direction, and joiners except between letters they shape.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
    "|(?<![\u0250-\U0010ffff])[\u200c\u200d]+|[\u200c\u200d]+(?![\u0250-\U0010ffff])"
)
_WINDOWS = {code: bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xA0) if code != 0x85}
_BREAK = re.compile("(?<=\\w)\xad(?=[ \xa0\r]*$)", re.MULTILINE)


def content_kind(head: bytes) -> str:
    """A description of the content that the first bytes show ("an HTML page"); empty when they are not recognised."""
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
    """Whether the first 64 KB hold too many control characters to be text in any encoding. UTF-16 and UTF-32 count as text, with or without
    a byte order mark, although they are full of NUL."""
    sample = data[:65_536]
    if sample.startswith(_WIDE_BOMS) or wide_encoding(sample):
        return False
    return control_share(sample) > _MAX_CONTROL_SHARE


def control_share(sample: bytes) -> float:
    """The share of bytes that are control characters which text does not use (0 for no bytes)."""
    if not sample:
        return 0.0
    text_controls = b"\t\n\r\x0b\x0c\x1b\x08\x1a"
    controls = bytes(range(32)) + b"\x7f"
    kept = sample.translate(None, bytes(set(controls) - set(text_controls)))
    return (len(sample) - len(kept)) / len(sample)


def wide_encoding(sample: bytes) -> str:
    """The UTF-16 or UTF-32 variant whose pattern of NUL bytes the sample shows; empty when there is none. Mostly-Latin text has its NUL
    bytes at fixed positions of each two- or four-byte unit."""
    if len(sample) < 4 or 0 not in sample:
        return ""
    sample = sample[: len(sample) - len(sample) % 4][:8_192]
    nul = [sample[place::4].count(0) / (len(sample) / 4) for place in range(4)]
    if min(nul[1:]) > 0.9 and nul[0] < 0.1:
        return "utf-32-le"
    if min(nul[:3]) > 0.9 and nul[3] < 0.1:
        return "utf-32-be"
    if min(nul[1], nul[3]) > 0.5 and max(nul[0], nul[2]) < 0.05:
        return "utf-16-le"
    if min(nul[0], nul[2]) > 0.5 and max(nul[1], nul[3]) < 0.05:
        return "utf-16-be"
    return ""


@dataclass(frozen=True)
class Decoded:
    """Text and its encoding. `note` names an encoding other than UTF-8 and counts invalid bytes; it is empty for valid UTF-8."""

    text: str
    encoding: str
    note: str = ""


def decode(data: bytes, encoding: str = "") -> Decoded:
    """Decode by the byte order mark, else by `encoding`, else as UTF-16 or UTF-32, ISO-2022-JP, UTF-8 or the likeliest legacy encoding.
    Bytes that are invalid in the encoding become U+FFFD; the note counts them."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _lenient(data[len(mark) :], name)
    known = encoding or wide_encoding(data)
    if known:
        return _lenient(data, known)
    if any(escape in data for escape in _ISO_2022_JP):
        try:
            return Decoded(data.decode("iso2022_jp"), "iso2022_jp", "read as iso2022_jp")
        except UnicodeDecodeError:
            pass
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _lenient(data, "utf-8" if _is_damaged_utf8(data) else _legacy(data))


def _lenient(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    bad = text.count("\ufffd")
    notes = [] if encoding == "utf-8" else [f"read as {encoding}"]
    if bad:
        places = "place" if bad == 1 else "places"
        notes.append(f"bytes that are not {encoding} in {bad:,} {places}, shown as U+FFFD")
    return Decoded(text, encoding, "; ".join(notes))


def _is_damaged_utf8(data: bytes) -> bool:
    # Valid UTF-8 sequences hardly ever occur in a legacy encoding of an alphabet, and long ones do not occur by chance. East
    # Asian encodings contain some valid sequences among many more invalid ones.
    sound = sum(len(found) - 1 for found in _MULTIBYTE.findall(data))
    unsound = len(_HIGH.findall(_MULTIBYTE.sub(b"", data)))
    rare = len(_HIGH.findall(data)) < 0.01 * len(data)
    return sound >= max(1, unsound) or (rare and sound * 5 >= unsound and sound > 0)


def _legacy(data: bytes) -> str:
    from chardet import detect  # few files need it

    telling = b"\n".join(line for line in data.split(b"\n") if _HIGH.search(line))
    high = len(_HIGH.findall(telling))
    few = high < _FEW * (high + len(_ASCII_LETTER.findall(telling)))
    names = (*_LATIN, *(_DOS if _OF_DOS.search(telling) else ()), *(() if few else _OTHER_SCRIPTS))
    left_out = ("iso",) * bool(_NOT_ISO.search(telling)) + ("mac_roman",) * bool(_NOT_MAC.search(telling))
    if _SIGNS.fullmatch(telling):
        return "cp1252"
    found = detect(
        telling,
        max_bytes=len(telling),
        prefer_superset=False,
        compat_names=False,
        include_encodings=[name for name in names if not name.startswith(left_out)],
        no_match_encoding="cp1252",
    )
    encoding = found["encoding"] or "cp1252"
    return "iso8859_15" if encoding in ("iso8859-1", "cp1252") and _EURO.search(telling) else encoding


@dataclass(frozen=True)
class Lines:
    """Lines without line ends, their pages (none without form feeds), and a note on repairs."""

    lines: tuple[str, ...]
    pages: tuple[PageSpan, ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        """The document's text, without a newline at the end."""
        return "\n".join(self.lines)

    @property
    def page_count(self) -> int | None:
        """Number of pages; None when the document has no page breaks."""
        return len(self.pages) or None


def split_lines(text: str) -> Lines:
    """Lines and pages of any text. CR LF, CR and LF end lines; a form feed ends a page (and a line).

    NUL and invisible characters are removed, lone surrogates become U+FFFD; the note reports NUL and surrogates. Blank
    lines at the end are dropped. Blank lines at the start are kept, so that line numbers match the file.
    """
    clean, note = _storable(text)
    clean = clean.replace("\r\n", "\n").replace("\r", "\n")
    if "\f" not in clean:
        return Lines(tuple(_without_blank_end(clean.split("\n"))), (), note)
    lines: list[str] = []
    ends: list[int] = []
    pages = clean.split("\f")
    if not pages[-1].strip():  # a form feed after the last page does not begin another page
        pages.pop()
    for page in pages:
        own = page.removesuffix("\n").split("\n") if page else []
        lines.extend(own)
        ends.append(len(lines))
    kept = _without_blank_end(lines)
    return Lines(tuple(kept), _spans(ends, len(kept)), note)


def join_notes(*notes: str) -> str:
    """The non-empty notes on one line."""
    return "; ".join(note for note in notes if note)


def collapse(text: str) -> str:
    """Text on one line with single spaces."""
    return " ".join(text.split())


def without_unseen(text: str) -> str:
    """The text without soft hyphens and other invisible characters. A soft hyphen at the end of a line becomes a hyphen. A control
    character beyond ASCII becomes the character that Windows-1252 has at its code, as in a browser."""
    return text if text.isascii() else _UNSEEN.sub("", _BREAK.sub("-", text)).translate(_WINDOWS)


def _storable(text: str) -> tuple[str, str]:
    notes: list[str] = []
    nuls = text.count("\0")
    if nuls:
        text = text.replace("\0", "")
        notes.append(f"{nuls:,} NUL character{'s' if nuls > 1 else ''} removed")
    text = without_unseen(text)
    text, surrogates = _SURROGATE.subn("\ufffd", text)
    if surrogates:
        notes.append(f"{surrogates:,} lone surrogate{'s' if surrogates > 1 else ''} shown as U+FFFD")
    return text, "; ".join(notes)


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _spans(ends: list[int], count: int) -> tuple[PageSpan, ...]:
    starts = [1, *(end + 1 for end in ends)]
    return tuple(
        PageSpan(page=number, start_line=min(start, count + 1), end_line=min(end, count))
        for number, (start, end) in enumerate(zip(starts, ends, strict=False), start=1)
    )
