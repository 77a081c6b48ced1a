"""The title of a PDF: from its outline, from its properties if the first pages confirm them, else from the print of its first page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from qagen_dagster.formats.pdf.headings import CAPTION, FILE_NAME, NAMED, NUMBERED, body_size
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import PdfText

_MAX_TITLE = 300
_CONFIRMING_PAGES = 3  # a cover and a half-title may stand before the title page
_CONFIRMED = 0.75  # of the words of a title, to be found on these pages
_LIKELY = 0.5  # enough where the print shows no title
_LARGE = 1.15  # times the size of the running text
_LINES = 5  # of a title at most
# Stamps, addresses, dates and rules that are printed larger than the text around them.
_NO_TITLE = re.compile(
    r"(?i)arxiv:|https?://|www\.|doi:|10\.\d{4,9}/|issn\b|isbn\b|page \d|vol(?:ume|\.)? ?\d|\W*$|[\d\W]+$"
    r"|(?:\d{1,2}\.? )?[^\W\d_]{3,9}\.? (?:\d{1,2},? )?(?:19|20)\d\d$|confidential$|draft$"
)
_PUNCTUATION = ".,;:!?)-\u2013\u060c\u061b"  # begins a part of a sentence
_WORD = re.compile(r"[^\W_]+")


def title_of(pdf: Pdf, text: PdfText, said: str) -> str | None:
    """The title, None if nothing shows one. `said` is the title of the properties, which are often those of a template."""
    said = " ".join(said.replace("\0", " ").split())
    named = len(said) > 3 and any(map(str.isalpha, said)) and not FILE_NAME.search(said)
    end = text.pages[min(_CONFIRMING_PAGES, len(text.pages)) - 1].end_line
    words = set(_WORD.findall("\n".join(text.lines[:end]).casefold()))
    first = text.pages[0].end_line
    root = _root(pdf)
    if root and _confirms(words, root) and not FILE_NAME.search(root) and not NAMED.fullmatch(root):
        return root[:_MAX_TITLE]
    if named and " " in said and (not words or _confirms(words, said)):
        return said[:_MAX_TITLE]
    shown = _largest(text, first) or _set_apart(text, first)
    return shown or (said[:_MAX_TITLE] if named and _confirms(words, said, _LIKELY) else None)


def _root(pdf: Pdf) -> str:
    """The only entry of the outline at its highest level; empty if there are several."""
    roots = [title for level, title, _ in pdf.outline if level == 1]
    return roots[0] if len(roots) == 1 and " " in roots[0] else ""


def _confirms(words: set[str], title: str, share: float = _CONFIRMED) -> bool:
    wanted = [word.casefold() for word in _WORD.findall(title)]
    return sum(word in words for word in wanted) >= max(1.0, share * len(wanted))


def _largest(text: PdfText, end: int) -> str:
    """The lines of the largest letters of the first page, if these stand out; a single word, such as a logo, is the last choice."""
    body = body_size(text)
    fonts = [font.size for font in text.fonts[:end]]
    usable = [n for n in range(end) if len(text.lines[n]) > 3 and not _NO_TITLE.match(text.lines[n])]
    sizes = sorted({fonts[n] for n in usable if fonts[n] > _LARGE * body}, reverse=True)[:3]
    if len(usable) < 4:
        return ""
    runs = [
        _run_of(next(n for n in usable if fonts[n] == size), size, text.lines[:end], fonts) for size in sizes
    ]
    runs = [run for run in runs if _may_be_title(run)]
    return next((run for run in runs if " " in run), runs[0] if runs else "")


def _run_of(start: int, size: int, lines: Sequence[str], fonts: Sequence[int]) -> str:
    """The consecutive lines of that size; empty if they are too many for a title."""
    same = takewhile(
        lambda n: not lines[n] or 0.97 * size <= fonts[n] <= 1.03 * size, range(start, len(lines))
    )
    shown = [lines[n] for n in same if lines[n]]
    return " ".join(shown).replace(" | ", " ") if len(shown) <= _LINES else ""


def _set_apart(text: PdfText, end: int) -> str:
    """The first line of the first page if it is bold or a little larger, and stands alone above ordinary text."""
    shown = [n for n in range(end) if text.lines[n]]
    if len(shown) < 4:
        return ""
    line, font, after = text.lines[shown[0]], text.fonts[shown[0]], text.fonts[shown[1]]
    body = body_size(text)
    apart = shown[1] > shown[0] + 1 and font != after
    stands_out = (font.bold and not after.bold and font.size >= body) or font.size > 1.05 * body
    return (
        line
        if apart and stands_out and " " in line and not NUMBERED.match(line) and _may_be_title(line)
        else ""
    )


def _may_be_title(shown: str) -> bool:
    """Whether the words can be a title: no heading, caption, stamp or sentence of the text."""
    if (
        not 4 <= len(shown) <= _MAX_TITLE
        or _NO_TITLE.match(shown)
        or shown[0] in _PUNCTUATION
        or NAMED.fullmatch(shown)
        or CAPTION.match(shown)
    ):
        return False
    sentence = len(shown) > 60 and shown[-1] in ".,;:" and shown.split()[-1].islower()
    return not sentence and not (NUMBERED.match(shown) and shown[-1].isdigit())
