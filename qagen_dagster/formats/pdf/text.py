"""Reads the text of a PDF page by page. If the options allow it, OCR reads scanned and garbled pages."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.pdf.bidi import with_brackets
from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.page_lines import BAR, PageLines, lines_of_page, page_fragments
from qagen_dagster.formats.pdf.scanned_pages import Recogniser, worth_recognising
from qagen_dagster.records.document import Outcome, PageSpan

_SAMPLED = 300  # maximum lines of the sample that shows the fonts of the running text
_PROSE_CHARS = 40  # minimum length of a line of running text
WIDE = "\u2e7f"  # later characters are wide letters of scripts without capitals
_NO_FONT = Font()
_SAMPLE = 1_200  # characters from the middle of a page that are judged
_ENOUGH = 200  # minimum letters from which the statistics are reliable
_FEW = 20  # a page with at most this many phonetic, Latin-1 and Indic letters is not judged by them
_FILLING = re.compile(r"[\s.|…·_\-\u2013\u2014]+")
_WORDS = re.compile("[a-z]{4} [a-z]+ [a-z]")
_SAMPLED_LINES = 6  # lines in the middle of a page; a few words in them show that its text is meaningful
_HEAD = 400  # characters at the start of a page; a few words in them show that its text is meaningful
_MAX_UNKNOWN = 0.1  # share of characters that could not be read
_NO_LETTERS = bytes(code for code in range(256) if not (0x61 <= code <= 0x7A))
_ASCII = bytes(range(128))
_VOWELS = b"aeiouy"
_MIN_VOWELS = 0.22  # share of the letters; languages of the Latin script have at least 0.3
_MIN_ALPHABET = 12  # number of different letters; DNA sequences have fewer
# Rare characters: letters of phonetics and of a few African languages, combining marks, archaic Greek letters.
_STRANGE = re.compile(
    "[\u0180-\u018e\u0193-\u019f\u01a2-\u01ae\u01b1-\u01cc\u01dd-\u0217\u021c-\u0258\u025a-\u02b9\u02c8-\u02d7\u0300-\u036f\u0370-\u0377]"
)
_MAX_STRANGE = 0.15  # share of the letters
_LATIN_1 = re.compile("[\xc0-\xff]")
_MAX_LATIN_1 = 0.5  # share of the letters; Cyrillic read as Latin has almost only these
_INDIC = re.compile("[\u0900-\u0d7f]")
_SCRIPTS = range(0x0900, 0x0D80, 0x80)  # starts of Indic scripts; their vowel signs have the same offsets
_SIGNS = "".join(f"{chr(start + 0x3E)}-{chr(start + 0x4C)}" for start in _SCRIPTS)
_KILLERS = "".join(chr(start + 0x4D) for start in _SCRIPTS)
_SIGN = re.compile(f"[{_SIGNS}]")
_MISPLACED = re.compile(f"(?:(?<![\u0900-\u0d7f])|(?<=[{_SIGNS}{_KILLERS}]))[{_SIGNS}]")
_MAX_MISPLACED = 0.1  # share of the vowel signs that follow no consonant


def is_garbled(texts: Sequence[str]) -> bool:
    """Whether the lines of a page probably differ from what the page shows, because the file maps glyphs to wrong characters. The language
    need not be known: the statistics are the shares of vowels, of rare letters, and of characters that cannot follow each other."""
    page = "\n".join(texts)
    if page.count("\ufffd") > _MAX_UNKNOWN * len(page):
        return True
    start = max(len(page) - _SAMPLE, 0) // 2
    sample = page[start : start + _SAMPLE]
    if _lacks_vowels(sample):
        return True
    if sample.isascii():
        return _is_noise(texts)
    # The three patterns match no ASCII, and most samples are almost all ASCII.
    rare = sample.encode("utf-8", "replace").translate(None, _ASCII).decode()
    strange, latin, indic = (len(one.findall(rare)) for one in (_STRANGE, _LATIN_1, _INDIC))
    letters = sum(map(str.isalpha, sample)) if strange + latin + indic > _FEW else 0  # the sum is slow
    if letters < _ENOUGH:
        return _is_noise(texts)
    if indic:
        whole = unicodedata.normalize("NFC", sample)
        return len(_MISPLACED.findall(whole)) > _MAX_MISPLACED * max(len(_SIGN.findall(whole)), _ENOUGH // 4)
    return strange > _MAX_STRANGE * letters or latin > _MAX_LATIN_1 * letters or _is_noise(texts)


def _lacks_vowels(sample: str) -> bool:
    """Whether most characters are Latin letters, and too few of these letters are vowels."""
    plain = sample if sample.isascii() else unicodedata.normalize("NFD", sample)
    small = plain.lower().encode("utf-8", "replace")
    letters = small.translate(None, _NO_LETTERS)
    if len(letters) < _ENOUGH or 2 * len(letters) < len(small):
        return False
    few_vowels = len(letters) - len(letters.translate(None, _VOWELS)) < _MIN_VOWELS * len(letters)
    return few_vowels and len(set(letters)) >= _MIN_ALPHABET


def _is_noise(texts: Sequence[str]) -> bool:
    """Whether most characters are neither letters nor digits, and no words show that the text is meaningful."""
    middle = len(texts) // 2
    if _WORDS.search("\n".join(texts[middle : middle + _SAMPLED_LINES])):
        return False
    words = " ".join(texts[:12])[:_HEAD].split()
    if sum(map(str.isalpha, words)) * 4 > len(words):
        return False
    shown = _FILLING.sub("", "".join(texts))
    return len(shown) > 80 and sum(map(str.isalnum, shown)) < 0.5 * len(shown)


@dataclass
class PdfText:
    """The result of reading all pages. Page numbers are 1-based."""

    lines: list[str] = field(default_factory=list[str])
    fonts: list[Font] = field(default_factory=list["Font"])  # the font of each line
    pages: list[PageSpan] = field(default_factory=list[PageSpan])
    broken: list[int] = field(default_factory=list[int])
    recognised: list[int] = field(default_factory=list[int])
    unreadable: list[int] = field(default_factory=list[int])  # pages without text that may show writing
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
        return texts, [font[row[0]] if row else _NO_FONT for _, row in lines]
    page = pdf.page(number)
    if texts or worth_recognising(page):
        recognised = recogniser.text_of(page)
        if recognised is None:
            (text.garbled if texts else text.unreadable).append(number + 1)
        else:
            text.recognised.append(number + 1)
        texts = recognised.split("\n") if recognised else []
    return texts, [_NO_FONT] * len(texts)
