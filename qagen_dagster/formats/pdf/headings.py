"""The headings of a PDF: from its outline, and from the typography and wording of its lines."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.lettering import MARK
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
_MUCH = 0.2  # share of the running text from which its font is one of the ordinary fonts
_OFTEN = 3  # times that a heading may occur; running heads and labels occur more often
_SHORT = 90  # maximum characters of a heading that only stands alone
_ENTRY = re.compile(r"(?: \| | {2,})[\divxlc]{1,5}$")  # the page number of an entry of contents
_SENTENCE = re.compile(r"[^\W\d_]{3}[.?!] ")  # a sentence goes on in the line
_NO_WORDS = re.compile(r"[\[\]{}<>=_|]")  # of code, formulas and rows of cells
_WIDE = "\u2e7f"  # the scripts after it have wide letters and no capitals
_BLOCK_CHARS = 40  # minimum length of a line of running text


def headings_of(pdf: Pdf, text: PdfText, title: str | None) -> list[Section]:
    """The headings in document order, without the document's title and the lines around it on the first page.

    Outlines often omit unnumbered or minor headings: lines printed like an entry of the outline are headings, too.
    """
    named = _letters(title or "")
    outlined = _outlined(pdf, text)
    if (
        len(outlined) > 1
        and outlined[0].start_line <= text.pages[0].end_line
        and _letters(outlined[0].title) == named
    ):
        outlined = outlined[1:]
    shown = _set_apart(text, named)
    if not outlined or (len(outlined) == 1 and len(text.pages) > _ALONE):
        return shown
    levels = {
        text.fonts[one.start_line - 1]: one.level
        for one in reversed(outlined)
        if _letters(text.lines[one.start_line - 1]).endswith(_letters(one.title))
    }
    taken = {one.start_line for one in outlined}
    more = [
        one.model_copy(update={"level": levels.get(text.fonts[one.start_line - 1], 1)})
        for one in shown
        if one.start_line not in taken
        and (text.fonts[one.start_line - 1] in levels or NAMED.fullmatch(one.title))
    ]
    return sorted([*outlined, *more], key=lambda one: one.start_line)


def _outlined(pdf: Pdf, text: PdfText) -> list[Section]:
    """The outline's entries, each at the line that repeats its title, else at the top of its page."""
    found: list[Section] = []
    for level, title, page in pdf.outline:
        span = text.pages[page] if 0 <= page < len(text.pages) else None
        if span is None or span.end_line < span.start_line:
            continue
        if title and not FILE_NAME.search(title) and not CAPTION.match(title):
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


@dataclass(frozen=True)
class _Body:
    """The running text: the size of most letters in tenths of a point, and the fonts of much of it."""

    size: int
    names: frozenset[str]


def _set_apart(text: PdfText, title: str) -> list[Section]:
    """Headings by typography or wording."""
    body = _body(text)
    lines, fonts = text.lines, text.fonts
    heads: list[int] = []
    special = {key for key, font in {id(font): font for font in fonts}.items() if _differs(font, body)}
    for n in reversed([n for n, key in enumerate(map(id, fonts)) if key in special]):
        if _is_heading(text, n, body, heads[-1:]):
            heads.append(n)
    often = Counter(lines[n] for n in heads)
    heads = [n for n in reversed(heads) if often[lines[n]] <= _OFTEN or NAMED.fullmatch(lines[n])]
    if len(heads) > max(20, len(lines) // 5):
        return []
    runs = _after_front(_runs(heads, text), text, title, body.size)
    sizes = sorted({fonts[run[0]].size for run in runs}, reverse=True)
    sizes = [size for n, size in enumerate(sizes) if not n or size < (1 - _NEAR) * sizes[n - 1]]
    found: list[Section] = []
    for run in runs:
        shown = " ".join(lines[n] for n in run).replace(" | ", " ")
        numbered = NUMBERED.match(shown) or _LETTERED.match(shown)
        rank = sum(size > (1 + _NEAR) * fonts[run[0]].size for size in sizes) + 1
        level = (numbered[1] or "").count(".") + 1 if numbered else min(rank, 4)
        found.append(Section(title=shown[:_MAX_TITLE], level=level, start_line=run[0] + 1))
    return found


def body_size(text: PdfText) -> int:
    """The size of most letters in tenths of a point, 0 if unknown; sizes that differ only by rounding are added up."""
    weights: Counter[int] = Counter()
    for font, letters in text.letters.items():
        weights[font.size] += letters if font.size else 0
    return max(
        weights,
        key=lambda size: sum(weights[one] for one in range(size - 3, size + 2)),
        default=0,
    )


def _body(text: PdfText) -> _Body:
    size = body_size(text)
    weights: Counter[str] = Counter()
    for font, letters in text.letters.items():
        weights[font.name] += letters if abs(font.size - size) <= 3 else 0
    much = _MUCH * weights.total()
    return _Body(size, frozenset(name for name, weight in weights.items() if weight >= much))


def _differs(font: Font, body: _Body) -> bool:
    """Whether headings may be printed in the font."""
    if not font.size or font.size < (1 - _NEAR) * body.size:
        return False
    return font.bold or font.size >= _LARGER * body.size or font.name not in body.names


def _is_heading(text: PdfText, n: int, body: _Body, below: list[int]) -> bool:
    line, font = text.lines[n], text.fonts[n]
    larger = font.size >= _LARGER * body.size
    if not (larger or font.bold or not n or not text.lines[n - 1]) or not _may_be_heading(line):
        return False
    if font.size >= _LARGE * body.size or NAMED.fullmatch(line):
        return True
    if larger or font.bold:
        if NUMBERED.match(line) or _DIVISION.match(line):
            return True
        if larger and font.bold and " | " not in line and not _LABEL.match(line):
            return True
    return _is_alone(text, n, body, below)


def _may_be_heading(line: str) -> bool:
    """Whether the words can be a heading: no caption, label, formula, entry of a table of contents or sentence."""
    if not 3 <= len(line) <= _MAX_CHARS or line[-1] in ",;:" or CAPTION.match(line) or MARK in line:
        return False
    if "...." in line or ". . ." in line or _ENTRY.search(line):
        return False
    if (line[-1] == "." and not NUMBERED.match(line)) or _SENTENCE.search(line):
        return False
    return sum(map(str.isalpha, line)) * 2 >= len(line.replace(" ", ""))


def _is_alone(text: PdfText, n: int, body: _Body, below: list[int]) -> bool:
    """Whether a short line stands between paragraphs, above running text, a table or the next heading."""
    line, lines, fonts = text.lines[n], text.lines, text.fonts
    if len(line) > _SHORT or not (
        line[0].isupper() or line[0].isdigit() or line[0] > _WIDE or line[0] in "(\u00a7"
    ):
        return False
    if _NO_WORDS.search(line) or _LABEL.match(line) or line[-1] == "-":
        return False
    above = lines[n - 1] if n else ""
    if above and not (
        fonts[n].bold and fonts[n - 1] != fonts[n] and (fonts[n - 1].bold or above[-1] in ".!?:")
    ):
        return False
    after = next((m for m in range(n + 1, min(n + 3, len(lines))) if lines[m]), None)
    if after is None:
        return False
    if after in below or (fonts[n].bold and (not fonts[after].bold or " | " in lines[after])):
        return True
    larger = fonts[n].size > _LARGER * body.size
    return (
        fonts[after].name in body.names
        and (larger or len(line) < len(lines[after]))
        and _is_running(text, after, body.size)
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
            and text.fonts[n].bold == text.fonts[last[-1]].bold
            and abs(text.fonts[n].size - text.fonts[last[-1]].size) <= _NEAR * text.fonts[n].size
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
    if len(text.pages) > 1 and not any(_is_running(text, n, body) for n in range(end)):
        return [run for run in runs if run[0] >= end]  # a cover
    largest = max((text.fonts[n].size for n in range(end) if text.lines[n]), default=0)
    after = _title_end(text, largest, title, body)
    peers = [run for run in runs if run[0] >= after and text.fonts[run[0]].size >= (1 - _NEAR) * largest]
    if not after or peers:
        return runs
    stop = next((n for n in range(after, end) if _opens(text.lines[n]) or _is_running(text, n, body)), end)
    return [run for run in runs if run[0] >= stop and not _repeats(run, text, title)]


def _repeats(run: list[int], text: PdfText, title: str) -> bool:
    """Whether the lines repeat the title, or much of its beginning or end."""
    shown = _letters(" ".join(text.lines[n] for n in run))
    return shown == title or (len(shown) > 20 and (title.startswith(shown) or title.endswith(shown)))


def _title_end(text: PdfText, largest: int, title: str, body: float) -> int:
    """The 1-based number of the title's last line on the first page; 0 if the page does not show it."""
    shown = [n for n in range(text.pages[0].end_line) if text.lines[n]]
    for place in range(len(shown)):
        joined = ""
        for m in shown[place : place + 4]:
            joined += _letters(text.lines[m])
            if title and joined == title:
                return m + 1
            if not title.startswith(joined):
                break
    tall = [n for n in shown if text.fonts[n].size >= (1 - _NEAR) * largest]
    return tall[-1] + 1 if tall and largest > _LARGER * body else 0


def _is_running(text: PdfText, n: int, body: float) -> bool:
    """Whether a line belongs to a paragraph: long, in ordinary letters, above a similar line."""
    return all(
        _is_prose(text.lines[m])
        and abs(text.fonts[m].size - text.fonts[n].size) <= 3
        and text.fonts[m].size <= _LARGER * body
        for m in range(n, min(n + 2, len(text.lines)))
    )


def _is_prose(line: str) -> bool:
    if "@" in line or " | " in line or len(line) + sum(char > _WIDE for char in line) < _BLOCK_CHARS:
        return False
    words = line.split()
    return sum(word[0].islower() or word[0] > _WIDE for word in words) * 2 >= len(words)
