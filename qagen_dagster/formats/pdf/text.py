"""Reads the text of a PDF page by page. If the options allow it, scanned pages are recognised."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.pdf.bidi import with_brackets
from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.garbled import is_garbled, marked
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.page_lines import BAR, PageLines, lines_of_page, page_fragments
from qagen_dagster.formats.pdf.scanned_pages import Recogniser, worth_recognising
from qagen_dagster.records.document import Outcome, PageSpan

_SAMPLED = 300  # number of lines in the sample that shows the fonts of the running text
_PROSE_CHARS = 40  # minimum length of a line of running text
WIDE = "\u2e7f"  # later characters are wide letters of scripts without capitals
_NO_FONT = Font()


@dataclass
class PdfText:
    """The result of reading all pages. Page numbers are 1-based."""

    lines: list[str] = field(default_factory=list[str])
    fonts: list[Font] = field(default_factory=list["Font"])  # the font of each line
    pages: list[PageSpan] = field(default_factory=list[PageSpan])
    broken: list[int] = field(default_factory=list[int])
    recognised: list[int] = field(default_factory=list[int])
    unreadable: list[int] = field(default_factory=list[int])  # pages of unrecognised pictures or letters
    # pages whose text differs from what they show, and was not recognised
    garbled: list[int] = field(default_factory=list[int])
    hidden: list[int] = field(default_factory=list[int])  # pages of which invisible text is left out
    note: str = ""  # why pages of `unreadable` and `garbled` were not recognised
    kept: dict[int, PageLines] | None = None  # the lines of each page with their fragments, if requested

    @cached_property
    def letters(self) -> Counter[Font]:
        """Number of characters of running text in each font, counted in a sample of lines; without running text, the number of lines."""
        some = slice(None, None, len(self.lines) // _SAMPLED + 1)
        counted = Counter[Font]()
        for line, font in zip(self.lines[some], self.fonts[some], strict=True):
            counted[font] += len(line) if is_prose(line) else 0
        return +counted or Counter(self.fonts[some])

    @cached_property
    def body_size(self) -> int:
        """The size of the running text in tenths of a point; 0 if unknown. Sizes that differ only by rounding are counted together."""
        weights: Counter[int] = Counter()
        for font, letters in self.letters.items():
            weights[font.size] += letters if font.size else 0
        return max(
            weights, key=lambda size: sum(weights[one] for one in range(size - 3, size + 2)), default=0
        )


@lru_cache(1_000)
def is_prose(line: str) -> bool:
    """Whether a line belongs to a paragraph, judged by its length and its words."""
    short = len(line) < _PROSE_CHARS
    if short and (line.isascii() or len(line) + sum([char > WIDE for char in line]) < _PROSE_CHARS):
        return False
    if "@" in line or BAR in line:
        return False
    firsts = [word[0] for word in line.split()]
    return sum([first.islower() or first > WIDE for first in firsts]) * 2 >= len(firsts)


def read_pages(pdf: Pdf, options: ParseOptions, *, keep: bool = False) -> PdfText:
    """All pages in order. A broken page is empty, and `broken` names it. With `keep`, `kept` holds each page's lines.

    Raises:
        DocumentError: `too_large` if the text exceeds its limit.
    """
    text = PdfText(kept={} if keep else None)
    recogniser = Recogniser(options)
    chars = 0
    for number in range(pdf.count):
        try:
            texts, fonts = _read(pdf, number, recogniser, text)
        except (DocumentError, MemoryError):
            raise
        except Exception:  # a broken page does not stop the others
            text.broken.append(number + 1)
            texts, fonts = [], []
        chars += sum(map(len, texts)) + len(texts)
        if chars > options.max_chars:
            raise DocumentError(Outcome.TOO_LARGE, f"more than {options.max_chars:,} characters of text")
        start = len(text.lines) + 1
        text.lines += texts
        text.fonts += fonts
        text.pages.append(PageSpan(page=number + 1, start_line=start, end_line=len(text.lines)))
    text.note = recogniser.note
    return text


def counted(count: int) -> str:
    """The number with its noun: "1 page", "2 pages"."""
    return "1 page" if count == 1 else f"{count} pages"


def listed(numbers: list[int]) -> str:
    """The first ten page numbers: "1, 4, 5"."""
    shown = ", ".join(map(str, numbers[:10]))
    return shown if len(numbers) <= 10 else f"{shown}, ..."


def _read(pdf: Pdf, number: int, recogniser: Recogniser, text: PdfText) -> tuple[list[str], list[Font]]:
    """The page's lines and their fonts. Records in `text` whether the page is recognised, unreadable or garbled, or has hidden text."""
    printed = pdf.print_text(number)
    found = lines_of_page(page_fragments(pdf, printed), printed.paths.rules)
    fragments, lines, _ = found
    if text.kept is not None:
        text.kept[number + 1] = found
    texts = [with_brackets(line) if fragments.rtl else line for line, _ in lines]
    if fragments.hidden:
        text.hidden.append(number + 1)
    if texts and not is_garbled(texts):
        font = fragments.font
        return marked(texts), [font[row[0]] if row else _NO_FONT for _, row in lines]
    page = pdf.page(number)
    if texts or worth_recognising(page):
        recognised = recogniser.text_of(page)
        if recognised is None:
            (text.garbled if texts else text.unreadable).append(number + 1)
        else:
            text.recognised.append(number + 1)
        texts = recognised.split("\n") if recognised else []
    return texts, [_NO_FONT] * len(texts)
