"""The title of a PDF: the group of lines on the first page that scores highest, or none if all scores are low.

Each feature of a group has a value and a weight, and the score is the weighted sum. A title that the properties or the outline state
is another candidate if whole lines of the first pages show it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.headings import DIVISION, FILE_NAME, NAMED, NUMBERED, letters_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import WIDE, PdfText, is_prose

_LEAST = 2.2  # minimum score of a title
_WEIGHTS = {
    "large": 3.0,  # if its print is large: from _SOME to 1 by how far its size exceeds the running text; else 0
    "bold": 1.0,  # bold print in the size of the running text
    "early": 1.5,  # 1 for the first group, less for each later group
    "stated": 4.0,  # the properties or the outline state it
    "organisation": -3.5,
    "thesis": -3.0,  # its first line says that this is a thesis
    "person": -0.75,
    "sentence": -2.0,  # it begins or ends like a part of a sentence; or it is not large, and is prose or begins with a digit
    "word": -2.2,  # one short word, such as a logo, or only the kind of the document
    "below text": -4.0,
    "letter": -6.0,  # the page addresses a reader
}
_MAX_TITLE = 300
_CONFIRMING_PAGES = 3  # a cover and a half-title may stand before the title page
_SOME = 0.15  # the value of "large" for barely large print
_LARGE = 1.15  # times the size of the running text
_EQUAL = 0.9  # minimum ratio of the sizes of two lines of a title, and of a bold title and the running text
_GROUPS = 8  # number of groups after which "early" is 0
# Stamps, web and e-mail addresses, dates, places with a year, periodicals, versions, and lines without letters.
_NO_TITLE = re.compile(
    r"(?i)arxiv:|.*\bpage \d+ of \d|(?:proceedings|journal) of |https?://|www\.|doi:|10\.\d{4,9}/|issn\b|isbn\b|page \d|vol(?:ume|\.)? ?\d|[\d\W_]*$"
    r"|(?:v|version|release|revision|rev\.)\.? ?\d|.*@|(?:[^\W\d_]+[.,]? +)?(?:\d{1,2}(?:\.|st|nd|rd|th)?,? +)?[^\W\d_]{3,12}[.,]? +(?:\d{1,2}(?:st|nd|rd|th)?,? +)?(?:19|20)\d\d$"
    r"|[^\W\d_]+(?:[- ][^\W\d_]+){0,3}(?: [-\u2013\u2014] |, ?)(?:19|20)\d\d$|\d{4}-\d\d-\d\d\b|confidential$|draft$|by(?: |$)"
)
_ORGANISATION = re.compile(
    r"(?i)\b(?:universi\w*|department|faculty|college of|school of|institut\w*|ministry|laborator\w+|commission|court|ltd\b|gmbh\b|\u0161kol\w+|"
    r"universit\u00e4t\w*|fakult\u00e4t|departamento|facultad|minist\w+)\b"
    r"|\u0443\u043d\u0438\u0432\u0435\u0440\u0441\u0438\u0442\u0435\u0442|\u043c\u0438\u043d\u0438\u0441\u0442\u0435\u0440\u0441\u0442\u0432|\u043c\u0438\u043d\u043e\u0431\u0440|\u0444\u0430\u043a\u0443\u043b\u044c\u0442\u0435\u0442"
    r"|\u043a\u0430\u0444\u0435\u0434\u0440\u0430|\u0438\u043d\u0441\u0442\u0438\u0442\u0443\u0442|\u0443\u0447\u0440\u0435\u0436\u0434\u0435\u043d\u0438\u0435|\u5927\u5b66|\u5927\u5b78|\u062c\u0627\u0645\u0639\u0629|\u062f\u0627\u0646\u0634\u06af\u0627\u0647|\u062f\u0627\u0646\u0634\u06a9\u062f"
)
_THESIS = re.compile(
    r"(?i)(?:(?:a|the|pra) )?(?:[\w'\u2019.]+ ){0,3}(?:thesis|dissertation|tesis|tese|th\u00e8se|pr\u00e1ce|\w*arbeit)\b(?: (?:to|submitted|for|in|zur) .*)?$"
    r"|.*(?:\u043a\u0432\u0430\u043b\u0438\u0444\u0438\u043a\u0430\u0446\u0438\u043e\u043d\u043d|\u0434\u0438\u0441\u0441\u0435\u0440\u0442\u0430\u0446|\u8bba\u6587|\u8ad6\u6587|\u6bd5\u4e1a\u8bbe\u8ba1)"
)
_KIND = re.compile(
    r"(?i)(?:application note|cover (?:page|sheet|letter)|(?:product )?data ?sheet|product data|white ?paper|technical report|working paper"
    r"|(?:product )?specification|user(?:'s)? (?:guide|manual)|report|\u043e\u0442\u0447[\u0435\u0451]\u0442)$"
)
# What stands first without naming the document: its kind, its state, an article, the heading of a contact.
_PART = re.compile(rf"{_KIND.pattern}|(?:article|section) [\dIVX]+\b|[IVX]{{1,4}}\. |status:|contact us$")
_CAPITALISED = r"[A-Z\u00c0-\u00de\u0410-\u042f][\w.'\u2019-]*"
_PERSON = re.compile(rf"{_CAPITALISED}(?: {_CAPITALISED}){{1,3}}$")
_BETWEEN_NAMES = re.compile(r", (?:and |& )?| and | & ")
_LETTER = re.compile(r"(?i)(?:dear |to whom it may|sehr geehrte|(?:yours )?(?:sincerely|faithfully|truly),)")
_GOES_ON = re.compile(r" [^\W\d_A-Z\u0410-\u042f]{1,3}$")  # ends with a short word, such as "of" or "e"
_LOGO = re.compile(r"(?<=[A-Z])\^(?=[A-Z])")  # the mark of a raised letter, as in the logo "LaTeX"
_NOTE_MARK = re.compile(
    r"(?:[\s,]*(?:(?<=\s)\d\)|[\u2217\u2020\u2021\u22c6]|\^\(?\d\)?(?!\d)))+,?$|(?<=[^\W\d_]{3})[\u2217\u2020\u2021\u22c6]+(?= )|(?:\s|(?<=[^\W\d_]{3}))\*$|,$"
)
# Lost letters, or spaced letters that hide the words. Chinese does not separate words.
_UNREADABLE = re.compile("\ufffd|(?:\\b[^\\W\\d_\u2e80-\uffff] ){4}")


@dataclass(frozen=True)
class _Group:
    """Lines that together may be the title, and the font of the first line."""

    lines: tuple[int, ...]
    text: str
    font: Font


def title_of(pdf: Pdf, text: PdfText, stated: str) -> str | None:
    """The title; None if the best candidate scores too little or is doubtful. `stated` is the title in the properties, which may
    come from a template."""
    said, shown = _stated(pdf, text, stated)
    groups = _groups(text)
    if said and not any(letters_of(group.text) == letters_of(said) for group in groups):
        groups.insert(0, _Group(shown, said, text.fonts[shown[0]]))
    features = _Features(text, groups, said)
    group = max(groups, key=features.score, default=None)
    if group is None or features.score(group) < _LEAST or features.is_doubtful(group):
        return None
    title = said if letters_of(said) == letters_of(group.text) else group.text
    return _NOTE_MARK.sub("", _LOGO.sub("", title)) or None


def _stated(pdf: Pdf, text: PdfText, stated: str) -> tuple[str, tuple[int, ...]]:
    """The title in the outline or in the properties, and the lines of the first pages that show it. Both are empty if no title is shown."""
    roots = [title for level, title, _ in pdf.outline if level == 1]
    root = roots[0] if len(roots) == 1 else ""  # if there are several roots, none is the title
    end = text.pages[min(_CONFIRMING_PAGES, len(text.pages)) - 1].end_line
    large = _LARGE * text.body_size
    for title in (root, " ".join(stated.replace("\0", " ").split())):
        if not _may_be_title(title) or FILE_NAME.search(title) or _KIND.match(title):
            continue
        lines = [
            n for n in range(end if " " in title else text.pages[0].end_line) if letters_of(text.lines[n])
        ]
        for some in (lines, [n for n in lines if text.fonts[n].size > large]):
            if shown := _printed(text, some, letters_of(title)):
                return title, shown
    return "", ()


def _printed(text: PdfText, lines: Sequence[int], wanted: str) -> tuple[int, ...]:
    """The consecutive items of `lines` whose letters, joined, are `wanted`; empty if there are none."""
    for start in range(len(lines)):
        rest = wanted
        for place in range(start, len(lines)):
            letters = letters_of(text.lines[lines[place]])
            if not rest.startswith(letters):
                break
            rest = rest[len(letters) :]
            if not rest:
                return tuple(lines[start : place + 1])
    return ()


def _may_be_title(shown: str) -> bool:
    """Whether a text can be a title: it is no heading, stamp, row of a table or end of a sentence."""
    return (
        2 <= len(shown) <= _MAX_TITLE
        and not (
            _NO_TITLE.match(shown)
            or NAMED.fullmatch(shown)
            or NUMBERED.match(shown)
            or DIVISION.fullmatch(shown)
        )
        and not _UNREADABLE.search(shown)
        and shown[0] not in ".,;:!?)\u060c\u061b"  # as a part of a sentence begins
        and shown.count(" | ") <= 2
    )


@lru_cache(1_000)
def _role(line: str) -> str:
    """What a line names instead of the document: "organisation" or "thesis"; otherwise an empty string."""
    return "organisation" if _ORGANISATION.search(line) else "thesis" if _THESIS.match(line) else ""


def _groups(text: PdfText) -> list[_Group]:
    """The groups of lines on the first page that can be titles, from the top down."""
    groups: list[list[int]] = []
    for n in range(text.pages[0].end_line):
        line = text.lines[n]
        if not line or _NO_TITLE.match(line) or NAMED.fullmatch(line):
            continue
        if groups and _continues(text, groups[-1], n):
            groups[-1].append(n)
        else:
            groups.append([n])
    found: list[_Group] = []
    for group in groups:
        shown = " ".join(text.lines[n] for n in group)
        if _may_be_title(shown):
            words = " ".join(shown.replace(" | ", " ").split())
            found.append(_Group(tuple(group), words, text.fonts[group[0]]))
    return found


def _continues(text: PdfText, group: Sequence[int], n: int) -> bool:
    """Whether line `n` continues a group: it is close, in the same print, and names nothing else.
    In any print, the next line continues a line that ends with a short word. A large next line continues a group that is one short word."""
    fonts, lines, last = text.fonts, text.lines, group[-1]
    if n == last + 1 and _GOES_ON.search(lines[last]):
        return True
    large = fonts[n].size > _LARGE * text.body_size
    between, role = n - last - 1, _role(lines[n])
    if between > (2 if large else 0) or (role != _role(lines[last]) and (role or between)):
        return False
    names = _BETWEEN_NAMES.split(lines[n])
    apart = len(names) > 1 or (not lines[n - 1] and not _KIND.match(lines[n]))
    if apart and all(map(_PERSON.match, names)):
        return False
    if large and not between and len(group) == 1 and _is_word(lines[last]) and not lines[last].isupper():
        return True
    return (
        _EQUAL * fonts[n].size <= fonts[last].size <= fonts[n].size / _EQUAL
        and fonts[n].bold == fonts[last].bold
    )


def _is_word(text: str) -> bool:
    return " " not in text and len(text) <= 12 and max(text) <= WIDE


class _Features:
    """The features of the groups of a document."""

    def __init__(self, text: PdfText, groups: Sequence[_Group], said: str) -> None:
        lines, fonts, end = text.lines, text.fonts, text.pages[0].end_line
        shown = [n for n in range(end) if lines[n]]
        prose = {n for n in shown if is_prose(lines[n])}
        sizes = sorted({fonts[n].size for n in shown}, reverse=True)
        self._lines = lines
        # slides may have no running text
        self._body = text.body_size if prose else min([text.body_size, *sizes[1:2]])
        self._largest = max((group.font.size for group in groups), default=0)
        large = _LARGE * self._body
        # A line of running text may begin with a large letter.
        self._text_at = min((n for n in prose if n + 1 in prose and fonts[n + 1].size <= large), default=end)
        self._said = letters_of(said)
        self._order = {group: n for n, group in enumerate(groups)}
        self._is_letter_page = any(_LETTER.match(lines[n]) for n in shown)

    def score(self, group: _Group) -> float:
        """The weighted sum of the group's features."""
        return sum(_WEIGHTS[name] * value for name, value in self._of(group).items())

    def is_doubtful(self, group: _Group) -> bool:
        """Whether the group names something else, or looks like a person's name while another such group, as large or larger, scores enough."""
        others = (one for one in self._order if one is not group and one.font.size >= group.font.size)
        has_rival = any(_PERSON.match(one.text) and self.score(one) >= _LEAST for one in others)
        alike = bool(_PERSON.match(group.text)) and has_rival and letters_of(group.text) != self._said
        return alike or bool(_PART.match(group.text))

    def _of(self, group: _Group) -> dict[str, float]:
        shown, letters, font = group.text, letters_of(group.text), group.font
        large = font.size > _LARGE * self._body
        share = (font.size - self._body) / max(self._largest - self._body, 1)
        role = _role(self._lines[group.lines[0]])
        return {
            "large": large * (_SOME + (1 - _SOME) * share),
            "bold": font.bold and not large and font.size > _EQUAL * self._body,
            "early": max(0.0, 1 - self._order[group] / _GROUPS),
            "stated": bool(letters) and letters == self._said,
            "organisation": role == "organisation",
            "thesis": role == "thesis",
            "person": bool(_PERSON.match(shown)),
            "sentence": shown[0].islower()
            or shown[-1] in ":;.\u3002"
            or (not large and (is_prose(shown) or shown[0].isdigit())),
            "word": _is_word(shown) or bool(_KIND.match(shown)),
            "below text": group.lines[0] >= self._text_at,
            "letter": self._is_letter_page,
        }
