"""The generator's pipeline over one run of lines: blocks, facts, questions, filters, order.

Pure: the same lines and context give the same candidates. A bounded cache keeps the last results, because
every attempt reads the document anew.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from qagen_dagster.models.embedded.acronyms import acronyms
from qagen_dagster.models.embedded.blocks import Block, Kind, segment
from qagen_dagster.models.embedded.candidate import Candidate
from qagen_dagster.models.embedded.cells import cell_questions
from qagen_dagster.models.embedded.clauses import read_clause
from qagen_dagster.models.embedded.context import Context, plain_words, word_counts
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.entries import keyed, lead_ins, steps
from qagen_dagster.models.embedded.filters import refusal, without_rivals
from qagen_dagster.models.embedded.language import parse
from qagen_dagster.models.embedded.prose import questions
from qagen_dagster.models.embedded.sentences import is_prose, split
from qagen_dagster.models.embedded.tables import tables

CACHED_WINDOWS = 256

_lock = threading.Lock()
_known: OrderedDict[str, tuple[Candidate, ...]] = OrderedDict()


def candidates(lines: Sequence[Line], context: Context) -> tuple[Candidate, ...]:
    """Candidates of consecutive lines, best and most varied first."""
    text = "\n".join([context.title, context.thing, *(f"{line.number}|{line.text}" for line in lines)])
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    found = _extract(lines, context)
    with _lock:
        _known[key] = found
        while len(_known) > CACHED_WINDOWS:
            _known.popitem(last=False)
    return found


def _extract(lines: Sequence[Line], context: Context) -> tuple[Candidate, ...]:
    blocks = [block for block in segment(lines, context.headings) if not _is_back_matter(block)]
    context = replace(context, words=Counter(context.words) + word_counts(blocks), plain=plain_words(lines))
    found = [framed(candidate, context) for candidate in proposals(blocks, context)]
    good = [candidate for candidate in found if candidate is not None and refusal(candidate, context) is None]
    return tuple(interleave(one_per_sentence(without_rivals(good))))


def _is_back_matter(block: Block) -> bool:
    names = {name.lower().strip(" .:") for name in block.section}
    return bool(names & _BACK_MATTER)


_BACK_MATTER = frozenset(
    {
        "references", "bibliography", "works cited", "literature", "literature cited", "acknowledgements", "acknowledgments",
        "license", "licence", "legal", "copyright", "table of contents", "contents", "index", "see also", "further reading",
        "funding", "author contributions", "competing interests", "conflict of interest", "additional information",
    }
)  # fmt: skip


def proposals(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """What every family has to ask."""
    yield from keyed(blocks, context)
    yield from lead_ins(blocks, context)
    yield from steps(blocks, context)
    yield from cell_questions(tables(blocks), context)
    yield from acronyms(blocks, context)
    yield from prose(blocks)


def prose(blocks: Sequence[Block]) -> Iterator[Candidate]:
    """Questions from sentences."""
    found = [
        (sentence, block)
        for block in blocks
        if block.kind in (Kind.TEXT, Kind.ITEM)
        for sentence in split(block.passage)
        if is_prose(sentence)
    ]
    docs = parse([sentence.text.rstrip(";") for sentence, _ in found])
    for (sentence, block), doc in zip(found, docs, strict=True):
        clause = read_clause(doc)
        if clause is None:
            continue
        for question, answer, family, kind, quality in questions(clause):
            if answer in sentence.passage.text:
                yield Candidate(
                    question, answer, (sentence.passage.quote(),), family, kind, quality, block.section
                )


def framed(candidate: Candidate, context: Context) -> Candidate | None:
    """The candidate with the document named, or None if it needs that and the document has no name."""
    if candidate.anchored:
        return candidate
    frame = context.frame()
    if not frame:
        return None
    question = candidate.question
    return replace(candidate, question=f"{frame}{question[:1].lower()}{question[1:]}", anchored=True)


def one_per_sentence(found: Sequence[Candidate]) -> list[Candidate]:
    """The best question of each sentence: two of them would give each other's answers away."""
    best: dict[tuple[int, str], Candidate] = {}
    others: list[Candidate] = []
    for candidate in found:
        if candidate.family in _STRUCTURED:
            others.append(candidate)
            continue
        key = (candidate.line, candidate.quotes[0].text)
        if key not in best or candidate.quality > best[key].quality:
            best[key] = candidate
    return [*others, *best.values()]


_STRUCTURED = frozenset({"key", "entry", "step", "cell", "extreme", "acronym", "meaning"})


def interleave(found: Sequence[Candidate]) -> list[Candidate]:
    """Round robin over the families, best first within each, so that any first few are varied."""
    families: dict[str, list[Candidate]] = {}
    for candidate in sorted(found, key=lambda item: (-item.quality, item.line, item.question)):
        families.setdefault(candidate.family, []).append(candidate)
    queues = sorted(families.values(), key=lambda queue: -queue[0].quality)
    return [candidate for turn in zip_longest(*queues) for candidate in turn if candidate is not None]
