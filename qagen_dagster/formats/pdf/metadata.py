"""Metadata of a PDF (title, authors, date, DOI, abstract, language), from its properties, XMP and first pages."""

import re
from collections.abc import Callable
from itertools import takewhile
from typing import TypeVar

from qagen_dagster.formats.pdf.headings import letters_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import PdfText, is_prose
from qagen_dagster.formats.pdf.titles import title_of
from qagen_dagster.records.document import Metadata

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>|]{2,120}")
_DOI_FILE = re.compile(r"/\d+/[^/]*\.pdf$|\.pdf$")
_DATE = re.compile(r"(?:D:)?(\d{4})(?:-?(\d{2})(?:-?(\d{2}))?)?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$")
_ABSTRACT = re.compile(
    r"(?i)^(?:abstract|summary|zusammenfassung|résumé|resumen)\s*(?:[.:\u2014\u2013-]\s*(?P<rest>.*))?$"
)
_ABSTRACT_END = re.compile(
    r"(?i)^(?:(?:\d+|I)[.\s|]*\s*introduction\b|introduction$|key\s?words|index terms|categories and subject|ccs concepts|general terms|permanent url|contents$|acm reference|schlüsselwörter)"
)
_MAX_ABSTRACT_LINES = 60
_MAX_XMP = 200_000  # maximum characters of a metadata stream to search
_Stated = TypeVar("_Stated")
_ADDRESS = re.compile(r" ?<[^<>]*>|\[[\d.]+(?:pt|em|ex|cm|mm)\]")  # an address, or a length from TeX
_WORDS_OF_A_NAME = 5  # maximum
_NO_NAME = re.compile(r"[@/%#&=\u00a9]")  # occurs in an address, code or a note of rights
_CAPITALISED = r"[A-Z\u00c0-\u00de\u0100-\u024f\u0386-\u03ab\u0400-\u042f][\w'\u2019-]*\.?"
_PARTICLE = " (?:van|von|der|den|de|del|di|da|du|la|le|dos|ten)"
_NAME = re.compile(rf"{_CAPITALISED}(?:(?:{_PARTICLE})* {_CAPITALISED}){{1,3}}")
_NO_PERSON = re.compile(
    r"(?i)\b(?:universi\w*|univ|dep(?:artmen)?ts?|institut\w*|school|cent(?:er|re)|college|facult\w*|laborator\w*|labs?|clinic|hospital|society|team|group|project|foundation|inc|ltd|gmbh|corporation|press|manual|guide|version|release|edition|introduction|package|users?|reference|report|class|notes|documentation|tutorial|the|an?(?!\.)|for|of|city|office|abstract|contents|conference|"
    r"journal|research|systems?|services?|solutions?|software|technolog\w*|consult\w*|council|committee|association|agency|programs?|thesis|license|agreement|january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
_AFFILIATION = re.compile(
    r"(?i)\b(?:universi\w+|dep(?:artmen)?t|institut\w*|laborator\w+|college|facult\w+|orcid)\b|@"
)
_BETWEEN_NAMES = re.compile(r"\s*(?:[,;&|]|\b(?:and|und|et|y|e)\b)\s*")
_NO_PART_OF_A_NAME = re.compile(
    r"(?i)^(?:by|von|par|por|di|authors?:) |[<\u27e8][^>\u27e9]*[>\u27e9]|\([^)]*@[^)]*\)|\S+@\S+|\^\(?[\da-z,\u2217*\u2020\u2021]+\)?"
    r"|(?<=[^\W\d_])[\d,\u2217*\u2020\u2021\u22c6\u00a7\u00b6]*[\d\u2217*\u2020\u2021\u22c6\u00a7\u00b6]"
)
_MAX_NAMES = 300  # characters of a line of names
_LONG_WORDS = 3  # maximum words of a name except initials and particles; more are probably several names
_MAILBOX = re.compile(r"[\w.+-]{1,64}@")
# A line of names that continues on the next line ends with "and", a comma or a mark.
_GOES_ON = re.compile(r"(?:[,;&)\d*\u2217\u2020\u2021\u22c6\u00a7\u00b6]|\b(?:and|und|et|y|e))$")
_NOTE_OF_NAME = re.compile(r"\W*a ?[A-Z]")  # an affiliation whose mark may look like a letter of the names
_LED = re.compile(r"(?i)(?:by|von|par|por|di|authors?:) ")
_ENDS_FRONT = re.compile(r"(?i)abstract|summary|contents|1\b")
# The date or the abstract that follows the authors of an article.
_AFTER_NAMES = re.compile(
    r"(?i)(?:abstract|summary|zusammenfassung|r\u00e9sum\u00e9|resumen|(?:\d{1,2}(?:\.|st|nd|rd|th)?,? )?[^\W\d_]{3,12}[.,]? (?:\d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d\d)$"
)
_FRONT = 12  # number of lines below the title that are searched for its authors


def metadata_of(pdf: Pdf, text: PdfText) -> Metadata:
    """The document's metadata. If one property cannot be read, only that property is left out."""
    stated = _stated(pdf.properties, {})
    end = text.pages[min(1, len(text.pages) - 1)].end_line
    lines = text.lines[: text.pages[0].end_line]
    title = title_of(pdf, text, stated.get("title", ""))
    return Metadata(
        title=title,
        authors=_authors(stated.get("author", ""), text.lines[:end]) or _authors_below(title or "", lines),
        date=_date(stated.get("creationDate", "")),
        doi=_doi(stated, lines, pdf),
        abstract=_abstract(text.lines[:end]),
        language=_language(pdf),
    )


def _stated(read: Callable[[], _Stated], absent: _Stated) -> _Stated:
    """The value that `read` returns, or `absent` if the library cannot read the file's value."""
    try:
        return read()
    except Exception:
        return absent


def _authors(stated: str, lines: list[str]) -> tuple[str, ...]:
    """The names in the property `stated` whose last word is on the first pages. Others are often accounts, programs or institutions."""
    if len(stated) > 2_000 or "(0x" in stated:
        return ()
    names: list[str] = []
    for one in re.split(r"\s*(?:;|\band\b)\s*", _ADDRESS.sub("", stated)):
        parts = [part.strip() for part in one.split(",") if part.strip() and "@" not in part]
        people = sum(1 < len(part.split()) <= _WORDS_OF_A_NAME and part[:1].isupper() for part in parts)
        names += parts if people * 2 > len(parts) else [one.strip(", ")]
    return tuple(
        name
        for name in names
        if 0 < len(name.split()) <= _WORDS_OF_A_NAME
        and not _NO_NAME.search(name)
        and not (_NO_PERSON.search(name) or name[0].islower())
        and any(name.split()[-1] in line for line in lines)
    )


def _authors_below(title: str, lines: list[str]) -> tuple[str, ...]:
    """The names directly below the title on the first page, if "by", an affiliation, an e-mail address, or a date or abstract below them
    shows that these are persons.

    Returns no names if the list may be incomplete: more names follow between affiliations, or there are more addresses than names. Also
    returns none if letters that mark affiliations may be part of the names.
    """
    shown = [line for line in lines if line]
    wanted = letters_of(title)
    ends = (
        n for n in range(1, len(shown) + 1)
        if wanted.endswith(letters_of(shown[n - 1])) and wanted in letters_of("".join(shown[max(0, n - 6) : n]))
    )  # fmt: skip
    below = next(ends, len(shown)) if wanted else len(shown)
    following = shown[below : below + _FRONT]
    front = list(takewhile(lambda line: not _ENDS_FRONT.match(line) and not is_prose(line), following))
    names = [_names(line) for line in front]
    first = list(takewhile(bool, names))
    joined = all(_GOES_ON.search(line) for line in front[: len(first) - 1])
    if not joined or any(names[len(first) :]) or any(map(_NOTE_OF_NAME.match, front[len(first) :])):
        return ()
    found = tuple(name for some in first for name in some)
    if len(_MAILBOX.findall("\n".join(front))) > len(found):
        return ()
    addresses = " ".join(_MAILBOX.findall("\n".join(shown))).casefold()
    mailed = any(len(word) > 3 and word.casefold() in addresses for name in found for word in name.split())
    led = any(map(_LED.match, front[: len(first)]))
    dated = any(map(_AFTER_NAMES.match, shown[below + len(first) :][:1]))
    return found if led or dated or mailed or any(map(_AFFILIATION.search, front[: len(first) + 2])) else ()


def _names(line: str) -> list[str]:
    """The names in a line; empty if the line contains anything else."""
    if len(line) > _MAX_NAMES:
        return []
    parts = [part for part in _BETWEEN_NAMES.split(_NO_PART_OF_A_NAME.sub(",", line).strip(" ,")) if part]
    return parts if all(map(_is_person, parts)) else []


def _is_person(stated: str) -> bool:
    long = sum(len(word.rstrip(".")) > 1 and word[0].isupper() for word in stated.split())
    return bool(_NAME.fullmatch(stated)) and not _NO_PERSON.search(stated) and long <= _LONG_WORDS


def _date(stated: str) -> str | None:
    found = _DATE.match(stated)
    if not found or not 1900 <= int(found[1]) <= 2100:
        return None
    return "-".join(part for part in found.groups() if part)


def _doi(stated: dict[str, str], lines: list[str], pdf: Pdf) -> str | None:
    places = [stated.get("subject", ""), stated.get("keywords", ""), *lines]
    found = [match[0] for place in places if "10." in place and (match := _DOI.search(place))]
    if not found and (match := _DOI.search(_stated(pdf.xmp, "")[:_MAX_XMP])):
        found = [match[0]]
    if not found:
        return None
    # A space instead of an underscore may have cut off a mention. The longest mention of the same DOI is complete.
    doi = max((one for one in found if one.startswith(found[0][:12])), key=len)
    doi = _DOI_FILE.sub("", doi).rstrip(".,;:'*]}")
    return doi.rstrip(")") if doi.count(")") > doi.count("(") else doi


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
        shown = "\n".join(filter(None, parts))
        text = " ".join(re.sub(r"(?<=[^\W\d_])-\n(?=[a-z])", "", shown).split())
        return text[:5_000] if len(text) > 80 else None
    return None


def _language(pdf: Pdf) -> str | None:
    value = _stated(pdf.language, "").strip("\ufeff\0 ")
    return value.replace("_", "-") if _LANGUAGE.match(value) else None
