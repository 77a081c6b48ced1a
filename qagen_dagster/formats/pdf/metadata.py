"""Metadata of a PDF (title, authors, date, DOI, abstract, language), from its properties, XMP and first pages.

The title comes from the outline or the properties if the first pages confirm it, else from the print of the first page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TypeVar

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.headings import DIVISION, FILE_NAME, NAMED, NUMBERED, body_size, letters_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import PdfText, is_prose
from qagen_dagster.records.document import Metadata

_MAX_TITLE = 300
_CONFIRMING_PAGES = 3  # a cover and a half-title may stand before the title page
_CONFIRMED = 0.75  # minimum share of a title's words that these pages must show
_ALIKE = 0.5  # share of words that two titles have in common if both name the document
_LARGE = 1.15  # times the size of the running text
_NEARLY_TEXT = 0.95  # minimum size of a bold title, as a share of the size of the running text
_EQUAL = 0.97  # minimum ratio of two sizes that are equal but for rounding
_NEARLY = 0.85  # minimum ratio of the sizes of two lines of a title, if a logo begins one of them
_LOGO_CHARS = 12
_FIRST = 4  # first lines, some of them running heads; a document of one page with fewer lines has no title
_LINES = 5  # maximum lines of a title
# Stamps, addresses, dates, periodicals and rules that are printed larger than the text around them.
_NO_TITLE = re.compile(
    r"(?i)arxiv:|(?:proceedings|journal) of |https?://|www\.|doi:|10\.\d{4,9}/|issn\b|isbn\b|page \d|vol(?:ume|\.)? ?\d|\W*$|[\d\W]+$"
    r"|(?:v|version|release)\.? ?\d|.*@|(?:\d{1,2}(?:\.|st|nd|rd|th)? +)?[^\W\d_]{3,9}\.? +(?:\d{1,2}(?:st|nd|rd|th)?,? +)?(?:19|20)\d\d$|confidential$|draft$|by "
    r"|(?:(?:doctoral|ph\.?d\.?|(?:master|bachelor)['\u2019]?s?) )?(?:thesis|dissertation)$|\w*(?:arbeit|\u8bba\u6587)(?:\(\w+\))?$"
)
_BY = re.compile(r"(?i)by|von|par|por|di|door")  # above the name of an author
_LOGO = re.compile(r"(?<=[A-Z])\^(?=[A-Z])")  # the raised letters in the logo "LaTeX"
_NOTE_MARK = re.compile(
    r"(?:[\s,]*(?:[\u2217\u2020\u2021\u22c6]|\^\d(?!\d)))+,?$|(?<=[^\W\d_]{3})[\u2217\u2020\u2021\u22c6]+(?= )|(?:\s|(?<=[^\W\d_]{3}))\*$|,$"
)
# Lost letters, or letters spaced apart so that the words are lost. Chinese does not separate words.
_UNREADABLE = re.compile("\ufffd|(?:\\b[^\\W\\d_\u2e80-\uffff] ){4}")
_PUNCTUATION = ".,;:!?)\u060c\u061b"  # begins a part of a sentence
_WORD = re.compile(r"[^\W_]+")
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
_MAX_XMP = 200_000  # characters of a metadata stream that are searched
_Stated = TypeVar("_Stated")
_ADDRESS = re.compile(r" ?<[^<>]*>|\[[\d.]+(?:pt|em|ex|cm|mm)\]")  # or a distance between lines, from TeX
_WORDS_OF_A_NAME = 5
_NO_NAME = re.compile(r"[@/%#&=\u00a9]")  # in an address, code or a note of rights
_CAPITALISED = r"[A-Z\u00c0-\u00de\u0100-\u024f\u0386-\u03ab\u0400-\u042f][\w'\u2019-]*\.?"
_PARTICLE = " (?:van|von|der|den|de|del|di|da|du|la|le|dos|ten)"
_NAME = re.compile(rf"{_CAPITALISED}(?:(?:{_PARTICLE})* {_CAPITALISED}){{1,3}}")
_NO_PERSON = re.compile(
    r"(?i)\b(?:universi\w*|univ|dep(?:artmen)?ts?|institut\w*|school|cent(?:er|re)|college|facult\w*|laborator\w*|labs?|clinic|"
    r"hospital|society|team|group|project|foundation|inc|ltd|gmbh|corporation|press|manual|guide|version|release|edition|"
    r"introduction|package|users?|reference|report|class|notes|documentation|tutorial|the|an?|for|abstract|contents|conference|"
    r"journal|research|systems?|services?|solutions?|software|technolog\w*|consult\w*|council|committee|association|agency|programs?|thesis|license|agreement|january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\b"
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
_LONG_WORDS = 3  # maximum words of a name; more words are probably several names
_MAILBOX = re.compile(r"[\w.+-]{1,64}@")
_GOES_ON = re.compile(
    r"(?:[,;&)\d*\u2217\u2020\u2021\u22c6\u00a7\u00b6]|\b(?:and|und|et|y|e))$"
)  # or ends with a mark
_NOTE_OF_NAME = re.compile(r"\W*a ?[A-Z]")  # an affiliation whose mark may look like a letter of the names
_ENDS_FRONT = re.compile(r"(?i)abstract|summary|contents|1\b")
_FRONT = 12  # number of lines below the title in which its authors stand


def title_of(pdf: Pdf, text: PdfText, stated: str) -> str | None:
    """The title, or None if there is none. `stated` is the title in the properties, which is often the title of a template."""
    stated = " ".join(stated.replace("\0", " ").split())[:_MAX_TITLE]
    end = text.pages[min(_CONFIRMING_PAGES, len(text.pages)) - 1].end_line
    first = text.pages[0].end_line
    large = _LARGE * body_size(text)
    roots = [title for level, title, _ in pdf.outline if level == 1]
    root = roots[0][:_MAX_TITLE] if len(roots) == 1 else ""  # if there are several, none is the title
    for name in filter(_names_document, (root, stated)):
        lines = text.lines[: end if " " in name else first]
        heads = [line for line, font in zip(lines, text.fonts, strict=False) if font.size > large]
        if _is_printed(lines, name) or _is_printed(heads, name):
            return name
    shown = _largest(text, first) or _set_apart(text, first) or _above_author(text.lines[:first])
    shown = "" if _UNREADABLE.search(shown) else " ".join(shown.replace(" | ", " ").split())
    alike = max(_share(stated, [shown]), _share(shown, [stated])) >= _ALIKE
    if _names_document(stated) and not alike and _share(stated, text.lines[:end]) >= _CONFIRMED:
        return stated
    return _NOTE_MARK.sub("", _LOGO.sub("", shown)) or None


def _names_document(title: str) -> bool:
    return any(map(str.isalpha, title)) and not (
        FILE_NAME.search(title) or NAMED.fullmatch(title) or NUMBERED.match(title) or _NO_TITLE.match(title)
    )


def _is_printed(lines: Sequence[str], title: str) -> bool:
    """Whether whole lines show the title; only letters are compared."""
    wanted = letters_of(title)
    shown = [letters for line in lines if (letters := letters_of(line))]
    for start in range(len(shown)):
        rest = wanted
        for n in range(start, len(shown)):
            if not rest.startswith(shown[n]):
                break
            rest = rest[len(shown[n]) :]
            if not rest:
                return True
    return False


def _share(title: str, lines: Sequence[str]) -> float:
    """The share of the words of a title that the lines show."""
    words = set(_WORD.findall("\n".join(lines).casefold()))
    wanted = _WORD.findall(title.casefold())
    return sum(word in words for word in wanted) / max(1, len(wanted))


def _largest(text: PdfText, end: int) -> str:
    """The lines in the largest letters of the first page, if these letters stand out.

    A single word, such as a logo, is chosen only if nothing else fits.
    """
    body = body_size(text)
    fonts, lines = text.fonts[:end], text.lines[:end]
    if len(text.pages) > 1 and not any(map(is_prose, lines)):  # slides may have no running text at all
        body = min([body, *sorted({font.size for font in fonts if font.size}, reverse=True)[1:2]])
    large = _LARGE * body
    # A line of running text may begin with a large letter. A line of a title is followed by large print.
    texts = [n for n in range(end - 1) if all(map(is_prose, lines[n : n + 2])) and fonts[n + 1].size <= large]
    above = min(texts, default=end)
    shown = [n for n in range(end) if lines[n] and not _NO_TITLE.match(lines[n])]
    if len(shown) < _FIRST and len(text.pages) == 1:
        return ""
    usable = [n for n in shown if n < above]
    sizes = sorted({fonts[n].size for n in usable if fonts[n].size > large}, reverse=True)[:3]
    starts = (next(n for n in usable if _EQUAL * size <= fonts[n].size <= size) for size in sizes)
    runs = [(n, _run_of(n, lines, fonts)) for n in starts]
    runs = [(n, run) for n, run in runs if _may_be_title(run)]
    # A short word may be a logo. If it stands above all other large print, it is a title if there is no text or if the page repeats it.
    short = {n for n, run in runs if " " not in run and len(run) <= _LOGO_CHARS}
    start, word = runs[0] if runs else (end, "")
    name = letters_of(word)
    repeated = above == end or any(name in letters_of(line) for n, line in enumerate(lines) if n != start)
    if start in short and repeated and start == min(runs)[0]:
        below = takewhile(lambda n: lines[n] and fonts[n].size > large, range(start + 1, end))
        return " ".join([word, *(lines[n] for n in below if not _NO_TITLE.match(lines[n]))])
    return next((run for n, run in runs if n not in short), word)


def _run_of(start: int, lines: Sequence[str], fonts: Sequence[Font]) -> str:
    """The lines in the size of line `start`, and the lines above it in nearly that size; empty if they are too many for a title.

    Blank lines and single lines of smaller print between these lines are left out.
    """
    same = [start]
    for n in range(start + 1, len(lines)):
        if _is_like(n, start, lines, fonts):
            same.append(n)
        elif lines[n] and not (
            fonts[n].size < fonts[start].size and lines[n - 1] and _is_like(n + 1, start, lines, fonts)
        ):
            break
    above = takewhile(lambda n: _is_like(n, start, lines, fonts, _NEARLY), range(start - 1, -1, -1))
    shown = [lines[n] for n in sorted({*above, *same})]
    return " ".join(shown) if len(shown) <= _LINES else ""


def _is_like(n: int, start: int, lines: Sequence[str], fonts: Sequence[Font], share: float = _EQUAL) -> bool:
    """Whether line `n` may belong to a title that begins at line `start`. Very short lines, such as a dash, may."""
    size = fonts[start].size
    return (
        n < len(lines)
        and share * size <= fonts[n].size <= size / share
        and (len(lines[n]) < 4 or not (_NO_TITLE.match(lines[n]) or NAMED.fullmatch(lines[n])))
    )


def _set_apart(text: PdfText, end: int) -> str:
    """The first bold line among the first lines, with the lines that continue in its font, if ordinary text follows."""
    lines, fonts = text.lines[:end], text.fonts[:end]
    shown = [n for n in range(end) if lines[n]]
    least = _NEARLY_TEXT * body_size(text)
    start = next((n for n in shown[: _FIRST - 1] if fonts[n].bold and fonts[n].size > least), end)
    block = list(takewhile(lambda n: lines[n] and fonts[n] == fonts[start], range(start, end)))
    title = " ".join(lines[n] for n in block)
    below = next((fonts[n] for n in shown if n >= start + len(block)), None)
    fits = len(block) <= _LINES and below and not below.bold
    worded = (" " in title or not title.isupper()) and not title[:1].isdigit()
    return title if fits and worded and _may_be_title(title) else ""


def _above_author(lines: Sequence[str]) -> str:
    """The first paragraph of a title page in one font, if a line such as "by" precedes the author there."""
    shown = list(takewhile(bool, lines))
    named = any(_BY.fullmatch(line) for line in lines[len(shown) :])
    title = " ".join(shown)
    return title if named and len(shown) <= _LINES and _may_be_title(title) else ""


def _may_be_title(shown: str) -> bool:
    """Whether a text can be a title: it is no heading, stamp, row of a table or part of a sentence."""
    return (
        2 <= len(shown) <= _MAX_TITLE
        and not (_NO_TITLE.match(shown) or NAMED.fullmatch(shown))
        and not (NUMBERED.match(shown) or DIVISION.fullmatch(shown))
        and shown[0] not in _PUNCTUATION
        and shown.count(" | ") <= 2
    )


def metadata_of(pdf: Pdf, text: PdfText) -> Metadata:
    """The document's metadata. If one property cannot be read, only that property is left out."""
    stated = _stated(pdf.properties, {})
    first = text.pages[0]
    end = text.pages[min(1, len(text.pages) - 1)].end_line
    lines = text.lines[: first.end_line]
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
    """The value that `read` returns; `absent` if the library cannot read the file's value."""
    try:
        return read()
    except Exception:
        return absent


def _authors(stated: str, lines: list[str]) -> tuple[str, ...]:
    """The names in the property `stated`. A single word is often an account name, so it counts only if the first pages show it."""
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
        and (" " in name or (not name[0].islower() and any(name in line for line in lines)))
    )


def _authors_below(title: str, lines: list[str]) -> tuple[str, ...]:
    """The names directly below the title on the first page, if an affiliation or an e-mail address shows that they are persons.

    Returns no names if more names stand further below, between affiliations, since the list would be incomplete. Returns none,
    either, if the line below may be an institute.
    """
    shown = [line for line in lines if line]
    wanted = letters_of(title)
    ends = (
        n for n in range(1, len(shown) + 1)
        if wanted.endswith(letters_of(shown[n - 1])) and wanted in letters_of("".join(shown[max(0, n - 6) : n]))
    )  # fmt: skip
    below = next(ends, len(shown)) if wanted else len(shown)
    front = list(
        takewhile(
            lambda line: not _ENDS_FRONT.match(line) and not is_prose(line), shown[below : below + _FRONT]
        )
    )
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
    return found if mailed or any(map(_AFFILIATION.search, front[: len(first) + 2])) else ()


def _names(line: str) -> list[str]:
    """The names in a line; empty if the line holds anything else."""
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
        text = " ".join(
            re.sub(r"(?<=[^\W\d_])-\n(?=[a-z])", "", "\n".join(part for part in parts if part)).split()
        )
        return text[:5_000] if len(text) > 80 else None
    return None


def _language(pdf: Pdf) -> str | None:
    value = _stated(pdf.language, "").strip("\ufeff\0 ")
    return value.replace("_", "-") if _LANGUAGE.match(value) else None
