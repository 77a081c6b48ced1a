"""Replaces the named characters of a JATS file (`&alpha;`, `&mgr;`) by numbers before the file is parsed.

The names are those of HTML and of the ISO sets that the DTDs of JATS load. Plain entities that the file itself declares are left
to the parser. With a DTD, any other name is legal but its text is elsewhere. Such a name becomes U+FFFD and is reported.
"""

import html.entities
import re
import unicodedata
from functools import cache

from qagen_dagster.formats.decoding import decode

_NAMED = re.compile(rb"&([A-Za-z_][\w.:-]{0,60});")
_XML_FIVE = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")
_ENCODING = re.compile(r"(<\?xml[^>]{0,200}?)\s+encoding\s*=\s*[\"'][\w.:-]{1,40}[\"']")
_DECLARED = re.compile(rb"<!ENTITY\s+([\w.:-]{1,60})\s+[\"']")
_PARAMETER = re.compile(rb"%[\w.:-]{1,60};|<!ENTITY\s+%[^>]{0,500}>")
_CLOSED, _COMMENT = re.compile(rb"\]\s*>"), re.compile(rb"<!--.{0,5000}?-->", re.DOTALL)
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"
_LETTERS = "a b g d e z ee th i k l m n x o p r s t u ph kh ps oh"
_GREEK = "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba\u03bb\u03bc\u03bd\u03be\u03bf\u03c0\u03c1\u03c3\u03c4\u03c5\u03c6\u03c7\u03c8\u03c9"
_ACCENTED = (
    ("acgr", "a e ee i o u oh", "\u0301"),
    ("digr", "i u", "\u0308"),
    ("diagr", "i u", "\u0308\u0301"),
)
_OTHERS = {"sfgr": "\u03c2", "thetas": "\u03b8", "gcaron": "\u01e7", "Hmacr": "H\u0304", "franc": "\u20a3"}


def with_characters(data: bytes) -> tuple[bytes, list[str]]:
    """The file with numbers in place of named characters, and each unknown name as often as it occurs."""
    if data.startswith(_WIDE):
        data = _ENCODING.sub(r"\1", decode(data).text, count=1).encode()
    head, subset, rest = _split(data)
    declared = frozenset(_DECLARED.findall(subset))
    unknown: list[str] = []

    def replaced(found: re.Match[bytes]) -> bytes:
        if found[1] in _XML_FIVE or found[1] in declared:
            return found[0]
        text = _known(found[1].decode("ascii", "replace"))
        if not text:
            if not head:
                return found[0]
            unknown.append(found[1].decode("ascii", "replace"))
        return "".join(f"&#{ord(char)};" for char in text or "\ufffd").encode("ascii")

    pieces = [_NAMED.sub(replaced, _PARAMETER.sub(b"", subset))]
    for number, part in enumerate(rest.split(_CDATA)):
        kept, end, after = part.partition(_CDATA_END) if number else (b"", b"", part)
        pieces += [_CDATA * bool(number), kept, end, _NAMED.sub(replaced, after)]
    return head + b"".join(pieces), unknown


def _split(data: bytes) -> tuple[bytes, bytes, bytes]:
    """The file up to its DOCTYPE, the declarations within it, and the rest. Without a usable DOCTYPE, the first two parts are empty."""
    start = data.find(b"<!DOCTYPE")
    end = data.find(b">", start)
    if start < 0 or end < 0 or 0 <= data.find(b"<article") < start:
        return b"", b"", data
    opened = data.find(b"[", start, end)
    closed = _CLOSED.search(data, opened) if opened >= 0 else None
    if not closed:
        return data[:end], b"", data[end:]
    return data[:opened], _COMMENT.sub(b"", data[opened : closed.start()]), data[closed.start() :]


@cache
def _known(name: str) -> str:
    """The characters of a name; empty if no set has the name. Bold Greek letters (`b.mu`) are read as plain letters."""
    if found := html.entities.html5.get(f"{name};") or _iso_greek().get(name):
        return found
    return unicodedata.normalize("NFKC", _known(name[2:])) if name.startswith("b.") else ""


@cache
def _iso_greek() -> dict[str, str]:
    """The sets ISOgrk1 and ISOgrk2, and single names that HTML lacks."""
    letters: dict[str, str] = dict(zip(_LETTERS.split(), _GREEK, strict=True))
    letters |= {name.upper(): letter.upper() for name, letter in letters.items()}
    found = {f"{name}gr": letter for name, letter in letters.items()}
    for suffix, names, accent in _ACCENTED:
        for name in (names + " " + names.upper()).split():
            found[f"{name}{suffix}"] = unicodedata.normalize("NFC", letters[name] + accent)
    return found | _OTHERS
