"""The candidates of consecutive lines: the questions of every family in a varied order, without questions that a check refuses.

The families of this file use the form of a text: table cells, and labelled lines such as "Resolution: 1 mm".
Equal lines and context give equal candidates. A bounded cache keeps recent results, because every attempt rereads the document.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest

from qagen_dagster.english.words import content_stems, word_set
from qagen_dagster.models.embedded.conversation import Line, quoted
from qagen_dagster.models.embedded.questions.candidate import (
    HEAD_NOUNS,
    PLAIN_NUMBER,
    PREPOSITION,
    STRUCTURED,
    Candidate,
    Context,
    name_words,
    names_something,
    plain_words,
    property_name,
    refusal,
    row_words,
    type_of,
)
from qagen_dagster.models.embedded.questions.score import scored
from qagen_dagster.models.embedded.questions.sentence_questions import questions
from qagen_dagster.models.embedded.text.blocks import Block, Kind, Row, Table, segment, tables
from qagen_dagster.models.embedded.text.grammar import is_english, parse, read_clause
from qagen_dagster.models.embedded.text.passages import is_prose, plain, split


def without_rivals(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without duplicates, and without questions to which the document gives several answers."""
    by_question: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        words = " ".join(re.findall(r"\w+", candidate.question.lower()))
        by_question.setdefault(words, []).append(candidate)
    kept: list[Candidate] = []
    for group in by_question.values():
        if len({candidate.answer.lower().strip(" .") for candidate in group}) == 1:
            kept.append(max(group, key=lambda candidate: candidate.quality))
    return kept


CACHED_WINDOWS = 256

_CAPTION = re.compile(r"^\W{0,4}(?:Fig(?:ure|\.)?|FIGURE|Table|TABLE|Scheme|Video|Box)\s*[\dSIVX]")
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})+\.?|[A-Z][\w /&-]{2,30}:) (?=[A-Z])")
_BACK_MATTER = frozenset(
    {
        "references", "bibliography", "works cited", "literature", "literature cited", "acknowledgements", "acknowledgments",
        "legal", "copyright", "table of contents", "contents", "index", "see also", "further reading", "data availability", "major datasets", "decision letter", "author response", "supplementary material",
        "funding", "author contributions", "competing interests", "conflict of interest", "additional information",
    }
)  # fmt: skip


def possible(lines: Sequence[Line], context: Context) -> list[Candidate]:
    """All candidates of consecutive lines that no check refuses."""
    blocks = [block for block in segment(lines, dict(context.headings)) if not _is_left_out(block)]
    context = replace(context, plain=plain_words(lines), names=name_words(lines))
    found = (_framed(draft, context) for draft in proposals(blocks, context))
    return without_rivals(candidate for candidate in found if refusal(candidate, context) is None)


@lru_cache(maxsize=CACHED_WINDOWS)
def candidates(
    lines: tuple[Line, ...], context: Context, wanted: frozenset[str] = frozenset()
) -> tuple[Candidate, ...]:
    """Candidates of consecutive lines that are good enough. `wanted` families come first, then higher scores; families take turns at equal scores."""
    good = scored(possible(lines, context), lines, context.title)
    chosen = interleave(_one_per_sentence(good, wanted))
    return tuple(sorted(chosen, key=lambda item: (item.family not in wanted, -round(item.quality, 1))))


def _framed(draft: Candidate, context: Context) -> Candidate:
    """The candidate, with the phrase that names the document if nothing else says what the question is about."""
    if draft.frame or (draft.family not in STRUCTURED and names_something(draft.asked, context)):
        return draft
    return replace(draft, frame=context.frame())


def _is_left_out(block: Block) -> bool:
    """Whether a block is back matter, or in another language, such as filler text."""
    names = {name.lower().strip(" .:") for name in block.section}
    text = block.passage.text
    if names & _BACK_MATTER or any(name.endswith(("license", "licence")) for name in names):
        return True
    return block.kind in (Kind.TEXT, Kind.ITEM) and not is_english(text)


def proposals(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """The questions of every family."""
    yield from _keyed(blocks, context)
    yield from cell_questions(tables(blocks), context)
    yield from prose(blocks)


def prose(blocks: Sequence[Block]) -> Iterator[Candidate]:
    """Questions from sentences, without captions, which belong to visual mode."""
    found = [
        sentence
        for block in blocks
        if block.kind in (Kind.TEXT, Kind.ITEM) and not _CAPTION.match(block.passage.text)
        for whole in split(block.passage)
        if is_prose(sentence := replace(whole, text=_SECTION_NUMBER.sub("", whole.text, 1)))
    ]
    docs = parse([sentence.text.rstrip(";") for sentence in found])
    stems = [frozenset(content_stems(sentence.text)) for sentence in found]
    for place, (sentence, doc) in enumerate(zip(found, docs, strict=True)):
        clause = read_clause(doc)
        for asked, answer, family, kind, quality in questions(clause) if clause is not None else ():
            wanted = frozenset([asked] if family == "definition" else content_stems(asked))
            rival = any(wanted <= other for at, other in enumerate(stems) if at != place)
            if answer in sentence.passage.text and not rival:
                yield Candidate(asked, answer, (sentence.passage.quote(),), family, kind, quality)


def _one_per_sentence(found: Sequence[Candidate], wanted: frozenset[str]) -> list[Candidate]:
    """The best question of each sentence, because two questions would reveal each other's answers. All
    questions about cells and labels are kept."""
    best: dict[tuple[int, str], Candidate] = {}
    for candidate in sorted(found, key=lambda item: (item.family not in wanted, -item.quality)):
        if candidate.family not in STRUCTURED:
            best.setdefault((candidate.line, candidate.quotes[0].text), candidate)
    return [*(candidate for candidate in found if candidate.family in STRUCTURED), *best.values()]


def interleave(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of all families in turn, the best of each family first and spread over the lines. At
    most a quarter asks for a date, because people ask for dates less often."""
    families: dict[str, list[Candidate]] = {}
    for candidate in sorted(found, key=_order):
        families.setdefault(candidate.family, []).append(candidate)
    if many := families.get("when"):
        families["when"] = many[: max(1, (len(found) - len(many)) // 3)]
    turns = zip_longest(*families.values())
    return [one for turn in turns for one in turn if one is not None]


def _order(candidate: Candidate) -> tuple[float, str]:
    """The best first; equally good candidates in an order that scatters them over the lines."""
    scattered = hashlib.sha256(candidate.question.encode("utf-8", "surrogatepass")).hexdigest()
    return -round(candidate.quality, 1), scattered


_EMPTY = frozenset(
    {"", "-", "\u2013", "—", "none", "n/a", "yes", "no", "x", "✓", "✗", "true/false", "all", "any", "0"}
)


def cell_questions(tables: Sequence[Table], context: Context, *, visual: bool = False) -> Iterator[Candidate]:
    """Questions for every table whose rows have names. A question names its table in visual mode, or if another table shares a column.
    Such a table gives questions only if its label or section identifies it."""
    places = [_place(table, context) for table in tables]
    for table, place in zip(tables, places, strict=True):
        named = len(table.rows) > 1 and len(set(table.column(0))) == len(table.rows)
        others = [other for other in tables if other is not table]
        heads = set(table.header.cells[1:])
        alone = not visual and not any(heads & set(other.header.cells) for other in others)
        if not named or (places.count(place) > 1 and not alone):
            continue
        yield from _by_row(table, context.frame() if alone else place, context)


def _place(table: Table, context: Context) -> str:
    """The frame that names the table."""
    inner = context.inner(table.section)
    return context.frame(
        table=table.label or (f"the table in the {quoted(inner)} section" if inner else "the table")
    )


def _by_row(table: Table, place: str, context: Context) -> Iterator[Candidate]:
    first = table.header.cells[0]
    numeric = any(PLAIN_NUMBER.match(label) for label in table.column(0))
    if numeric and first.lower() not in HEAD_NOUNS and not property_name(first, context):
        return  # numbers name a row only if they are of a named kind, such as years
    for column, head in list(enumerate(table.header.cells))[1:]:
        name, values = property_name(head, context), table.column(column)
        if head.lower() in ("default", "default value", "defaults"):
            asked = "what is the default value of"
        elif name:
            asked = f"what is the {name} {'for' if ' in ' in name or PREPOSITION.search(name) else 'of'}"
        else:
            continue
        for row in table.rows:
            cell = row.cells[column]
            if values.count(cell) == 1 and _askable(row, cell):
                words = f"{asked} {row_words(first, row.cells[0], context)}?"
                quality = 0.8 - 0.03 * len(cell.split())
                yield Candidate(words, cell, (row.quote,), "cell", type_of(cell), quality, place)


def _askable(row: Row, cell: str) -> bool:
    """Whether the row has a name, and is data: a row of equal cells is a second header."""
    label, *values = row.cells
    return (
        cell.lower() not in _EMPTY
        and not (cell.startswith("(") and cell.endswith(")"))
        and not label.endswith("-")  # the row is cut
        and "](" not in cell  # the rest of a badge with a link
        and 0 < len(label.split()) <= 7
        and label.lower() not in ("total", "note", "notes")
        and len(cell.split()) <= 16
        and len(cell) < 140
        and (len(values) < 2 or len(set(values)) > 1 or bool(PLAIN_NUMBER.match(cell)))
    )


_BOLD_KEY = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\*\*|__)`?([^*_`]{2,48}?)`?\s*(:?)(?:\*\*|__)\s*(:?)\s+(\S.*)$")
_OF_FORMS = word_set("phone date name address type status number title place day")  # labels of letterheads
_PLAIN_KEY = re.compile(
    r"^([A-Z][\w ,/'\u2019()-]{1,44}?):\s+([\d$€£].*)$"
)  # other values are often headings or text


def _keyed(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """Questions for the values of labels, such as "Supply voltage: 5 V". The label must occur once."""
    entries = [(block, *_entry(block)) for block in blocks]
    times = Counter(key for _, key, _ in entries)
    for block, key, value in entries:
        if not key or times[key] > 1 or not 1 <= len(value.split()) <= 8 or len(key.split()) > 5:
            continue
        name, plural = property_name(key, context), key.endswith("s") and not key.endswith(("ss", "us", "is"))
        if name and not plural and key.lower() not in _OF_FORMS:
            quotes, frame = (block.passage.quote(),), context.frame(block.section)
            yield Candidate(f"what is the {name}?", value, quotes, "key", type_of(value), 0.65, frame)


def _entry(block: Block) -> tuple[str, str]:
    """The label and the value of a labelled line; empty for any other line."""
    if block.kind not in (Kind.TEXT, Kind.ITEM):
        return "", ""
    bold = _BOLD_KEY.match(block.lines[0].text) if len(block.lines) == 1 else None
    if bold and not bold.group(1).rstrip().endswith("."):
        return bold.group(1).strip(), plain(bold.group(4))[0].strip(" .")
    text = block.passage.text
    found = _PLAIN_KEY.match(text) if len(text) < 160 else None
    return (found.group(1).strip(), found.group(2).strip(" .")) if found else ("", "")
