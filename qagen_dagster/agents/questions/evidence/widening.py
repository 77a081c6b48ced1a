"""Widens a quote to the passage that it needs to be understood: its whole sentence or table row, the header of its table, and the
sentence before a pronoun.
"""

import re
from collections.abc import Sequence

from qagen_dagster.english.sentences import Sentence, split
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import RenderOptions
from qagen_dagster.records.document import Document, Visual
from qagen_dagster.records.ids import content_hash, fingerprint
from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.toolkit.document_view import DocumentView

WORDS = 40  # on each side of the quoted lines
_LEAST = 1 / 3  # share of the words of a quote that a similar passage must have
_WORD = re.compile(r"\w+")


def surroundings(document: Document, lines: Sequence[str], place: Evidence) -> str:
    """The headings above a quote, its lines, and the nearest words before and after. Empty for evidence without lines."""
    if place.start_line is None or place.end_line is None:
        return ""
    first, last = place.start_line - 1, place.end_line
    before, after = first, last
    while before > 0 and _count(lines[before:first]) < WORDS:
        before -= 1
    while after < len(lines) and _count(lines[last:after]) < WORDS:
        after += 1
    words = [
        *" ".join(lines[before:first]).split()[-WORDS:],
        *" ".join(lines[first:last]).split(),
        *" ".join(lines[last:after]).split()[:WORDS],
    ]
    return " ".join([*headings(document, place.start_line), *words])


def look(view: DocumentView, visual: Visual) -> str:
    """A hash of what a visual shows: its caption, its lines and its picture. Empty if the picture cannot be made."""
    start = visual.start_line or 1
    lines = view.lines[start - 1 : visual.end_line or visual.start_line or 0]
    try:
        picture = None if visual.page is None else view.render(visual.page, RenderOptions(crop=visual.box))
    except DocumentError:
        return ""
    return fingerprint([visual.caption, *lines, "" if picture is None else content_hash(picture.data)])


def similar_passage(lines: Sequence[str], quote: str) -> str:
    """The lines that share most words with a quote that is no longer there; empty if no lines share enough."""
    wanted = _words(quote)
    each = [_words(line) for line in lines]
    height = quote.count("\n") + 1

    def share(start: int) -> float:
        found = set[str]().union(*each[start : start + height])
        return len(found & wanted) / len(found | wanted) if found else 0.0

    where = max(range(max(1, len(lines) - height + 1)), key=share)
    passage = "\n".join(lines[where : where + height])
    return passage if wanted and len(_words(passage) & wanted) >= _LEAST * len(wanted) else ""


def headings(document: Document, line: int) -> list[str]:
    """The titles of the sections that contain a line, the outermost first, each followed by " /"."""
    titles: list[str] = []
    level = 0
    above = [one for one in document.sections if one.start_line <= line and line <= (one.end_line or line)]
    for section in reversed(above):
        if not titles or section.level < level:
            titles.insert(0, f"{section.title} /")
            level = section.level
    return titles


def _count(lines: Sequence[str]) -> int:
    return sum(len(line.split()) for line in lines)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


MOST_WORDS = 80  # a longer text is probably not one sentence
_AROUND = 30  # lines before and after the quote that may belong to its sentence
_MOST_HEADS = 3  # maximum rows of the header of a table
_AMOUNT = re.compile(r"(?!(?:19|20)\d\d\Z)[-\u2013(]*\s?[$\u20ac\u00a3]?\s?\(?\d[\d,.]*\s?[%)]*")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_PRONOUN = re.compile(
    r"(?:It|They|He|She|Its|Their|His|Her)\s|(?:This|These|Those)\s(?:is|are|was|were|has|have|had|can|could|may|will|would)\s"
)
_RULE = re.compile(r"[-:|\s=+]*")
_LABELLED = re.compile(r"[^\W\d_a-z][^.!?]*?[:\s]\s*[-(]?[$€£]?\d[\d,.]*[%)]*")
_SHORTENED = re.compile(r":[^\W\d_a-z][^\W\d_]{0,3}\.$")
_LONGEST_LABEL, _LONGEST_HEAD = 6, 12  # words
_VALUE = re.compile(r"(?<!\S)[-(]?[$€£]?\d[\d,.]*[%)]*(?!\S)")


def widened(lines: Sequence[str], place: Evidence) -> Evidence:
    """The evidence widened to its sentence or table row; unchanged if it has no lines or the sentence is too long."""
    if place.start_line is None or place.end_line is None:
        return place
    before, last = place.start_line - 1, place.end_line
    if any(_is_row(lines, at) for at in range(before, last)):
        row = "\n".join(lines[before:last]).strip()
        same = place.quote not in row or _bare(row) == _bare(place.quote)
        return place if same else place.model_copy(update={"quote": row})
    first = before
    while first > max(0, before - _AROUND) and lines[first - 1].strip() and not _is_row(lines, first - 1):
        first -= 1
    end = last
    while end < min(len(lines), last + _AROUND) and lines[end].strip() and not _is_row(lines, end):
        end += 1
    text = "\n".join(lines[first:end])
    start = text.find(place.quote, len("\n".join([*lines[first:before], ""])))
    sentences = _sentences(text)
    within = [one for one in sentences if one.start < start + len(place.quote) and one.end > start]
    if start < 0 or not within:
        return place
    if _PRONOUN.match(within[0].text) and within[0] != sentences[0]:
        within.insert(0, sentences[sentences.index(within[0]) - 1])
    whole = text[within[0].start : within[-1].end]
    longest = max(MOST_WORDS, len(place.quote.split()))
    if len(whole.split()) > longest or place.quote not in whole or _bare(whole) == _bare(place.quote):
        return place
    first_line = first + text.count("\n", 0, within[0].start) + 1
    return place.model_copy(
        update={"quote": whole, "start_line": first_line, "end_line": first_line + whole.count("\n")}
    )


def _sentences(text: str) -> list[Sentence]:
    """The sentences of a text. A short word with a capital directly after a colon ("PIE:St.") does not end a sentence."""
    found: list[Sentence] = []
    for one in split(text):
        if found and _SHORTENED.search(found[-1].text):
            begin = found.pop().start
            one = Sentence(text[begin : one.end], begin, one.end)
        found.append(one)
    return found


def head_of_table(lines: Sequence[str], line: int) -> tuple[int, int] | None:
    """The first and the last row (1-based) of the header of the table that contains a line. None if the line is in the header,
    or in no table with a header.

    In a table with cells, the header is the first row, the following rows with years or without a name, and the rule below them. In a
    table without cells, the header is a first row that has only years, or else the line above the rows.
    """
    first = line - 1
    if "|" not in lines[first]:
        return _head_without_cells(lines, first)
    while first > 0 and "|" in lines[first] and "|" in lines[first - 1]:
        first -= 1
    last = first
    while last + 1 < min(line, first + _MOST_HEADS) and _belongs_to_head(lines[last + 1]):
        last += 1
        if _RULE.fullmatch(lines[last]):
            break
    return (first + 1, last + 1) if "|" in lines[first] and last + 1 < line else None


def _head_without_cells(lines: Sequence[str], at: int) -> tuple[int, int] | None:
    first = at
    while first > 0 and _is_row(lines, first - 1) and "|" not in lines[first - 1]:
        first -= 1
    if not _is_row(lines, at):
        return None
    if first < at and all(map(_YEAR.fullmatch, _VALUE.findall(lines[first]))):
        return first + 1, first + 1
    above = first - 1 if first and not _RULE.fullmatch(lines[first - 1]) else first - 2
    head = lines[above].strip() if above >= 0 else ""
    is_head = head and len(head.split()) <= _LONGEST_HEAD and head[-1] not in ".!?;," and "|" not in head
    return (above + 1, first) if is_head else None


def _belongs_to_head(row: str) -> bool:
    """Whether a row has no amounts, and is a rule, has years, or has no name."""
    name, *cells = (cell.strip() for cell in row.strip().strip("|").split("|"))
    if any(map(_AMOUNT.fullmatch, cells)):
        return False
    return _RULE.fullmatch(row) is not None or (any(cells) and (not name or any(map(_YEAR.search, cells))))


def _bare(text: str) -> str:
    """The text without spaces and punctuation."""
    return "".join(filter(str.isalnum, text))


def _is_row(lines: Sequence[str], at: int) -> bool:
    """Whether a line is a row of a table: a full row, or a label with a value beside another such line."""
    if _is_full_row(lines[at]):
        return True
    beside = [lines[other] for other in (at - 1, at + 1) if 0 <= other < len(lines)]
    return _is_label(lines[at]) and any(_is_label(one) or _is_full_row(one) for one in beside)


def _is_label(line: str) -> bool:
    """Whether a line is a label with a value, as in "GVA: 12"."""
    return _LABELLED.fullmatch(line.strip()) is not None and len(line.split()) <= _LONGEST_LABEL


def _is_full_row(line: str) -> bool:
    """Whether a line has cells, or several values among few words."""
    values = len(_VALUE.findall(line))
    return line.count("|") > 1 or "\t" in line.strip() or (values > 1 and 3 * values >= len(line.split()))
