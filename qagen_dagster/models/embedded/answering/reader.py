"""The validator "reader": it answers from the document by retrieval and typed spans, then compares.

It shares no rule with the generator: it uses only words, numbers and embeddings. It reliably detects wrong answers
from other parts of the document, and less reliably another name from the same sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from qagen_dagster.models.embedded.answering.choose import choose
from qagen_dagster.models.embedded.answering.excerpts import answer_from_excerpts
from qagen_dagster.models.embedded.answering.extraction import ABBREVIATION, DEFINED, by_form
from qagen_dagster.models.embedded.answering.retrieval import Hit, Index, Query, make_index, parse_query, rank
from qagen_dagster.models.embedded.answering.units import Unit, units
from qagen_dagster.models.embedded.answering.weights import Weights
from qagen_dagster.models.embedded.conversation import (
    Action,
    Conversation,
    Line,
    card,
    document_rows,
    line_total,
    section,
)
from qagen_dagster.models.embedded.text.values import same_answer, terms

READ_WHOLE_LINES = 2_400
LINES_PER_READ = 400
MAX_READS = 14
ANSWERABLE = 0.55
LIKELY = 0.25  # least chance of a span
CLOSE = 0.04
CACHED_DOCUMENTS = 64

_BOILERPLATE = re.compile(
    r"\b(?:copyright|all rights reserved|isbn|issn|licen[cs]e|permission|library stamp|watermark|page number)\b",
    re.IGNORECASE,
)


def read(conversation: Conversation, *, fitted: Weights | None = None) -> list[Action]:
    """Read on, answer blind, or compare, depending on the terminal tool offered. `fitted` replaces the shipped weights."""
    if "submit_comparison" in conversation.tools:
        return [compare(conversation.prompt)]
    if "submit_document_answer" in conversation.tools:
        return [answer_from_excerpts(conversation.prompt, fitted)]
    if "submit_closed_book_answer" in conversation.tools:  # the model knows only what it is shown
        return [Action("submit_closed_book_answer", {"answer": "unknown", "confidence": 0.0})]
    if "submit_mark" in conversation.tools:
        return [mark(conversation.prompt)]
    question = section(conversation.prompt, "Question")
    reads = [exchange for exchange in conversation.exchanges if exchange.name in ("read_lines", "search")]
    more = _more(question, conversation)
    if more and len(reads) + len(more) <= MAX_READS:
        return more
    known, about = document_rows(reads), card(conversation.prompt)
    lines = tuple(known[number] for number in sorted(known))
    title = about.title or (known[1].text if 1 in known else "")
    return [_answer(question, indexed(lines, title, tuple(about.headings.items())), fitted)]


def _more(question: str, conversation: Conversation) -> list[Action]:
    """Read a short document completely; search a long one for the question's rarest words."""
    reads = conversation.named("read_lines")
    if not reads:
        return [Action("read_lines", {"start_line": 1, "end_line": LINES_PER_READ})]
    total = line_total(reads) or 0
    known = document_rows(reads)
    if total > READ_WHOLE_LINES:
        return [] if conversation.named("search") else _searches(parse_query(question))
    start = next((number for number in range(1, total + 1) if number not in known), None)
    if start is None or reads[-1].is_error:
        return []
    return [Action("read_lines", {"start_line": start, "end_line": min(total, start + LINES_PER_READ - 1)})]


def _answer(question: str, index: Index, fitted: Weights | None) -> Action:
    """The blind answer, with its mechanism and score in the note."""
    asked = parse_query(question)
    hits = _hits(asked, index, fitted)
    if not hits or hits[0][0].score < ANSWERABLE:
        best = f"the best scores {hits[0][0].score:.2f}" if hits else "there is none"
        return _blind(None, "", True, f"no place answers it surely enough: {best}, {ANSWERABLE} is needed")
    best, text = hits[0]
    near = [(hit, rival) for hit, rival in hits[1:] if best.score - hit.score < CLOSE]
    other = next(
        (rival for hit, rival in near if _alike(best.unit, hit.unit) and not _agree(text, rival)), None
    )
    note = f"retrieval score {best.score:.2f} (words {best.share:.2f}, cosine {best.cosine:.2f})"
    if other is not None:
        note += f"; also possible: {other[:120]}"
    return _blind(best, text, other is None, note)


def _hits(asked: Query, index: Index, fitted: Weights | None) -> list[tuple[Hit, str]]:
    """The best pieces with their answers: by their form, or else by the likeliest span of their sentences."""
    ranked = rank(asked, index)
    found = [(hit, by_form(asked, hit.unit)) for hit in ranked]
    prose = [hit for hit in ranked if not (hit.unit.cells or hit.unit.label)]
    if not any(text for _, text in found) and prose:
        best = _span(asked, prose, fitted)
        near = [hit for hit in prose if hit.score > prose[0].score - CLOSE]
        found = [best, *(_span(asked, [hit], fitted) for hit in near if hit is not best[0])]
    return [(hit, text) for hit, text in found if text]


def _span(asked: Query, hits: Sequence[Hit], fitted: Weights | None) -> tuple[Hit, str]:
    """The likeliest span of some sentences; empty if it is not likely enough."""
    best = choose(asked.text, [hit.unit.text for hit in hits], fitted)
    if best is None or best.chance < LIKELY:
        return hits[0], ""
    return hits[best.sentence], best.text


def _searches(asked: Query) -> list[Action]:
    """Searches for quoted text and for the longest words, which tend to be the rarest."""
    words = sorted(
        set(re.findall(r"[A-Za-z][\w-]{3,}|\w*\d[\w.,-]*\w", asked.text)), key=lambda word: (-len(word), word)
    )
    wanted = [
        *(f"({name})" for name in ABBREVIATION.findall(asked.text)),
        *(name.strip() for name in DEFINED.findall(asked.text)),
        *asked.quoted[:2],
        *[word for word in words if set(terms(word)) <= asked.terms][:4],
    ]
    return [Action("search", {"pattern": pattern, "context_lines": 3}) for pattern in wanted]


def _alike(left: Unit, right: Unit) -> bool:
    """Whether two pieces have the same form; a table row does not compete with a sentence."""
    return bool(left.label) == bool(right.label) and bool(left.cells) == bool(right.cells)


@lru_cache(maxsize=CACHED_DOCUMENTS)
def indexed(lines: tuple[Line, ...], title: str, headings: tuple[tuple[int, str], ...]) -> Index:
    """The index of the lines read, which the next question about them needs again."""
    return make_index(units({line.number: line for line in lines}, dict(headings)), title)


def _agree(left: str, right: str) -> bool:
    return same_answer(left, right)[0] or same_answer(right, left)[0]


def _blind(best: Hit | None, text: str, unambiguous: bool, note: str) -> Action:
    evidence = (
        [] if best is None else [{"quote": best.unit.quote.text, "start_line": best.unit.quote.start_line}]
    )
    arguments = {
        "answerable": best is not None,
        "answer": text,
        "evidence": evidence,
        "unambiguous": unambiguous,
        "note": f"embedded:reader, {note}.",
    }
    return Action("submit_answer", arguments)


def mark(prompt: str) -> Action:
    """Whether a given answer states the reference answer."""
    right, why = same_answer(section(prompt, "Given answer"), section(prompt, "Reference answer"))
    return Action("submit_mark", {"right": right, "explanation": f"embedded:reader: {why}."})


def compare(prompt: str) -> Action:
    """The verdict of the second step."""
    question, proposed = section(prompt, "Question"), section(prompt, "Proposed answer")
    own, evidence = section(prompt, "Your own answer"), section(prompt, "Evidence")
    matches, why = same_answer(own, proposed)
    asked = set(terms(question))
    said = set(terms(proposed))
    trivial = bool(said) and said <= asked
    relevant = not _BOILERPLATE.search(f"{question} {proposed}") and not _BOILERPLATE.search(evidence[:400])
    explanation = (
        f"embedded:reader compared numbers, negation and words of its own answer with the proposed one: {why}."
        " It cannot judge paraphrases, nor tell neighbouring names of one sentence apart with certainty."
    )
    arguments = {
        **dict.fromkeys(("supported", "premise_holds", "unambiguous", "self_contained"), True),
        "matches": matches,
        "non_trivial": not trivial,
        "relevant": relevant,
        "explanation": explanation,
    }
    return Action("submit_comparison", arguments)
