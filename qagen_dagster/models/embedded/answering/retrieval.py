"""The pieces of a document (sentences, table rows, labelled lines, entries, steps), ranked for a question by words and by MiniLM cosine.

The share of words gives rare words more weight, as BM25 does (Robertson & Zaragoza 2009), without length normalisation, because
pieces are single sentences and rows.
"""

import math
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.answering.question import terms
from qagen_dagster.models.embedded.conversation import Line, split_frame
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment, tables
from qagen_dagster.models.embedded.text.passages import Passage, Quote, plain, split
from qagen_dagster.models.embedders import Vectors, shared

_LABEL = re.compile(r"^([^:.]{2,60}):\s+(\S.*)$", re.DOTALL)
_BOLD = re.compile(r"^\s*(?:[-*+•]\s+)?(\*\*\*|\*\*_|\*\*|__)(.{2,60}?)(\*\*\*|_\*\*|\*\*|__):?\s*(?=\S)")


@dataclass(frozen=True)
class Unit:
    """A piece with its exact quote. Labelled lines have `label` and `body`, table rows `header` and `cells`."""

    text: str
    quote: Quote
    section: tuple[str, ...] = ()
    label: str = ""
    body: str = ""
    header: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    table: int = 0  # line of the header, which identifies the table; negative if the table has one row


def units(known: dict[int, Line], headings: dict[int, str]) -> list[Unit]:
    """All pieces of the lines known so far; `headings` are lines known to be headings."""
    found: list[Unit] = []
    run: list[Line] = []
    for number in [*sorted(known), None]:
        if run and (number is None or number != run[-1].number + 1):
            blocks = segment(run, headings)
            found += [unit for block in blocks for unit in _of_block(block)]
            found += _of_tables(blocks)
            run = []
        if number is not None:
            run.append(known[number])
    return found


def _of_tables(blocks: Sequence[Block]) -> Iterator[Unit]:
    for table in tables(blocks):
        header = table.header.cells
        # A single row needs no name: its columns are properties of the document's subject.
        place = table.header.line.number * (1 if len(table.rows) > 1 else -1)
        for row in table.rows:
            pairs = "; ".join(f"{head}: {cell}" for head, cell in zip(header, row.cells, strict=True) if cell)
            yield Unit(pairs, row.quote, table.section, "", "", header, row.cells, place)


def _of_block(block: Block) -> Iterator[Unit]:
    if block.kind not in (Kind.TEXT, Kind.ITEM) or not block.passage.text:
        return
    passage, section = block.passage, block.section
    number = re.search(r"\d+", block.marker)
    if number:
        yield Unit(passage.text, passage.quote(), section, f"step {number.group()}", passage.text)
    label, body = _labelled(block, passage)
    if label:
        yield Unit(passage.text, passage.quote(), section, label, body)
    for sentence in split(passage):
        yield Unit(sentence.passage.text, sentence.passage.quote(), section)


def _labelled(block: Block, passage: Passage) -> tuple[str, str]:
    bold = _BOLD.match(block.lines[0].text)
    if bold:
        label = plain(bold.group(2))[0].strip(" .:`")
        at = passage.text.find(label) + len(label)
        return label, passage.text[at:].lstrip(" .:")
    match = _LABEL.match(passage.text)
    return (match.group(1), match.group(2)) if match and len(passage.text) < 240 else ("", "")


_WH = word_set(
    "what which who whom when where why how many much long doe do did give given happen accord stand abbreviation"
)
LEXICAL_WEIGHT = 0.65  # weight of the share of words in a score; the rest is the cosine's weight
TITLE_WEIGHT = 0.2  # factor for words of the title: most pieces are about them, whether they name them or not
CANDIDATES = 8  # pieces with the largest share of words, whose cosines are computed
CACHED_VECTORS = 20_000

_lock = threading.Lock()
_vectors: OrderedDict[str, Vectors] = OrderedDict()


@dataclass(frozen=True)
class Query:
    """A parsed question."""

    text: str  # without the frame
    frame: str
    terms: frozenset[str]
    quoted: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """The pieces of a document with their words, built once."""

    pieces: tuple[Unit, ...]
    bags: tuple[frozenset[str], ...]
    counts: Counter[str]
    title: frozenset[str] = frozenset()  # words of the document's title


def make_index(pieces: Sequence[Unit], title: str) -> Index:
    """The index of `pieces`; a labelled line also has the words of its label and section."""
    bags = tuple(
        frozenset(
            terms(f"{unit.text} {unit.label} {unit.section[-1] if unit.section and unit.label else ''}")
        )
        for unit in pieces
    )
    return Index(tuple(pieces), bags, Counter(term for bag in bags for term in bag), frozenset(terms(title)))


@dataclass(frozen=True)
class Hit:
    unit: Unit
    share: float
    cosine: float

    @property
    def score(self) -> float:
        return LEXICAL_WEIGHT * self.share + (1 - LEXICAL_WEIGHT) * max(self.cosine, 0.0)


def parse_query(question: str) -> Query:
    """The frame ("According to ..."), the words to find, and quoted labels."""
    frame, text = split_frame(question)
    quoted = tuple(a or b for a, b in re.findall(r'"([^"]+)"|`([^`]+)`', text))
    frame = frame.removeprefix("According to ").rstrip(", ")
    return Query(text, frame, frozenset(terms(text)) - _WH, quoted)


def rank(asked: Query, index: Index) -> list[Hit]:
    """Hits for at most CANDIDATES pieces, best first."""
    total_pieces = len(index.pieces)
    weight = {
        term: math.log(1 + total_pieces / (1 + index.counts[term]))
        * (TITLE_WEIGHT if term in index.title else 1.0)
        for term in asked.terms
    }
    total = sum(weight.values()) or 1.0
    shares = [
        sum(weight[term] for term in asked.terms & bag) / total + _place_bonus(asked, unit)
        for unit, bag in zip(index.pieces, index.bags, strict=True)
    ]
    best = sorted(range(total_pieces), key=lambda number: -shares[number])[:CANDIDATES]
    if not best:
        return []
    vectors = encode([asked.text, *(index.pieces[number].text for number in best)])
    cosines = vectors[1:] @ vectors[0]
    hits = [
        Hit(index.pieces[number], shares[number], float(cosine))
        for number, cosine in zip(best, cosines, strict=True)
    ]
    return sorted(hits, key=lambda hit: -hit.score)


def _place_bonus(asked: Query, unit: Unit) -> float:
    """A bonus for a piece that has the question's abbreviation in brackets, or else for a piece in the section that the question names."""
    short = re.search(r"(\S+) stand for\?$", asked.text)
    if short and f"({short.group(1)})" in unit.text:
        return 0.3
    named = re.findall(r'"([^"]+)"', asked.frame.lower())  # the names of the section and of the title
    return 0.1 if len(named) > 1 and unit.section and unit.section[-1].lower() == named[0] else 0.0


def encode(texts: Sequence[str]) -> Vectors:
    """The embeddings of `texts`. They are cached by text, because questions about one document share its pieces."""
    with _lock:
        missing = [text for text in dict.fromkeys(texts) if text not in _vectors]
    fresh = shared().encode(missing) if missing else np.zeros((0, 0), dtype=np.float32)
    with _lock:
        for text, vector in zip(missing, fresh, strict=True):
            _vectors[text] = vector
        result = np.stack([_vectors[text] for text in texts])
        while len(_vectors) > CACHED_VECTORS:
            _vectors.popitem(last=False)
        return result
