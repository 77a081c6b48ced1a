"""The headings of a PDF: from its outline, and from the typography and wording of its lines."""

import re
from collections import Counter
from functools import lru_cache
from math import exp
from operator import mul

from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.text import WIDE, PdfText, is_prose
from qagen_dagster.records.document import Section

FILE_NAME = re.compile(
    r"(?i)^(microsoft \w+ - |untitled|slide 1|document\d*$)"
    r"|\.(docx?|pptx?|xlsx?|pdf|png|jpe?g|tif|indd|tex|dvi|qxd|eps|ps|rtf|html?|txt)$"
)
_CAPTION = re.compile(r"(?:(?i:figure|fig\.|table|page)|Tabelle|Abbildung|Abb\.) ?[A-Z]?\d")
_NO_LETTER = re.compile(r"[\W_]+")
NUMBERED = re.compile(r"([1-9]\d?(?:\.\d{1,2}){0,3})\.?[ |]+[^\W\d_]")
_LETTERED = re.compile(r"[A-Z](\.\d{1,2}){0,3}\.?[ |]+[^\W\d_]")
DIVISION = re.compile(r"(?i:part|item|chapter|section|appendix) (?:\d{1,2}[A-Z]?|[IVX]{1,5}|[A-Z])(?![\w-])")
NAMED = re.compile(
    r"(?i)(?:abstract|summary|introduction|background|related works?|(?:materials and )?methods?|results?|discussion|"
    r"conclusions?|conclusions? and future work|limitations|ethics statement|acknowledge?ments?|references|"
    r"bibliography|appendix|appendices|(?:table of )?contents|preface|zusammenfassung|einleitung|inhalt(?:sverzeichnis)?|literatur|"
    r"table des mati\u00e8res|sommaire|r\u00e9sum\u00e9|(?:tabla de )?contenidos?|[i\u00ed]ndice(?: general)?|obsah|kazalo|spis tre\u015bci|"
    r"\u0441\u043e\u0434\u0435\u0440\u0436\u0430\u043d\u0438\u0435|\u043e\u0433\u043b\u0430\u0432\u043b\u0435\u043d\u0438\u0435|\u6458 ?\u8981|\u76ee ?[\u5f55\u6b21])"
)
_COUNTED = re.compile(rf"(?:[IVX]{{1,5}}|[ivx]{{1,4}}|[A-H])[.)][ |]+[^\W\d_]|{_LETTERED.pattern}")
_LABEL = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?(?:: |\uff1a)")
_WORD = re.compile("[^\\W\\d_]{3}|[\u2e80-\uffff]")
MAX_TITLE = 300  # characters
_MAX_CHARS = 130  # maximum of a heading
_NEAR = 0.04  # maximum relative difference between sizes that count as equal; sizes are rounded
_MUCH_LARGER = 1.18  # times the body size
_LARGER = 1.05  # times the body size; such print is larger than running text
_ALONE = 5  # pages; in a longer document, an outline of a single entry is useless
_MUCH = 0.2  # a font with at least this share of the running text is an ordinary font
_SMALL = 0.95  # times the body size; such print is smaller than running text
_SHORT = 80  # maximum characters of a heading in the print of the running text
_OFTEN = 8  # maximum number of times that a heading occurs; labels occur more often
_LEAFLET = 2  # pages
_LINES = 3  # maximum lines of a heading
_WRAPPED = 0.6  # times the length of the next line; a shorter line is not wrapped
_FULL = 0.8  # times the length of the next line; a line this long belongs to a paragraph
_SENTENCE_CHARS = 60  # a longer line with a full stop is a sentence
_LEADERS = (" |", "..", "\u2026", "\u2026.", " \u2013", " \u2014")  # before the page number of an entry
_NO_END = ",;\uff0c\uff1b\u3002"  # no heading ends with these
# Tenths of the weights of the features. A logistic regression fitted them to 228 pages of 228 files, whose headings were marked by eye.
_WEIGHTS = (9, -17, 12, -7, 13, 17, 12, 8, -26, -12, -22, 17, -23, -23, -14, 14, -21)
_NONE = 2.9
_PEERS = 4.4  # weight of the average chance of the blocks in the same print, from -0.5 to 0.5

Block = list[int]  # adjacent lines


def headings_of(pdf: Pdf, text: PdfText, title: str | None) -> list[Section]:
    """The headings in document order without the title. The outline often omits minor ones, so others that score are added to its own."""
    named = letters_of(title or "")
    outlined = _outlined(pdf, text)
    first = outlined[0] if len(outlined) > 1 else None
    if first and first.start_line <= text.pages[0].end_line and letters_of(first.title) == named:
        outlined = outlined[1:]
    shown = _set_apart(text, named)
    if not outlined or (len(outlined) == 1 and len(text.pages) > _ALONE):
        return shown
    levels = {
        text.fonts[one.start_line - 1]: one.level
        for one in reversed(outlined)
        if letters_of(text.lines[one.start_line - 1]).endswith(letters_of(one.title))
    }
    taken = {one.start_line for one in outlined}
    below = max(one.level for one in outlined) + 1
    more = [
        one.model_copy(update={"level": levels.get(text.fonts[one.start_line - 1], below)})
        for one in shown
        if one.start_line not in taken
    ]
    return sorted([*outlined, *more], key=lambda one: one.start_line)


def _outlined(pdf: Pdf, text: PdfText) -> list[Section]:
    """The headings of the outline, each once, at a line of its page that shows it, if possible after the last; else at the top of the page."""
    found: dict[tuple[int, str], Section] = {}
    last = 0
    for level, title, page in pdf.outline:
        span = text.pages[page] if 0 <= page < len(text.pages) else None
        if span is None or span.end_line < span.start_line:
            continue
        if title and not FILE_NAME.search(title) and not _CAPTION.match(title):
            start, end = span.start_line, span.end_line
            later = max(start, last + 1)
            last = _find(title, text.lines, later, end) or _find(title, text.lines, start, end) or start
            found.setdefault((last, title), Section(title=title[:MAX_TITLE], level=level, start_line=last))
    return list(found.values())


def _find(title: str, lines: list[str], start_line: int, end_line: int) -> int:
    """The first line that ends with the letters of `title`; else the first that does in other case or with the next line; else 0."""
    wanted, ending, opening = letters_of(title), title[-3:], title[:6].casefold()
    begun = 0
    for number in range(start_line, end_line + 1):
        shown = lines[number - 1]
        if len(shown) >= 2 * len(title) + 20:
            continue
        if ending.casefold() in shown.casefold():
            letters = letters_of(shown)
            if letters.endswith(wanted) and len(letters) - len(wanted) < 14:
                if ending in shown:
                    return number
                begun = begun or number
        elif not begun and number < end_line and opening in shown.casefold():
            letters = letters_of(shown + lines[number])
            if wanted and letters.endswith(wanted) and len(letters) - len(wanted) < 14:
                begun = number
    return begun


@lru_cache(1_000)
def letters_of(text: str) -> str:
    """The letters and digits of a text, with case folded."""
    return _NO_LETTER.sub("", text).casefold()


def _set_apart(text: PdfText, title_letters: str) -> list[Section]:
    """The headings that are found by typography and wording."""
    fonts = text.fonts
    blocks = [block for block in _Scores(text).chosen() if letters_of(_shown(block, text)) != title_letters]
    sizes = sorted({fonts[block[0]].size for block in blocks}, reverse=True)
    sizes = [size for n, size in enumerate(sizes) if not n or size < (1 - _NEAR) * sizes[n - 1]]
    found: list[Section] = []
    for block in blocks:
        shown = _shown(block, text).replace(" | ", " ")
        numbered = NUMBERED.match(shown) or _LETTERED.match(shown)
        rank = sum(size > (1 + _NEAR) * fonts[block[0]].size for size in sizes) + 1
        level = (numbered[1] or "").count(".") + 1 if numbered else min(rank, 4)
        found.append(Section(title=shown[:MAX_TITLE], level=level, start_line=block[0] + 1))
    return found


def _shown(block: Block, text: PdfText) -> str:
    return " ".join([text.lines[n] for n in block])


class _Scores:
    """The blocks of lines that can be headings, and their scores."""

    def __init__(self, text: PdfText) -> None:
        self._text = text
        lines, letters = text.lines, text.letters
        self._names = {font.name for font, count in letters.items() if count >= _MUCH * letters.total()}
        self._bold = 2 * sum(count for font, count in letters.items() if font.bold) <= letters.total()
        self._starts = {page.start_line - 1 for page in text.pages}
        self._edges = self._starts | {page.end_line - 1 for page in text.pages}
        self._heads = Counter(self._letters(n) for n in self._edges if 0 <= n < len(lines))
        self._often = Counter(lines)
        end = text.pages[0].end_line
        start = next((n for n in range(end - 1) if is_prose(lines[n]) and is_prose(lines[n + 1])), end)
        opening = next((n for n in range(end) if _opens(lines[n])), end)
        self._front = min(start, opening) if len(text.pages) > _LEAFLET else 0
        first = opening if opening < start else 0  # authors and others stand before it
        blocks = [block for block in self._joined() if block[0] >= first and not self._is_repeated(block[0])]
        self._blocks = [one for one in blocks if len(one) <= _LINES and _is_worded(_shown(one, text))]
        self._inside = {n for block in self._blocks for n in block}
        self._fit, self._total = Counter(text.fonts[n] for n in self._inside), Counter(text.fonts)

    def chosen(self) -> list[Block]:
        """The blocks that are probably headings."""
        blocks, shown = self._blocks, [_shown(block, self._text) for block in self._blocks]
        features = map(self._features, blocks, shown)
        scores = [sum(map(mul, _WEIGHTS, one)) / 10 - _NONE for one in features]
        chances = [1 / (1 + exp(-score)) for score in scores]
        fonts = (self._text.fonts[block[0]] for block in blocks)
        prints = [
            (font, one.isupper(), bool(NUMBERED.match(one))) for font, one in zip(fonts, shown, strict=True)
        ]
        sums, total = dict.fromkeys(prints, 0.0), Counter(prints)
        for like, chance in zip(prints, chances, strict=True):
            sums[like] += chance
        peers = [(sums[a] - b + 0.5) / total[a] - 0.5 for a, b in zip(prints, chances, strict=True)]
        return [block for block, a, b in zip(blocks, scores, peers, strict=True) if a + _PEERS * b > 0]

    def _stands_out(self, font: Font) -> bool:
        """Whether a font differs from those of the running text and is not much smaller."""
        size = font.size / max(self._text.body_size, 1)
        return (font.bold and self._bold) or size >= (_SMALL if font.name not in self._names else _LARGER)

    def _joined(self) -> list[Block]:
        """Lines that can begin a heading, each with the adjacent lines in the same print that it may go on with."""
        lines, fonts = self._text.lines, self._text.fonts
        special = {font for font in set(fonts) if self._stands_out(font)}
        blocks: list[Block] = []
        block: Block = []
        last = -1  # the last line in special print
        for n, (line, font) in enumerate(zip(lines, fonts, strict=True)):
            apart = len(line) <= _SHORT and (self._is_first(n) or line.isupper() or _opens(line))
            if not line or not (apart or font in special):
                continue
            before, begins = fonts[last], _begins(line)
            like = font.bold == before.bold and abs(font.size - before.size) <= _NEAR * font.size
            opens = begins and (
                _opens(line) or _COUNTED.match(line) or len(lines[last]) < _WRAPPED * len(line)
            )
            if n == last + 1 and n not in self._starts and like and font in special and not opens:
                block.append(n)
            else:
                block = [n]
                if begins:
                    blocks.append(block)
            last = n if font in special else -1
        return blocks

    def _is_first(self, n: int) -> bool:
        """Whether a page or, after a blank line, a paragraph begins with the line."""
        return n in self._starts or not self._text.lines[n - 1]

    def _is_repeated(self, n: int) -> bool:
        """Whether a line that is not large is a label, which occurs often, or a running head, which stands at the edges of several pages."""
        heads = self._heads[self._letters(n)] if n in self._edges else 0
        large = self._text.fonts[n].size >= _MUCH_LARGER * self._text.body_size
        return not large and (heads > 1 or self._often[self._text.lines[n]] > _OFTEN)

    def _letters(self, n: int) -> str:
        return "".join(filter(str.isalpha, self._text.lines[n]))

    def _features(self, block: Block, shown: str) -> tuple[float, ...]:
        text, first, last = self._text, block[0], block[-1]
        lines, font, words = text.lines, text.fonts[first], shown.split()
        after = [n for n in range(last + 1, min(len(lines), last + 7)) if lines[n]][:3]
        prior = [n for n in range(max(0, first - 6), first) if lines[n]][-3:]
        below = lines[last + 1] if last + 1 < len(lines) else ""
        return (
            font.size >= _MUCH_LARGER * text.body_size,
            font.size < _SMALL * text.body_size,
            font.bold and self._bold,
            not self._stands_out(font),
            bool(_opens(shown) or _COUNTED.match(shown)),
            self._is_first(first),
            shown.isupper() and len(shown) > 3,
            sum(not word[0].islower() for word in words) / len(words),
            len(shown) / 100,
            " | " in shown,
            sum(map(str.isdigit, shown)) / len(shown),
            any(is_prose(lines[n]) for n in after[:1]),
            below[:1].islower() and is_prose(below),
            font.size < _LARGER * text.body_size
            and is_prose(below)
            and len(lines[last]) > _FULL * len(below),  # the first line of a paragraph
            first < self._front,
            self._fit[font] / self._total[font],  # most lines in a font of headings can be headings
            sum(n in self._inside for n in prior + after) / 6,  # the lines around may be headings, too
        )


def _begins(line: str) -> bool:
    """Whether a heading can begin like this line."""
    first = line[0]
    other = first > WIDE or first in "(\u00a7\u25a0" or _COUNTED.match(line) is not None
    return other or (first.isalnum() and not first.islower())


def _is_worded(line: str) -> bool:
    """Whether a block can be a heading by its words: it is no caption, sentence or entry of a table of contents."""
    if not 3 - (line[:1] > WIDE) <= len(line) <= _MAX_CHARS or line[-1] in _NO_END or _CAPTION.match(line):
        return False
    entry = line.rstrip("0123456789ivxlc").rstrip().endswith(_LEADERS) or ". . " in line
    sentence = line[-1] == "." and len(line) > _SENTENCE_CHARS
    return not (entry or sentence or _LABEL.match(line)) and _WORD.search(line) is not None


def _opens(text: str) -> bool:
    """Whether the wording alone shows that a line is a heading."""
    return bool(NUMBERED.match(text) or DIVISION.match(text) or NAMED.fullmatch(text))
