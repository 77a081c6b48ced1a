"""The headings of a PDF: from its outline, and from the typography and wording of its lines."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

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
_LABEL = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?(?:: |\uff1a)")
MAX_TITLE = 300  # characters
_MAX_CHARS = 120
_NEAR = 0.04  # maximum relative difference between sizes that count as equal; sizes are rounded
_MUCH_LARGER = 1.18  # times the body size; larger print is not a running head
_LARGER = 1.05  # times the body size; such print is larger than running text
_ALONE = 5  # pages; in a longer document, an outline of a single entry is useless
_MUCH = 0.2  # a font with at least this share of the running text is an ordinary font
_SMALLEST = 0.85  # times the body size; headings may be this small
_OFTEN = 8  # maximum number of times that a heading occurs; labels occur more often
_LINES = 3  # maximum lines of a heading
_MOST = 0.6  # in a font of headings, at least this share of the lines can be headings
_ABOVE_TEXT = 0.25  # of these lines that can be headings, at least this share stands above running text
_FULL = 0.8  # times the length of the next line; a line this long belongs to a paragraph
_NO_WORDS = re.compile(r"[][{}<>=_|]")  # occurs in code, formulas and rows of cells
_LEADERS = (" |", "..", "\u2026", "\u2026.", " \u2013", " \u2014")  # before the page number of an entry
_NO_END = ",;:\uff0c\uff1b\uff1a\u3002"  # no heading ends with these
_SENTENCE_CHARS = 60  # a longer line with a full stop is a sentence
_SENTENCE = re.compile(r"[^\W\d_]{3}[.?!] ")  # a sentence ends and the line continues

Block = list[int]  # adjacent lines


def headings_of(pdf: Pdf, text: PdfText, title: str | None) -> list[Section]:
    """The headings in document order, without the document's title and the lines around it on the first page.

    Outlines often omit unnumbered or minor headings, so headings that are found by typography are added.
    """
    named = letters_of(title or "")
    outlined = _outlined(pdf, text)
    if (
        len(outlined) > 1
        and outlined[0].start_line <= text.pages[0].end_line
        and letters_of(outlined[0].title) == named
    ):
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
    """The headings that the outline names, each once.

    A heading is placed at a line of its page that shows its title, if possible after the last heading; else at the top of the page.
    """
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
            section = Section(title=title[:MAX_TITLE], level=level, start_line=last)
            found.setdefault((last, title), section)
    return list(found.values())


def _find(title: str, lines: list[str], start_line: int, end_line: int) -> int:
    """The first line that ends with `title`; else the first that ends with it in other case, or together with the next line; else 0.

    Only letters and digits are compared.
    """
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


@dataclass(frozen=True)
class _Body:
    """The running text: the size of most of its letters in tenths of a point, and its fonts."""

    size: int
    names: frozenset[str]

    def stands_out(self, font: Font) -> bool:
        """Whether a font is bold, or clearly larger than the running text."""
        return font.bold or font.size >= _LARGER * self.size

    def differs(self, font: Font) -> bool:
        """Whether a font can be a font of headings: it stands out or is not used for running text, and it is not much smaller."""
        apart = self.stands_out(font) or font.name not in self.names
        return apart and font.size >= max(1, _SMALLEST * self.size)


def _set_apart(text: PdfText, title_letters: str) -> list[Section]:
    """The headings that are found by typography and wording."""
    body = _body(text)
    fonts = text.fonts
    blocks = _after_front(_chosen(_blocks(text, body), text, body), text, title_letters)
    sizes = sorted({fonts[block[0]].size for block in blocks}, reverse=True)
    sizes = [size for n, size in enumerate(sizes) if not n or size < (1 - _NEAR) * sizes[n - 1]]
    found: list[Section] = []
    for block in blocks:
        shown = _shown(block, text.lines).replace(" | ", " ")
        numbered = NUMBERED.match(shown) or _LETTERED.match(shown)
        rank = sum(size > (1 + _NEAR) * fonts[block[0]].size for size in sizes) + 1
        level = (numbered[1] or "").count(".") + 1 if numbered else min(rank, 4)
        found.append(Section(title=shown[:MAX_TITLE], level=level, start_line=block[0] + 1))
    return found


def _body(text: PdfText) -> _Body:
    weights: Counter[str] = Counter()
    for font, letters in text.letters.items():
        weights[font.name] += letters
    much = _MUCH * weights.total()
    return _Body(text.body_size, frozenset(name for name, weight in weights.items() if weight >= much))


def _blocks(text: PdfText, body: _Body) -> list[Block]:
    """Blocks of adjacent lines of a page that are printed alike, but not like running text. A line worded as a heading begins one."""
    lines, fonts = text.lines, text.fonts
    special = {key for key, font in {id(font): font for font in fonts}.items() if body.differs(font)}
    starts = {page.start_line - 1 for page in text.pages}
    blocks: list[Block] = []
    block: Block = []
    last = -2
    for n in [n for n, key in enumerate(map(id, fonts)) if key in special]:
        line, first = lines[n], lines[n][:1]
        begins = first.isupper() or first.isdigit() or first > WIDE or first in "(\u00a7"
        font, before = fonts[n], fonts[last]
        like = font.bold == before.bold and abs(font.size - before.size) <= _NEAR * font.size
        follows = n == last + 1 and n not in starts and like
        if follows and not (begins and _opens(line)):
            block.append(n)
        else:
            block = [n]
            if begins and (not n or not lines[n - 1] or body.stands_out(fonts[n])):
                blocks.append(block)
        last = n
    return blocks


def _chosen(blocks: list[Block], text: PdfText, body: _Body) -> list[Block]:
    """The blocks that may be headings, because most lines in their font may be headings or because of their wording."""
    lines, fonts = text.lines, text.fonts
    repeated = _repeated(blocks, text, body)
    fit = [block for block in blocks if block[0] not in repeated and _may_be(block, text, body)]
    total, fitting, above = Counter(fonts), Counter[Font](), Counter[Font]()
    for n in repeated:
        total[fonts[n]] -= 1
    for block in fit:
        fitting[fonts[block[0]]] += len(block)
        below = [line for line in lines[block[-1] + 1 : block[-1] + 6] if line]
        above[fonts[block[0]]] += len(block) * any(map(is_prose, below[:3]))
    styles = {
        font
        for font, count in fitting.items()
        if count >= _MOST * total[font] and above[font] >= _ABOVE_TEXT * count
    }
    return [
        block
        for block in fit
        if fonts[block[0]] in styles or (_opens(lines[block[0]]) and body.stands_out(fonts[block[0]]))
    ]


def _repeated(blocks: list[Block], text: PdfText, body: _Body) -> set[int]:
    """The first lines of labels, which occur often, and of running heads, which stand at the edges of several pages."""
    lines, fonts = text.lines, text.fonts
    often = Counter(lines[n] for n, *_ in blocks)
    edges = {line - 1 for page in text.pages for line in (page.start_line, page.end_line)}
    letters = {n: "".join(filter(str.isalpha, lines[n])) for n, *_ in blocks if n in edges}
    heads = Counter(letters.values())
    labels = {n for n, *_ in blocks if often[lines[n]] > _OFTEN}
    return labels | {
        n for n, key in letters.items() if heads[key] > 1 and fonts[n].size < _MUCH_LARGER * body.size
    }


def _may_be(block: Block, text: PdfText, body: _Body) -> bool:
    """Whether the lines can be a heading: they are few, worded like a heading, and not part of a paragraph."""
    lines, first, last = text.lines, block[0], block[-1]
    shown = _shown(block, lines)
    if len(block) > _LINES or not _is_worded(shown):
        return False
    font = text.fonts[first]
    below = lines[last + 1] if last + 1 < len(lines) else ""
    if font.size >= _MUCH_LARGER * body.size or _opens(shown):
        return font.size >= _MUCH_LARGER * body.size or not below[:1].islower()  # else a paragraph goes on
    full = font.size < _LARGER * body.size and is_prose(below) and len(lines[last]) > _FULL * len(below)
    return not (full or _LABEL.match(shown) or _NO_WORDS.search(shown))


def _is_worded(line: str) -> bool:
    """Whether a line can be a heading by its words.

    It cannot if it is a caption, a row of cells, an entry of a table of contents, or a sentence, or has no letter.
    """
    if not 3 - (line[:1] > WIDE) <= len(line) <= _MAX_CHARS or line[-1] in _NO_END or _CAPTION.match(line):
        return False
    entry = line.rstrip("0123456789ivxlc").rstrip().endswith(_LEADERS) or ". . " in line
    if entry or _SENTENCE.search(line):
        return False
    sentence = line[-1] == "." and (len(line) > _SENTENCE_CHARS or not NUMBERED.match(line))
    if sentence or (" | " in line and not _opens(line)):
        return False
    return any(map(str.isalpha, line))


def _opens(text: str) -> bool:
    """Whether the wording alone shows that a line is a heading."""
    return bool(NUMBERED.match(text) or DIVISION.match(text) or NAMED.fullmatch(text))


def _after_front(blocks: list[Block], text: PdfText, title_letters: str) -> list[Block]:
    """The blocks without any occurrence of the title, and without the front matter of the first page.

    The largest print of the first page is the title only if nothing after it is as large. Otherwise, all blocks are returned.
    """
    lines, fonts, end = text.lines, text.fonts, text.pages[0].end_line
    large = max((fonts[n].size for n in range(end)), default=0) * (1 - _NEAR)
    first = next((n for n in range(end) if fonts[n].size >= large), 0)
    after = next((n for n in range(first, end) if lines[n] and fonts[n].size < large), end)
    if large <= text.body_size or any(
        block[0] >= after and fonts[block[0]].size >= large for block in blocks
    ):
        return blocks
    texts = [n for n in range(after, end - 1) if is_prose(lines[n]) and is_prose(lines[n + 1])]
    start = min([*texts, *(n for n in range(after, end) if _opens(lines[n]))], default=end)
    return [
        block for block in blocks if block[0] >= start and letters_of(_shown(block, lines)) != title_letters
    ]


def _shown(block: Block, lines: list[str]) -> str:
    return " ".join([lines[n] for n in block])
