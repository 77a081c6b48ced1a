"""The headings of a PDF: from its outline if it has one, else from the typography and wording of its lines."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress

from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import PdfText
from qagen_dagster.records.document import PageSpan, Section

FILE_NAME = re.compile(
    r"(?i)^(microsoft \w+ - |untitled|slide 1|document\d*$)"
    r"|\.(docx?|pptx?|xlsx?|pdf|png|jpe?g|tif|indd|tex|dvi|qxd|eps|ps|rtf|html?)$"
)
_NO_LETTER = re.compile(r"[\W_]+")
NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?[ |]+[^\W\d_]")
_LETTERED = re.compile(r"[A-Z](\.\d{1,2}){0,3}\.?[ |]+[^\W\d_]")
_DIVISION = re.compile(r"(?i:part|item|chapter|section|appendix) (?:\d{1,2}[A-Z]?|[IVX]{1,5}|[A-Z])(?![\w-])")
NAMED = re.compile(
    r"(?i)(?:abstract|summary|introduction|background|related works?|(?:materials and )?methods?|results?|discussion|"
    r"conclusions?|conclusions? and future work|limitations|ethics statement|acknowledge?ments?|references|"
    r"bibliography|appendix|appendices|contents|preface|zusammenfassung|einleitung|literatur|r\u00e9sum\u00e9)"
)
CAPTION = re.compile(r"(?:Table|Figure|Fig\.|Tabelle|Abbildung) ?\d")
_LABEL = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?: ")
_MAX_TITLE = 300
_MAX_CHARS = 120
_NEAR = 0.04  # two sizes this close are equal, because rounding shifts tenths of a point
_LARGE = 1.18  # times the body size: a heading whatever its text
_LARGER = 1.05  # times the body size: a heading if it is bold
_ALONE = 5  # pages from which an outline of a single entry is useless
_BLOCK_CHARS = 45  # minimum length of a line of running text


def headings_of(pdf: Pdf, text: PdfText, title: str | None) -> list[Section]:
    """The headings in document order, without the document's title and the lines around it on the first page."""
    named = _letters(title or "")
    found = _outlined(pdf, text)
    if len(found) > 1 and found[0].start_line <= text.pages[0].end_line and _letters(found[0].title) == named:
        found = found[1:]
    if len(found) == 1 and len(text.pages) > _ALONE:
        found = []
    return found or _set_apart(text, named)


def _outlined(pdf: Pdf, text: PdfText) -> list[Section]:
    """The outline's entries, each at the line that repeats its title, else at the top of its page."""
    found: list[Section] = []
    with suppress(Exception):  # a broken outline keeps the entries before the fault
        for level, title, page in pdf.outline():
            span = text.pages[page] if 0 <= page < len(text.pages) else None
            if title and span and span.end_line >= span.start_line and not FILE_NAME.search(title):
                line = _find(title, text.lines, span)
                found.append(Section(title=title[:_MAX_TITLE], level=level, start_line=line))
    return found


def _find(title: str, lines: list[str], span: PageSpan) -> int:
    """The line that equals `title`, ends with it after a number, or begins it; only letters are compared."""
    wanted, end, start = _letters(title), title[-3:], title[:6].casefold()
    begun = 0
    for number in range(span.start_line, span.end_line + 1):
        shown = lines[number - 1]
        if len(shown) >= 2 * len(title) + 20:
            continue
        if end in shown:
            letters = _letters(shown)
            if letters == wanted or (letters.endswith(wanted) and len(letters) - len(wanted) < 14):
                return number
        elif not begun and number < span.end_line and start in shown.casefold():
            letters = _letters(shown + lines[number])
            if wanted and letters.endswith(wanted) and len(letters) - len(wanted) < 14:
                begun = number
    return begun or span.start_line


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", text).casefold()


def _set_apart(text: PdfText, title: str) -> list[Section]:
    """Headings by typography or wording."""
    body = body_size(text)
    lines, fonts = text.lines, text.fonts
    heads = [n for n, font in enumerate(fonts) if font and _is_heading(lines[n], font, body)]
    if len(heads) > max(20, len(lines) // 5):
        return []
    runs = _after_front(_runs(heads, text), text, title, body)
    sizes = sorted({abs(fonts[run[0]]) for run in runs}, reverse=True)
    sizes = [size for n, size in enumerate(sizes) if not n or size < (1 - _NEAR) * sizes[n - 1]]
    found: list[Section] = []
    for run in runs:
        shown = " ".join(lines[n] for n in run).replace(" | ", " ")
        numbered = NUMBERED.match(shown) or _LETTERED.match(shown)
        rank = sum(size > (1 + _NEAR) * abs(fonts[run[0]]) for size in sizes) + 1
        level = (numbered[1] or "").count(".") + 1 if numbered else min(rank, 4)
        found.append(Section(title=shown[:_MAX_TITLE], level=level, start_line=run[0] + 1))
    return found


def body_size(text: PdfText) -> int:
    """The size of most letters in tenths of a point, 0 if unknown; sizes that differ only by rounding are added up."""
    weights: Counter[int] = Counter()
    for line, font in zip(text.lines, text.fonts, strict=True):
        weights[abs(font)] += len(line) if font else 0
    return max(
        weights,
        key=lambda size: sum(weights[one] for one in range(size - 3, size + 2)),
        default=0,
    )


def _is_heading(text: str, font: int, body: float) -> bool:
    size = abs(font)
    larger = size >= _LARGER * body
    if not (larger or (font < 0 and size >= (1 - _NEAR) * body)) or not 3 <= len(text) <= _MAX_CHARS:
        return False
    if text[-1] in ".,;:" or not any(map(str.isalpha, text)) or CAPTION.match(text):
        return False
    if "...." in text or ". . ." in text:  # an entry of a table of contents
        return False
    if size >= _LARGE * body or NUMBERED.match(text) or NAMED.fullmatch(text):
        return True
    return font < 0 and (
        _DIVISION.match(text) is not None or (larger and " | " not in text and not _LABEL.match(text))
    )


def _opens(text: str) -> bool:
    """Whether the wording alone shows that a line is a heading."""
    return bool(NUMBERED.match(text) or _DIVISION.match(text) or NAMED.fullmatch(text))


def _runs(heads: list[int], text: PdfText) -> list[list[int]]:
    """Headings of two or three lines, joined."""
    runs: list[list[int]] = []
    for n in heads:
        last = runs[-1] if runs else []
        if (
            last
            and n == last[-1] + 1
            and len(last) < 3
            and (text.fonts[n] < 0) == (text.fonts[last[-1]] < 0)
            and abs(text.fonts[n] - text.fonts[last[-1]]) <= _NEAR * abs(text.fonts[n])
            and not _opens(text.lines[n])
            and not NAMED.fullmatch(text.lines[last[-1]])
        ):
            last.append(n)
        else:
            runs.append([n])
    return runs


def _after_front(runs: list[list[int]], text: PdfText, title: str, body: float) -> list[list[int]]:
    """The runs without the title, wherever it is repeated, and without the front matter of the first page.

    The largest print of the first page is a title only if nothing else in the document is as large.
    """
    end = text.pages[0].end_line
    largest = max((abs(text.fonts[n]) for n in range(end) if text.lines[n]), default=0)
    after = _title_end(text, largest, title, end)
    peers = [run for run in runs if run[0] >= after and abs(text.fonts[run[0]]) >= (1 - _NEAR) * largest]
    if not after or peers:
        return runs
    stop = next((n for n in range(after, end) if _opens(text.lines[n]) or _is_running(text, n, body)), end)
    return [run for run in runs if run[0] >= stop and not _repeats(run, text, title)]


def _repeats(run: list[int], text: PdfText, title: str) -> bool:
    """Whether the lines repeat the title, or much of its beginning or end."""
    shown = _letters(" ".join(text.lines[n] for n in run))
    return shown == title or (len(shown) > 20 and (title.startswith(shown) or title.endswith(shown)))


def _title_end(text: PdfText, largest: int, title: str, end: int) -> int:
    """The 1-based number of the title's last line on the first page; 0 if the page does not show it."""
    shown = [n for n in range(end) if text.lines[n]]
    for place in range(len(shown)):
        joined = ""
        for m in shown[place : place + 4]:
            joined += _letters(text.lines[m])
            if title and joined == title:
                return m + 1
            if not title.startswith(joined):
                break
    tall = [n for n in shown if abs(text.fonts[n]) >= (1 - _NEAR) * largest]
    return tall[-1] + 1 if tall and largest else 0


def _is_running(text: PdfText, n: int, body: float) -> bool:
    """Whether a line belongs to a paragraph: long, in ordinary letters, above a similar line."""
    pair = range(n, min(n + 2, len(text.lines)))
    return all(
        len(text.lines[m]) >= _BLOCK_CHARS
        and "@" not in text.lines[m]
        and " | " not in text.lines[m]
        and abs(text.fonts[m]) <= _LARGER * body
        and abs(text.fonts[m] - text.fonts[n]) <= 3
        and sum(word[:1].islower() for word in text.lines[m].split()) * 2 >= len(text.lines[m].split())
        for m in pair
    )
