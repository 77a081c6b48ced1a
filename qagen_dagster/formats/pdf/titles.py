"""The title of a PDF: the group of lines on the first page that scores highest, or none if that is not sure enough.

Each feature of a group has a value and a weight. Their weighted sum is a score, and the scores of all groups and of "no title" give
their probabilities (multinomial logistic regression, fitted to 200 PDFs; three weights were set by hand). A title that the properties or
the outline state is another candidate if whole lines of the first pages show it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.headings import DIVISION, FILE_NAME, MAX_TITLE, NAMED, NUMBERED, letters_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import WIDE, PdfText, is_prose

_NONE = 5.3  # the score of "no title"
_SURE = 0.55  # minimum probability of a title
_WEIGHTS = {
    "large": 3.9,  # if its print is large: from _SOME to 1 by how far its size exceeds the running text; else 0
    "bold": 2.0,  # bold print in the size of the running text: the square of "early"; else 0
    "early": 3.6,  # 1 for the first group, less for each later group
    "stated": 1.6,  # the properties or the outline state it
    "kind": 2.3,  # it names the kind of a document, such as a manual
    "other": -2.3,  # its first line names an organisation, or says that this is a thesis
    "sentence": -3.0,  # it begins or ends like a part of a sentence; or it is not large, and is prose or begins with a digit
    "word": -0.9,  # one short word, such as a logo, or only a general kind of document
    "below text": -3.0,
}
_CONFIRMING_PAGES = 3  # a cover and a half-title may stand before the title page
_SOME = 0.15  # the value of "large" for barely large print
_LARGE = 1.15  # times the size of the running text
_EQUAL = 0.9  # minimum ratio of the sizes of two lines of a title, and of a bold title and the running text
_SIMILAR = 0.65  # minimum ratio of the sizes of a name and the kind of the document next to it
_SAME = 0.97  # minimum ratio of the sizes of two lines of a title that are apart
_GROUPS = 8  # number of groups after which "early" is 0
# Stamps, web and e-mail addresses, dates, places with a year, periodicals, versions, and lines without letters.
_NO_TITLE = re.compile(
    r"(?i)arxiv:|.*\bpage \d+ of \d|(?:proceedings|journal) of |https?://|www\.|doi:|10\.\d{4,9}/|issn\b|isbn\b|page \d|vol(?:ume|\.)? ?\d|[\d\W_]*$|(?:v|version|release|revision|rev\.)\.? ?\d|.*@|(?:[^\W\d_]+[.,]? +)?(?:\d{1,2}(?:\.|st|nd|rd|th)?,? +)?[^\W\d_]{3,12}[.,]? +(?:\d{1,2}(?:st|nd|rd|th)?,? +)?(?:19|20)\d\d$"
    r"|[^\W\d_]+(?:[- ][^\W\d_]+){0,3}(?: [-\u2013\u2014] |, ?)(?:19|20)\d\d$|\d{4}-\d\d-\d\d\b|confidential$|draft$|by(?: |$)"
)
# An organisation, or the words that say that this is a thesis.
_OTHER = re.compile(
    r"(?i)\b(?:universi\w*|department|faculty|college of|school of|institut\w*|ministry|laborator\w+|commission|court|ltd\b|gmbh\b|\u0161kol\w+|universit\u00e4t\w*|fakult\u00e4t|departamento|facultad|minist\w+)\b|\u0443\u043d\u0438\u0432\u0435\u0440\u0441\u0438\u0442\u0435\u0442|\u043c\u0438\u043d\u0438\u0441\u0442\u0435\u0440\u0441\u0442\u0432|\u043c\u0438\u043d\u043e\u0431\u0440|\u0444\u0430\u043a\u0443\u043b\u044c\u0442\u0435\u0442"
    r"|\u043a\u0430\u0444\u0435\u0434\u0440\u0430|\u0438\u043d\u0441\u0442\u0438\u0442\u0443\u0442|\u0443\u0447\u0440\u0435\u0436\u0434\u0435\u043d\u0438\u0435|\u5927\u5b66|\u5927\u5b78|\u062c\u0627\u0645\u0639\u0629|\u062f\u0627\u0646\u0634\u06af\u0627\u0647|\u062f\u0627\u0646\u0634\u06a9\u062f|^(?:(?:a|the|pra) )?(?:[\w'\u2019.]+ ){0,3}(?:thesis|dissertation|tesis|tese|th\u00e8se|pr\u00e1ce|\w*arbeit)\b(?: (?:to|submitted|for|in|zur) .*)?$|(?:\u043a\u0432\u0430\u043b\u0438\u0444\u0438\u043a\u0430\u0446\u0438\u043e\u043d\u043d|\u0434\u0438\u0441\u0441\u0435\u0440\u0442\u0430\u0446|\u8bba\u6587|\u8ad6\u6587|\u6bd5\u4e1a\u8bbe\u8ba1)"
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
_DOCUMENT = (
    r"\b(?:act|agenda|agreement|application|assignment|brochure|bulletin|bylaws|catalogue?|certificate|charter|checklist|code of|complaint|constitution|contract|curriculum|data ?sheet|declaration|documentation|exam|form|guide|guidelines|handbook|handout|homework|instructions|invoice|lecture|licen[cs]e|manual"
    r"|memo(?:randum)?|minutes|newsletter|notes|notice|plan|policy|program(?:me)?|proposal|protocol|questionnaire|quiz|reference|report|request|review|rules|schedule|specification|standard|statement|summary|survey|syllabus|template|terms|test|timetable|tutorial|white ?paper|workshop|worksheet)s?\b"
)
_NAMES_KIND = re.compile(f"(?i){_DOCUMENT}")
# The line before the name or after it may be only this.
_ONLY_KIND = re.compile(rf"(?i)(?:{_DOCUMENT}(?: of| for)?|of|for)$")
# Ends with a short word, such as "of" or "e".
_GOES_ON = re.compile(r" [^\W\d_A-Z\u0410-\u042f]{1,3}$|\b(?:OF|FOR|AND|THE|TO|ON|IN|WITH|Of|For|And|The)$")
_LABEL = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?: ")
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
    """The title; None if the best candidate is not probable enough or is unfinished. `stated` is the title in the properties, which may
    come from a template."""
    said, shown = _stated(pdf, text, stated)
    groups = _groups(text)
    if said and not any(letters_of(group.text) == letters_of(said) for group in groups):
        groups = [group for group in groups if not set(group.lines) & set(shown)]
        groups.insert(0, _Group(shown, said, text.fonts[shown[0]]))
    features = _Features(text, groups, said)
    group = max(groups, key=features.score, default=None)
    if group is None or _PART.match(group.text) or _GOES_ON.search(group.text):
        return None
    if exp(features.score(group)) < _SURE * (exp(_NONE) + sum(exp(features.score(one)) for one in groups)):
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
        if not _may_be_title(title) or _KIND.match(title):
            continue
        last = end if " " in title else text.pages[0].end_line
        lines = [n for n in range(last) if letters_of(text.lines[n])]
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
        2 <= len(shown) <= MAX_TITLE
        and not (NAMED.fullmatch(shown) or NUMBERED.match(shown) or DIVISION.fullmatch(shown))
        and not (_NO_TITLE.match(shown) or _UNREADABLE.search(shown) or FILE_NAME.search(shown))
        and shown[0] not in ".,;:!?)\u060c\u061b"  # as a part of a sentence begins
        and shown.count(" | ") <= 2
    )


@lru_cache(1_000)
def _names_other(line: str) -> bool:
    """Whether a line names an organisation or a thesis instead of the document."""
    return bool(_OTHER.search(line)) and not _NAMES_KIND.search(line)


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
    In other print, a line continues one that ends with a short word or a colon, the kind of the document continues its name, and a large
    line continues a group that is one short word."""
    fonts, lines, last = text.fonts, text.lines, group[-1]
    sizes = sorted([fonts[last].size, fonts[n].size])
    ratio = sizes[0] / max(sizes[1], 1)
    large, between = sizes[0] > _LARGE * text.body_size, n - last - 1
    if between > (2 if large else 0) or (not large and _LABEL.match(lines[n])):
        return False
    if _GOES_ON.search(lines[last]) and (ratio >= _SIMILAR or not between):
        return True
    colon, kind = lines[last][-1] == ":", _ONLY_KIND.match(lines[n])
    if large and ((colon and ratio >= _EQUAL) or (kind and ratio >= _SIMILAR)):
        return True
    other = _names_other(lines[n])
    differs = other != _names_other(lines[last]) or (other and between)
    if differs or (_ONLY_KIND.match(lines[last]) and fonts[n] != fonts[last]):
        return False
    names = _BETWEEN_NAMES.split(lines[n])
    apart = len(names) > 1 or (between and not _KIND.match(lines[n]))
    if apart and all(map(_PERSON.match, names)):
        return False
    if large and not between and len(group) == 1 and _is_word(lines[last]) and not lines[last].isupper():
        return True
    return ratio >= (_SAME if between else _EQUAL) and fonts[n].bold == fonts[last].bold


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

    def score(self, group: _Group) -> float:
        """The weighted sum of the group's features."""
        return sum(_WEIGHTS[name] * value for name, value in self._of(group).items())

    def _of(self, group: _Group) -> dict[str, float]:
        shown, letters, font = group.text, letters_of(group.text), group.font
        large = font.size > _LARGE * self._body
        share = (font.size - self._body) / max(self._largest - self._body, 1)
        early = max(0.0, 1 - self._order[group] / _GROUPS)
        return {
            "large": large * (_SOME + (1 - _SOME) * share),
            "bold": (font.bold and not large and font.size > _EQUAL * self._body) * early**2,
            "early": early,
            "stated": bool(letters) and letters == self._said,
            "kind": bool(_NAMES_KIND.search(shown)) and not _KIND.match(shown),
            "other": _names_other(self._lines[group.lines[0]]),
            "sentence": shown[0].islower()
            or shown[-1] in ":;.\u3002"
            or (not large and (is_prose(shown) or shown[0].isdigit())),
            "word": _is_word(shown) or bool(_KIND.match(shown)),
            "below text": group.lines[0] >= self._text_at,
        }
