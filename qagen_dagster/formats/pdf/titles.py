"""The title of a PDF: the lines of the first page that score highest, or none if they are not sure enough.

Adjacent lines in the same print are a group. A group, or the first cells of its lines, can be the title. The weighted sum of its features
is its score. All scores and that of "no title" give probabilities (multinomial logistic regression with the L2 penalty 0.2; one run
fitted all weights to 476 PDFs in ten collections). `_SURE` was chosen with each collection left out once: it keeps wrong titles at 5 % in
the two collections that the lists of words were not made from. A title that the properties or the outline state is another candidate if
whole lines of the first pages show it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log2

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.headings import DIVISION, FILE_NAME, MAX_TITLE, NAMED, NUMBERED, letters_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import WIDE, PdfText, is_prose

_NONE = 7.4  # the score of "no title"
_ONE_PAGE = 1.3  # added to it if the document has one page
_ALL_SMALL = -2.0  # added to it if no print is large
_SURE = 0.75  # minimum probability of a title
_WEIGHTS = {
    "large": 4.5,  # if its print is large: from _SOME to 1 by how far its size exceeds the running text; else 0
    "only": 1.1,  # large print in a size that no later page has
    "bold": 2.0,  # bold print in the size of the running text: the square of "early"; else 0
    "early": 2.5,  # 1 for the first group, less for each later group
    "stated": 2.2,  # the share of its words that the title in the properties or the outline has
    "kind": 2.0,  # it names the kind of a document, such as a manual
    "topic": 2.9,  # its words occur often in the document
    "words": 1.2,  # it has 3 to 14 words
    "other": -2.8,  # its first line names an organisation, or says that this is a thesis
    "sentence": -1.3,  # it is like a label or a part of a sentence; or it is not large, and is prose or begins with a digit
    "symbol": -3.1,  # it begins with a sign, such as a bullet
    "cells": -2.0,  # it has lines with several cells
    "below text": -1.6,
}
_CONFIRMING_PAGES = 3  # a cover and a half-title may stand before the title page
_SOME = 0.15  # the value of "large" for barely large print
_LARGE = 1.15  # times the size of the running text
_EQUAL = 0.9  # minimum ratio of the sizes of two lines of a title, and of a bold title and the running text
_SIMILAR = 0.65  # minimum ratio of the sizes of a name and the kind of the document next to it
_SAME = 0.97  # minimum ratio of the sizes of two lines of a title that are apart, or of which one is bold
_GROUPS = 8  # number of groups after which "early" is 0
_SAMPLED = 3_000  # number of lines in which the words of the title are looked for
_OFTEN = 15  # number of times after which a word counts as the topic
# Stamps, web and e-mail addresses, dates, places with a year, periodicals, versions, and lines without letters.
_NO_TITLE = re.compile(
    r"(?i)arxiv:|.*\bpage \d+ of \d|(?:proceedings|journal) of |https?://|www\.|doi:|10\.\d{4,9}/|issn\b|isbn\b|page \d|vol(?:ume|\.)? ?\d|[\d\W_]*$|(?:v|version|release|revision|rev\.)\.? ?\d|.*@|(?:[^\W\d_]+[.,]? +)?(?:\d{1,2}(?:\.|st|nd|rd|th)?,? +)?[^\W\d_]{3,12}[.,]? +(?:\d{1,2}(?:st|nd|rd|th)?,? +)?(?:19|20)\d\d$|[^\W\d_]+(?:[- ][^\W\d_]+){0,3}(?: [-\u2013\u2014] |, ?)(?:19|20)\d\d$|\d{4}-\d\d-\d\d\b|table of content$|running head:|confidential$|draft$|by(?: |$)"
)
# An organisation, or the words that say that this is a thesis.
_OTHER = re.compile(
    r"(?i)\b(?:dipartiment\w*|centro|esc[ou]\w*la|scuola|\u00e9cole|high school|secondary|college|curso|corso|programme|law offices?|attorneys?|inc|llc|corp|association|council|agency|company|government|universi\w*|department|faculty|school of|institut\w*|ministry|laborator\w+|commission|court|ltd\b|gmbh\b|\u0161kol\w+|universit\u00e4t\w*|fakult\u00e4t|departamento|facultad|minist\w+)\b|\u043f\u0440\u0430\u0432\u0438\u0442\u0435\u043b\u044c\u0441\u0442\u0432|\u0443\u043d\u0438\u0432\u0435\u0440\u0441\u0438\u0442\u0435\u0442|\u043c\u0438\u043d\u0438\u0441\u0442\u0435\u0440\u0441\u0442\u0432|\u043c\u0438\u043d\u043e\u0431\u0440|\u0444\u0430\u043a\u0443\u043b\u044c\u0442\u0435\u0442|\u043a\u0430\u0444\u0435\u0434\u0440\u0430|\u0438\u043d\u0441\u0442\u0438\u0442\u0443\u0442|\u0443\u0447\u0440\u0435\u0436\u0434\u0435\u043d\u0438\u0435|\u5927\u5b66|\u516c\u53f8|\u5927\u5b78|\u062c\u0627\u0645\u0639\u0629|\u062f\u0627\u0646\u0634\u06af\u0627\u0647|\u062f\u0627\u0646\u0634\u06a9\u062f|^(?:(?:a|the|pra) )?(?:[\w'\u2019.]+ ){0,3}(?:thesis|dissertation|tesis|tese|th\u00e8se|pr\u00e1ce|\w*arbeit)\b(?: (?:to|submitted|for|in|zur) .*)?$|(?:\u043a\u0432\u0430\u043b\u0438\u0444\u0438\u043a\u0430\u0446\u0438\u043e\u043d\u043d|\u0434\u0438\u0441\u0441\u0435\u0440\u0442\u0430\u0446|\u8bba\u6587|\u8ad6\u6587|\u6bd5\u4e1a\u8bbe\u8ba1)"
)
_KIND = re.compile(
    r"(?i)(?:application note|cover (?:page|sheet|letter)|(?:product )?data ?sheet|product data|white ?paper|technical report|working paper|(?:product )?specification|user(?:'s)? (?:guide|manual)|report|\u043e\u0442\u0447[\u0435\u0451]\u0442)$"
)
# What stands first without naming the document: its kind, its state, an article, the heading of a contact.
_PART = re.compile(rf"{_KIND.pattern}|(?:article|section) [\dIVX]+\b|[IVX]{{1,4}}\. |status:|contact us$")
_CAPITALISED = r"[A-Z\u00c0-\u00de\u0410-\u042f][\w.'\u2019-]*"
_PERSON = re.compile(rf"{_CAPITALISED}(?: {_CAPITALISED}){{1,3}}$")
_BETWEEN_NAMES = re.compile(r", (?:and |& )?| and | & ")
_DOCUMENT = r"\b(?:informe|relat[o\u00f3]rio|relazione|rapport|sprawozdanie|bericht|anleitung|handbuch|manuale|manuel|gu[i\u00ed]a|\u043e\u0442\u0447[\u0435\u0451]\u0442|\u0440\u0443\u043a\u043e\u0432\u043e\u0434\u0441\u0442\u0432\u043e|act|agenda|agreement|application|assignment|brochure|bulletin|bylaws|catalogue?|certificate|charter|checklist|code of|complaint|constitution|contract|curriculum|data ?sheet|declaration|documentation|exam|form|guide|guidelines|handbook|handout|homework|instructions|invoice|lecture|licen[cs]e|manual|memo(?:randum)?|minutes|newsletter|notes|notice|plan|policy|program(?:me)?|proposal|protocol|questionnaire|quiz|reference|report|request|review|rules|schedule|specification|standard|statement|summary|survey|syllabus|template|terms|test|timetable|tutorial|white ?paper|workshop|worksheet)s?\b"
_NAMES_KIND = re.compile(f"(?i){_DOCUMENT}")
# The line before the name or after it may be only this.
_ONLY_KIND = re.compile(rf"(?i)(?:{_DOCUMENT}(?: of| for)?|of|for)$")
# Ends with a short word, such as "of" or "e".
_GOES_ON = re.compile(r" [^\W\d_A-Z\u0410-\u042f]{1,3}$|\b(?:OF|FOR|AND|THE|TO|ON|IN|WITH|Of|For|And|The)$")
_LABEL = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,2} ?: ")
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
    """The title; None if the best candidate is not probable enough. `stated` is the title in the properties, maybe from a template."""
    said, shown = _stated(pdf, text, stated)
    groups = _groups(text)
    if said and not any(letters_of(group.text) == letters_of(said) for group in groups):
        groups = [group for group in groups if not set(group.lines) & set(shown)]
        groups.insert(0, _Group(shown, said, text.fonts[shown[0]]))
    features = _Features(text, groups, _words_of(said) | _words_of(stated))
    scores = {group: exp(features.score(group)) for group in _candidates(text, groups)}
    group = max(scores, key=scores.__getitem__, default=None)
    if group is None or scores[group] < _SURE * (exp(features.none) + sum(scores.values())):
        return None
    title = said if letters_of(said) == letters_of(group.text) else group.text
    return _NOTE_MARK.sub("", _LOGO.sub("", title)) or None


def _stated(pdf: Pdf, text: PdfText, stated: str) -> tuple[str, tuple[int, ...]]:
    """The title in the outline or in the properties, and the lines of the first pages that show it. Both are empty if no title is shown."""
    roots = [title for level, title, _ in pdf.outline if level == 1]
    root = roots[0] if len(roots) == 1 else ""  # if there are several roots, none is the title
    end = text.pages[min(_CONFIRMING_PAGES, len(text.pages)) - 1].end_line
    for title in (root, " ".join(stated.replace("\0", " ").split())):
        if not _may_be_title(title) or _KIND.match(title):
            continue
        lines = [
            n for n in range(end if " " in title else text.pages[0].end_line) if letters_of(text.lines[n])
        ]
        for some in (lines, [n for n in lines if text.fonts[n].size > _LARGE * text.body_size]):
            if shown := _printed(text, some, letters_of(title)):
                return title, shown
    return "", ()


def _printed(text: PdfText, lines: Sequence[int], wanted: str) -> tuple[int, ...]:
    """The consecutive items of `lines` whose letters, joined, are `wanted`; empty if there are none."""
    for start in range(len(lines)):
        shown = ""
        for place in range(start, len(lines)):
            shown += letters_of(text.lines[lines[place]])
            if shown == wanted:
                return tuple(lines[start : place + 1])
            if not wanted.startswith(shown):
                break
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
    candidates = [
        _Group(tuple(one), _joined(text.lines[n] for n in one), text.fonts[one[0]]) for one in groups
    ]
    return [one for one in candidates if _may_be_title(one.text)]


def _joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).replace(" | ", " ").split())


def _candidates(text: PdfText, groups: Sequence[_Group]) -> list[_Group]:
    """The groups and the first cells of their lines, each text once, without those that name no document or end with a short word."""
    cells = [
        replace(group, text=_joined(text.lines[n].split(" | ")[0] for n in group.lines)) for group in groups
    ]
    return list(
        {
            letters_of(one.text): one
            for one in [*cells[::-1], *groups[::-1]]
            if _may_be_title(one.text) and not _PART.match(one.text) and not _GOES_ON.search(one.text)
        }.values()
    )


def _continues(text: PdfText, group: Sequence[int], n: int) -> bool:
    """Whether line `n` continues a group: it is close and in the same print. In other print, a line continues one that ends with a short
    word or a colon, and the kind of the document continues its name."""
    fonts, lines, last = text.fonts, text.lines, group[-1]
    sizes = sorted([fonts[last].size, fonts[n].size])
    ratio = sizes[0] / max(sizes[1], 1)
    large, between = sizes[0] > _LARGE * text.body_size, n - last - 1
    if between > (2 if large else 0) or (_LABEL.match(lines[n]) and not (large and ratio >= _SAME)):
        return False
    if _GOES_ON.search(lines[last]) and (ratio >= _SIMILAR or not between):
        return True
    colon, kind = lines[last][-1] == ":", _ONLY_KIND.match(lines[n])
    if large and ((colon and ratio >= _EQUAL) or (kind and ratio >= _SIMILAR and not between)):
        return True
    if _ONLY_KIND.match(lines[last]) and fonts[n] != fonts[last]:
        return False
    names = _BETWEEN_NAMES.split(lines[n])
    apart = len(names) > 1 or (between and not _KIND.match(lines[n]))
    if apart and all(map(_PERSON.match, names)):
        return False
    bold = fonts[n].bold == fonts[last].bold
    return ratio >= (_EQUAL if bold and not between else _SAME) and (bold or (large and not between))


def _words_of(line: str) -> set[str]:
    """The beginnings of the words of a line, which inflection does not change; pairs of letters if the script separates no words."""
    if line and max(line) > WIDE:
        return {line[n : n + 2] for n in range(len(line) - 1)}
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", line.casefold())}


class _Features:
    """The features of the groups of a document."""

    def __init__(self, text: PdfText, groups: Sequence[_Group], stated: set[str]) -> None:
        lines, fonts, end = text.lines, text.fonts, text.pages[0].end_line
        shown = [n for n in range(end) if lines[n]]
        prose = {n for n in shown if is_prose(lines[n])}
        sizes = sorted({fonts[n].size for n in shown}, reverse=True)
        self._lines = lines
        self._body = text.body_size if prose else min([text.body_size, *sizes[1:2]])  # slides may have none
        self._largest = max((group.font.size for group in groups), default=0)
        # A line of running text may begin with a large letter.
        texts = (n for n in prose if n + 1 in prose and fonts[n + 1].size <= _LARGE * self._body)
        self._text_at = min(texts, default=end)
        self._stated = stated
        self._later = {font.size for font in fonts[end:_SAMPLED]}
        small = all(group.font.size <= _LARGE * self._body for group in groups)
        self.none = _NONE + _ONE_PAGE * (len(text.pages) == 1) + _ALL_SMALL * small
        self._order = {group.lines[0]: n for n, group in reversed(list(enumerate(groups)))}
        self._words = Counter(word for line in lines[:_SAMPLED] for word in _words_of(line))

    def score(self, group: _Group) -> float:
        """The weighted sum of the group's features."""
        return sum(_WEIGHTS[name] * value for name, value in self._of(group).items())

    def _of(self, group: _Group) -> dict[str, float]:
        shown, font, first = group.text, group.font, self._lines[group.lines[0]]
        large = font.size > _LARGE * self._body
        early = max(0.0, 1 - self._order.get(group.lines[0], _GROUPS) / _GROUPS)
        words = _words_of(shown)
        share = (font.size - self._body) / max(self._largest - self._body, 1)
        return {
            "large": large * (_SOME + (1 - _SOME) * share),
            "only": large and font.size not in self._later,
            "bold": (font.bold and not large and font.size > _EQUAL * self._body) * early**2,
            "early": early,
            "stated": len(words & self._stated) / max(len(words), 1),
            "kind": bool(_NAMES_KIND.search(shown)) and not _KIND.match(shown),
            "topic": self._topic(group),
            "words": (len(shown.split()) if max(shown) <= WIDE else len(shown) // 2) in range(3, 15),
            "other": bool(_OTHER.search(first)) and not _NAMES_KIND.search(first),
            "sentence": shown[0].islower()
            or shown[-1] in ":;.\u3002"
            or shown.count(":") > 1
            or (not large and (is_prose(shown) or shown[0].isdigit())),
            "symbol": not (shown[0].isalnum() or shown[0] in "\"'\u00ab\u201c("),
            "cells": any(" | " in self._lines[n] for n in group.lines),
            "below text": group.lines[0] >= self._text_at,
        }

    def _topic(self, group: _Group) -> float:
        """How often the group's words occur elsewhere in the document, from 0 to 1."""
        own = Counter(word for n in group.lines for word in _words_of(self._lines[n]))
        others = [min(1, log2(1 + max(0, self._words[word] - own[word])) / log2(1 + _OFTEN)) for word in own]
        return sum(others) / max(len(own), 1)
