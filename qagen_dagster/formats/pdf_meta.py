"""What a PDF says of itself: title, authors, date, DOI, abstract, language, and its headings.

What belongs here: reading properties, XMP, the outline and the first pages' lines. What does not: extracting lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

import pymupdf

from qagen_dagster.formats.pdf_text import Line, PdfText
from qagen_dagster.records.document import Metadata, PageSpan, Section

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>|]{2,120}")
_DATE = re.compile(r"(?:D:)?(\d{4})(?:-?(\d{2})(?:-?(\d{2}))?)?")
_FILE_NAME = re.compile(
    r"(?i)^(microsoft \w+ - |untitled|slide 1|document\d*$)|\.(docx?|pptx?|xlsx?|pdf|png|jpe?g|tif|indd|tex|dvi|qxd|eps|ps|rtf)$"
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$")
_ABSTRACT = re.compile(
    r"(?i)^(?:abstract|summary|zusammenfassung|résumé|resumen)\s*(?:[.:—–-]\s*(?P<rest>.*))?$"
)
_ABSTRACT_END = re.compile(
    r"(?i)^(?:(?:\d+|I)[.\s|]*\s*introduction\b|introduction$|key\s?words|index terms|categories and subject|ccs concepts|general terms|"
    r"permanent url|contents$|acm reference|schlüsselwörter)"
)
_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,3})\.?[ |]+[^\W\d_]")
_MAX_TITLE = 300
_MAX_ABSTRACT_LINES = 60
_MAX_SECTIONS = 3_000
_HEADING_CHARS = 120


def metadata_of(document: pymupdf.Document, text: PdfText) -> Metadata:
    """What the document says of itself; a fault in one property leaves only that one out."""
    said = _properties(document)
    first = _lines_of(text, text.pages[:1])
    head = _lines_of(text, text.pages[:2])
    return Metadata(
        title=_title(said.get("title", ""), first),
        authors=_authors(said.get("author", "")),
        date=_date(said.get("creationDate", "")),
        doi=_doi(said, first, document),
        abstract=_abstract([line.text for line in head]),
        language=_language(document),
    )


def sections_of(document: pymupdf.Document, text: PdfText) -> tuple[Section, ...]:
    """The headings: from the outline where there is one, else from the size of letters."""
    found = list(_outlined(document, text)) or _by_size(text.lines)
    return tuple(found[:_MAX_SECTIONS])


def _properties(document: pymupdf.Document) -> dict[str, str]:
    said = document.metadata or {}
    return {key: " ".join(str(value).split()) for key, value in said.items() if value}


def _lines_of(text: PdfText, pages: Sequence[PageSpan]) -> list[Line]:
    return [line for page in pages for line in text.lines[page.start_line - 1 : page.end_line]]


def _title(said: str, first: list[Line]) -> str | None:
    if len(said) > 3 and " " in said and not _FILE_NAME.search(said):
        return said[:_MAX_TITLE]
    sizes = [line.row[0].size for line in first if line.row and len(line.text) > 3]
    shown = ""
    if len(sizes) > 3 and max(sizes) > 1.15 * sorted(sizes)[len(sizes) // 2]:
        largest = max(sizes)
        start = next(
            i
            for i, line in enumerate(first)
            if line.row and len(line.text) > 3 and line.row[0].size == largest
        )
        same = takewhile(lambda line: not line.row or line.row[0].size >= 0.97 * largest, first[start:])
        shown = " ".join(line.text for line in same if line.row)
    if 3 < len(shown) <= _MAX_TITLE:
        return shown.replace(" | ", " ")
    return (
        said
        if len(said) > 3 and not _FILE_NAME.search(said) and not said.replace("-", "").isdigit()
        else None
    )


def _authors(said: str) -> tuple[str, ...]:
    if not said or len(said) > 2_000:
        return ()
    names = [name.strip() for name in re.split(r"\s*(?:;|\band\b|&)\s*", said) if name.strip()]
    if len(names) == 1 and "," in said:
        parts = [part.strip() for part in said.split(",")]
        if all(1 < len(part.split()) <= 4 and part[:1].isupper() for part in parts):
            names = parts
    return tuple(names)


def _date(said: str) -> str | None:
    found = _DATE.match(said)
    if not found or not 1900 <= int(found[1]) <= 2100:
        return None
    return "-".join(part for part in found.groups() if part)


def _doi(said: dict[str, str], first: list[Line], document: pymupdf.Document) -> str | None:
    places = [said.get("subject", ""), said.get("keywords", ""), *(line.text for line in first)]
    found = next((match for place in places if "10." in place and (match := _DOI.search(place))), None)
    if found is None:
        found = _DOI.search(_xmp(document))
    if found is None:
        return None
    doi = found[0].rstrip(".,;:'*]}")
    return doi.rstrip(")") if doi.count(")") > doi.count("(") else doi


def _xmp(document: pymupdf.Document) -> str:
    try:
        return str(document.get_xml_metadata() or "")[:200_000]
    except Exception:  # a broken stream of metadata costs the metadata
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


def _language(document: pymupdf.Document) -> str | None:
    try:
        kind, value = document.xref_get_key(document.pdf_catalog(), "Lang")
    except Exception:  # as above
        return None
    value = value.strip("\ufeff\0 ")
    return value.replace("_", "-") if kind == "string" and _LANGUAGE.match(value) else None


def _outlined(document: pymupdf.Document, text: PdfText) -> Iterator[Section]:
    """The outline's entries, each at the line that repeats its title, else at the top of its page."""
    count = len(text.pages)
    for level, title, page in _outline(document):
        if not (title and 0 <= page < count):
            continue
        span = text.pages[page]
        if span.end_line >= span.start_line:
            yield Section(title=title[:_MAX_TITLE], level=level, start_line=_find(title, text, span))


def _outline(document: pymupdf.Document) -> Iterator[tuple[int, str, int]]:
    try:
        stack = [(1, document.outline)]
        seen = 0
        while stack and seen < _MAX_SECTIONS:
            level, entry = stack.pop()
            if entry is None or not entry.this.m_internal:
                continue
            seen += 1
            stack.append((level, entry.next))
            stack.append((min(level + 1, 12), entry.down))
            yield level, " ".join((entry.title or "").split()), int(entry.page)
    except Exception:  # a broken outline ends here; what was read of it stays
        return


def _find(title: str, text: PdfText, span: PageSpan) -> int:
    wanted = _letters(title)
    for number in range(span.start_line, span.end_line + 1):
        shown = text.lines[number - 1].text
        if len(shown) < 2 * len(title) + 20 and shown:
            letters = _letters(shown)
            if letters == wanted or (letters.endswith(wanted) and len(letters) - len(wanted) < 14):
                return number
    return span.start_line


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _by_size(lines: list[Line]) -> list[Section]:
    weights: Counter[int] = Counter()
    for line in lines:
        if line.row:
            weights[line.row[0].size] += len(line.text)
    if not weights:
        return []
    body = weights.most_common(1)[0][0]
    heads = [
        (number, line) for number, line in enumerate(lines, start=1) if line.row and _is_heading(line, body)
    ]
    if len(heads) > max(20, len(lines) // 5):
        return []
    sizes = sorted({line.row[0].size for _, line in heads if line.row}, reverse=True)
    found: list[Section] = []
    for number, line in heads:
        numbered = _NUMBERED.match(line.text)
        size = line.row[0].size if line.row else 0
        level = numbered[1].count(".") + 1 if numbered else min(sizes.index(size) + 1, 4)
        found.append(Section(title=line.text.replace(" | ", " "), level=level, start_line=number))
    return found


def _is_heading(line: Line, body: int) -> bool:
    text, row = line.text, line.row
    if (
        row is None
        or not 3 <= len(text) <= _HEADING_CHARS
        or text[-1] in ".,;:"
        or not any(map(str.isalpha, text))
    ):
        return False
    size = row[0].size
    return size >= 1.18 * body or (row[0].bold and size >= body and _NUMBERED.match(text) is not None)
