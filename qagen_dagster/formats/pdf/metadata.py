"""Metadata of a PDF (title, authors, date, DOI, abstract, language), from its properties, XMP and first pages."""

from __future__ import annotations

import re

from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import PdfText
from qagen_dagster.formats.pdf.title import title_of
from qagen_dagster.records.document import Metadata

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>|]{2,120}")
_DOI_FILE = re.compile(r"/\d+/[^/]*\.pdf$|\.pdf$")
_DATE = re.compile(r"(?:D:)?(\d{4})(?:-?(\d{2})(?:-?(\d{2}))?)?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$")
_ABSTRACT = re.compile(
    r"(?i)^(?:abstract|summary|zusammenfassung|résumé|resumen)\s*(?:[.:\u2014\u2013-]\s*(?P<rest>.*))?$"
)
_ABSTRACT_END = re.compile(
    r"(?i)^(?:(?:\d+|I)[.\s|]*\s*introduction\b|introduction$|key\s?words|index terms|categories and subject|ccs concepts|general terms|"
    r"permanent url|contents$|acm reference|schlüsselwörter)"
)
_MAX_ABSTRACT_LINES = 60
_ADDRESS = re.compile(r" ?<[^<>]*>|\[[\d.]+(?:pt|em|ex|cm|mm)\]")  # and TeX's spaces between lines
_WORDS_OF_A_NAME = 5


def metadata_of(pdf: Pdf, text: PdfText) -> Metadata:
    """The document's metadata; a fault in one property omits only that one."""
    said = _properties(pdf)
    first = text.pages[0]
    end = text.pages[min(1, len(text.pages) - 1)].end_line
    lines = text.lines[: first.end_line]
    return Metadata(
        title=title_of(pdf, text, said.get("title", "")),
        authors=_authors(said.get("author", ""), text.lines[:end]),
        date=_date(said.get("creationDate", "")),
        doi=_doi(said, lines, pdf),
        abstract=_abstract(text.lines[:end]),
        language=_language(pdf),
    )


def _properties(pdf: Pdf) -> dict[str, str]:
    try:
        return pdf.properties()
    except Exception:  # unreadable properties are treated as absent
        return {}


def _authors(said: str, lines: list[str]) -> tuple[str, ...]:
    """The names in a property. A single word, which is often the name of an account, counts only if the first pages show it."""
    if len(said) > 2_000 or "(0x" in said:
        return ()
    names: list[str] = []
    for one in re.split(r"\s*(?:;|\band\b)\s*", _ADDRESS.sub("", said)):
        parts = [part.strip() for part in one.split(",") if part.strip() and "@" not in part]
        people = sum(1 < len(part.split()) <= _WORDS_OF_A_NAME and part[:1].isupper() for part in parts)
        names += parts if people * 2 > len(parts) else [one.strip(", ")]
    return tuple(
        name for name in names if _is_name(name) and (" " in name or any(name in line for line in lines))
    )


def _is_name(said: str) -> bool:
    """Whether it is short enough, and no address."""
    return 0 < len(said.split()) <= _WORDS_OF_A_NAME and "@" not in said


def _date(said: str) -> str | None:
    found = _DATE.match(said)
    if not found or not 1900 <= int(found[1]) <= 2100:
        return None
    return "-".join(part for part in found.groups() if part)


def _doi(said: dict[str, str], lines: list[str], pdf: Pdf) -> str | None:
    places = [said.get("subject", ""), said.get("keywords", ""), *lines]
    found = [match[0] for place in places if "10." in place and (match := _DOI.search(place))]
    if not found and (match := _DOI.search(_xmp(pdf))):
        found = [match[0]]
    if not found:
        return None
    # A space for an underscore may have cut one mention short; the longest mention of the same DOI is complete.
    doi = max((one for one in found if one.startswith(found[0][:12])), key=len)
    doi = _DOI_FILE.sub("", doi).rstrip(".,;:'*]}")
    return doi.rstrip(")") if doi.count(")") > doi.count("(") else doi


def _xmp(pdf: Pdf) -> str:
    try:
        return pdf.xmp()[:200_000]
    except Exception:  # an unreadable metadata stream is treated as absent
        return ""


def _abstract(lines: list[str]) -> str | None:
    for number, line in enumerate(lines):
        found = _ABSTRACT.match(line.strip())
        if not found:
            continue
        parts = [found["rest"]] if found["rest"] else []
        blanks = 0
        for follower in lines[number + 1 : number + 1 + _MAX_ABSTRACT_LINES]:
            blanks += not follower
            if _ABSTRACT_END.match(follower) or (blanks > 1 and not follower and len(" ".join(parts)) > 400):
                break
            parts.append(follower)
        text = " ".join(
            re.sub(r"(?<=[^\W\d_])-\n(?=[a-z])", "", "\n".join(part for part in parts if part)).split()
        )
        return text[:5_000] if len(text) > 80 else None
    return None


def _language(pdf: Pdf) -> str | None:
    try:
        value = pdf.language().strip("\ufeff\0 ")
    except Exception:  # as above
        return None
    return value.replace("_", "-") if _LANGUAGE.match(value) else None
