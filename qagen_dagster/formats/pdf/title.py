"""The title of a PDF: from its outline or properties if the first pages confirm them, else from the print of its first page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.headings import DIVISION, FILE_NAME, NAMED, NUMBERED, body_size, letters_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import PdfText, is_prose

_MAX_TITLE = 300
_CONFIRMING_PAGES = 3  # a cover and a half-title may stand before the title page
_CONFIRMED = 0.75  # of the words of a title, to be found on these pages
_ALIKE = 0.5  # of the words of one title in another, from which both name the document
_LARGE = 1.15  # times the size of the running text
_NEARLY_TEXT = 0.95  # times the size of the running text, which a bold title has at least
_EQUAL = 0.97  # times the size of another line, which rounding shifts
_NEARLY = 0.85  # times the size of the next line of a title, where a logo begins one of them
_LOGO_CHARS = 12
_FIRST = 4  # lines, of which some may be running heads; a document of fewer lines has no title
_LINES = 5  # of a title at most
# Stamps, addresses, dates, periodicals and rules that are printed larger than the text around them.
_NO_TITLE = re.compile(
    r"(?i)arxiv:|(?:proceedings|journal) of |https?://|www\.|doi:|10\.\d{4,9}/|issn\b|isbn\b|page \d|vol(?:ume|\.)? ?\d|\W*$|[\d\W]+$"
    r"|(?:v|version|release)\.? ?\d|.*@|(?:\d{1,2}(?:\.|st|nd|rd|th)? +)?[^\W\d_]{3,9}\.? +(?:\d{1,2}(?:st|nd|rd|th)?,? +)?(?:19|20)\d\d$|confidential$|draft$|by "
    r"|(?:(?:doctoral|ph\.?d\.?|(?:master|bachelor)['\u2019]?s?) )?(?:thesis|dissertation)$|\w*(?:arbeit|\u8bba\u6587)(?:\(\w+\))?$"
)
_BY = re.compile(r"(?i)by|von|par|por|di|door")  # above the name of an author
_LOGO = re.compile(r"(?<=[A-Z])\^(?=[A-Z])")  # raised letters of LaTeX
_NOTE_MARK = re.compile(
    r"(?:[\s,]*(?:[\u2217\u2020\u2021\u22c6]|\^\d(?!\d)))+,?$|(?<=[^\W\d_]{3})[\u2217\u2020\u2021\u22c6]+(?= )|(?:\s|(?<=[^\W\d_]{3}))\*$|,$"
)
# Letters that are lost, or spaced apart so that the words are; Chinese has no such words.
_UNREADABLE = re.compile("\ufffd|(?:\\b[^\\W\\d_\u2e80-\uffff] ){4}")
_PUNCTUATION = ".,;:!?)\u060c\u061b"  # begins a part of a sentence
_WORD = re.compile(r"[^\W_]+")


def title_of(pdf: Pdf, text: PdfText, said: str) -> str | None:
    """The title, None if nothing shows one. `said` is the title of the properties, which are often those of a template."""
    said = " ".join(said.replace("\0", " ").split())[:_MAX_TITLE]
    end = text.pages[min(_CONFIRMING_PAGES, len(text.pages)) - 1].end_line
    first = text.pages[0].end_line
    large = _LARGE * body_size(text)
    for name in filter(_names_document, (_root(pdf), said)):
        lines = text.lines[: end if " " in name else first]
        heads = [line for line, font in zip(lines, text.fonts, strict=False) if font.size > large]
        if _is_printed(lines, name) or _is_printed(heads, name):
            return name
    shown = _largest(text, first) or _set_apart(text, first) or _above_author(text.lines[:first])
    shown = "" if _UNREADABLE.search(shown) else " ".join(shown.replace(" | ", " ").split())
    alike = max(_share(said, [shown]), _share(shown, [said])) >= _ALIKE
    if _names_document(said) and not alike and _share(said, text.lines[:end]) >= _CONFIRMED:
        return said
    return _NOTE_MARK.sub("", _LOGO.sub("", shown)) or None


def _root(pdf: Pdf) -> str:
    """The only entry of the outline at its highest level; empty if there are several."""
    roots = [title for level, title, _ in pdf.outline if level == 1]
    return roots[0][:_MAX_TITLE] if len(roots) == 1 else ""


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
    """The lines of the largest letters of the first page, if these stand out; a single word, such as a logo, is the last choice."""
    body = body_size(text)
    fonts, lines = text.fonts[:end], text.lines[:end]
    if len(text.pages) > 1 and not any(map(is_prose, lines)):  # slides may have no running text at all
        body = min([body, *sorted({font.size for font in fonts if font.size}, reverse=True)[1:2]])
    large = _LARGE * body
    # A line of text may begin with a large letter; one of a title is followed by large print.
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
    # A short word may be a logo. It is a title above all other large print if there is no text or this repeats it.
    short = {n for n, run in runs if " " not in run and len(run) <= _LOGO_CHARS}
    start, word = runs[0] if runs else (end, "")
    name = letters_of(word)
    repeated = above == end or any(name in letters_of(line) for n, line in enumerate(lines) if n != start)
    if start in short and repeated and start == min(runs)[0]:
        below = takewhile(lambda n: lines[n] and fonts[n].size > large, range(start + 1, end))
        return " ".join([word, *(lines[n] for n in below if not _NO_TITLE.match(lines[n]))])
    return next((run for n, run in runs if n not in short), word)


def _run_of(start: int, lines: Sequence[str], fonts: Sequence[Font]) -> str:
    """The lines of that size, with lines of nearly that size above; empty if they are too many for a title.

    Gaps and single lines of smaller print between them are left out.
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
    """Whether there is a line that may go on a title that begins at another one; it may be a dash."""
    size = fonts[start].size
    return (
        n < len(lines)
        and share * size <= fonts[n].size <= size / share
        and (len(lines[n]) < 4 or not (_NO_TITLE.match(lines[n]) or NAMED.fullmatch(lines[n])))
    )


def _set_apart(text: PdfText, end: int) -> str:
    """The first of the first lines that is bold above ordinary text, with the lines that go on in its font."""
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
    """The first paragraph of a title page in one font, on which a line such as "by" precedes the author."""
    shown = list(takewhile(bool, lines))
    named = any(_BY.fullmatch(line) for line in lines[len(shown) :])
    title = " ".join(shown)
    return title if named and len(shown) <= _LINES and _may_be_title(title) else ""


def _may_be_title(shown: str) -> bool:
    """Whether the words can be a title: no heading, stamp, row of a table or part of a sentence."""
    return (
        2 <= len(shown) <= _MAX_TITLE
        and not (_NO_TITLE.match(shown) or NAMED.fullmatch(shown))
        and not (NUMBERED.match(shown) or DIVISION.fullmatch(shown))
        and shown[0] not in _PUNCTUATION
        and shown.count(" | ") <= 2
    )
