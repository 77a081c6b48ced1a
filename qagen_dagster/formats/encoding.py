"""Decoding of bytes to text: byte order marks, damaged UTF-8 and legacy code pages."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from qagen_dagster.formats.content import wide_encoding

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, because its mark starts with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 200_000
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@", b"\x1b(J")
_SHIFT_JIS = ["cp932", "shift_jis", "shift_jis_2004", "shift_jisx0213"]
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_CENTRAL = ("cp1250", "iso8859_2")
_IN_WORD_MARKS = frozenset("'\u2019\u2018\u00b7\u00ad-\u2013")
_MAX_ODD_SHARE = 0.2
_MIN_FOREIGN_SHARE = 0.3


@dataclass(frozen=True)
class Decoded:
    """Text and its encoding. `note` describes any problem; it is empty for valid UTF-8."""

    text: str
    encoding: str
    note: str = ""


def decode(data: bytes) -> Decoded:
    """Decode by the byte order mark, else as UTF-8, else by the likeliest legacy encoding.

    Bytes that are invalid in the encoding become U+FFFD; the note counts them.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _lenient(data[len(mark) :], encoding)
    wide = wide_encoding(data)
    if wide:
        return _lenient(data, wide)
    if any(escape in data for escape in _ISO_2022_JP):
        try:
            return Decoded(data.decode("iso2022_jp"), "iso2022_jp", "read as iso2022_jp")
        except UnicodeDecodeError:
            pass
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        encoding = "utf-8" if _is_damaged_utf8(data) else _legacy(data)
        return _lenient(data, encoding)


def _lenient(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    bad = text.count("\ufffd")
    notes = [] if encoding == "utf-8" else [f"read as {encoding}"]
    if bad:
        places = "place" if bad == 1 else "places"
        notes.append(f"bytes that are not {encoding} in {bad:,} {places}, shown as U+FFFD")
    return Decoded(text, encoding, "; ".join(notes))


def _is_damaged_utf8(data: bytes) -> bool:
    # Valid UTF-8 sequences hardly ever occur in a legacy encoding of an alphabet, and long ones do not occur by
    # chance. East Asian encodings contain some, among many more invalid ones.
    sound = sum(len(found) - 1 for found in _MULTIBYTE.findall(data))
    unsound = len(_HIGH.findall(_MULTIBYTE.sub(b"", data)))
    rare = len(_HIGH.findall(data)) < 0.01 * len(data)
    return sound >= max(1, unsound) or (rare and sound * 5 >= unsound and sound > 0)


def _legacy(data: bytes) -> str:
    from charset_normalizer import from_bytes  # few files need it

    # The detector recognises scripts but confuses the Latin code pages with each other. Its result counts only for
    # other scripts, or when the Western decoding puts signs into the middle of words.
    best = from_bytes(data[:_SAMPLE]).best()
    if best and len(_HALF_WIDTH.findall(str(best))) > _MIN_FOREIGN_SHARE * len(str(best)):
        # Nobody writes in half-width kana: this is Cyrillic text mistaken for Shift JIS.
        best = from_bytes(data[:_SAMPLE], cp_exclusion=_SHIFT_JIS).best()
    western = _western(data)
    if best is None:
        return western
    sample = data[:_SAMPLE].decode(best.encoding, "replace")
    if _foreign_share(sample) >= _MIN_FOREIGN_SHARE:
        return best.encoding
    candidates = (western, *_CENTRAL, best.encoding)
    odd = [_odd_share(data[:_SAMPLE].decode(one, "replace")) for one in candidates]
    return western if odd[0] <= _MAX_ODD_SHARE else candidates[odd.index(min(odd))]


def _western(data: bytes) -> str:
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1" if not re.search(rb"[\x80-\x9f]", data) else "cp1252"
    return "cp1252" if re.search(rb"[\x80-\x9f]", data) else "latin-1"


def _foreign_share(text: str) -> float:
    letters = [char for char in text if char.isalpha()]
    foreign = [char for char in letters if ord(char) > 0x7F and not _is_latin(char)]
    return len(foreign) / len(letters) if letters else 0.0


def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith(("LATIN", "FEMININE", "MASCULINE", "MICRO"))


def _odd_share(text: str) -> float:
    """Share of the non-ASCII characters that stand inside a word without being letters."""
    high = odd = 0
    for before, char, after in zip(text, text[1:], text[2:], strict=False):
        if ord(char) > 0x7F:
            high += 1
            inside = before.isalpha() and after.isalpha()
            odd += inside and not char.isalpha() and char not in _IN_WORD_MARKS
    return odd / high if high else 0.0
