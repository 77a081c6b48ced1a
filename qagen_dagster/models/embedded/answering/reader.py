"""The model "reader". As validator it answers from the document and compares answers; as answerer it answers from excerpts.

It takes an answer from the form of a row, a labelled line or a spelled-out abbreviation, and from running text by the best span
(`choose.py`). It uses only words, numbers and embeddings. It shares no rule with the generator, so that the two do not make
the same mistakes. It reliably detects a wrong answer from another part of the document, and less reliably another name from
the same sentence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.answering.choose import Weights, choose
from qagen_dagster.models.embedded.answering.question import terms
from qagen_dagster.models.embedded.answering.retrieval import (
    Hit,
    Index,
    Query,
    Unit,
    make_index,
    parse_query,
    rank,
    units,
)
from qagen_dagster.models.embedded.conversation import (
    Action,
    Conversation,
    Line,
    card,
    document_rows,
    line_total,
    rows,
    section,
)

ABBREVIATION = re.compile(r"(\S{2,12}) stand for\?$")
_STOP = word_set("the a an of in on at to for from by with and or is are was were be its their that which")


def by_form(asked: Query, unit: Unit) -> str:
    """The answer in a row, a labelled line or a spelled-out abbreviation; empty if the form gives none."""
    if unit.cells:
        return _cell(asked, unit)
    if unit.label:
        return unit.body.strip() if _label_asked(asked, unit) else ""
    return _expansion(asked, unit.text)


def _label_asked(asked: Query, unit: Unit) -> bool:
    """Whether the question asks for this label: it has the words of the label, and few others."""
    label = set(terms(unit.label))
    return bool(label) and label <= asked.terms and len(label) >= 0.3 * len(asked.terms)


def _cell(asked: Query, unit: Unit) -> str:
    """The cell under the header asked for, in a row that the question names."""
    rows = [
        index
        for index, cell in enumerate(unit.cells)
        if cell and set(terms(cell)) and set(terms(cell)) <= asked.terms
    ]
    named = bool(rows) or unit.table < 0
    scores = [
        (len(set(terms(head)) & asked.terms) / max(1, len(set(terms(head)))), index)
        for index, head in enumerate(unit.header)
        if index not in rows and unit.cells[index]
    ]
    if not scores or (not named and len(unit.header) < 5):
        return ""
    best, column = max(scores, key=lambda item: (item[0], -item[1]))
    return unit.cells[column] if best >= 0.5 else ""


def _expansion(asked: Query, text: str) -> str:
    """The words before an abbreviation in brackets: one for each letter of the abbreviation, and words such as "of" between them."""
    short = ABBREVIATION.search(asked.text)
    at = text.find(f"({short.group(1)})") if short else -1
    if short is None or at < 0:
        return ""
    before = text[:at].split()
    letters = sum(char.isalpha() for char in short.group(1).rstrip("s"))
    count, start = 0, len(before)
    while start > 0 and count < letters:
        start -= 1
        count += before[start].lower() not in _STOP
    found = " ".join(before[start:])
    return found if found[:1].lower() == short.group(1)[:1].lower() else ""


WEAK = 0.35  # minimum retrieval score of a row or labelled line that answers
SURE = 0.5  # minimum confidence of an answer that no other model checks
UNLIKELY = 0.18  # minimum chance of a span of running text that answers; measured, see docs/answering.md
_EXCERPT = re.compile(
    r"^Excerpt (\d+)\n<document_excerpt>\n(.*?)\n</document_excerpt>", re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^title: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class _Found:
    """An answer, its piece, its confidence (0 to 1) and the way in which it was found."""

    text: str
    unit: Unit
    confidence: float
    answerable: bool
    note: str


def answer_from_excerpts(prompt: str, fitted: Weights | None = None) -> Action:
    """The best answer in the excerpts of `prompt`, or "not answerable" if it is weak or missing. `fitted`:
    weights that replace the shipped ones."""
    shown = excerpts(prompt)
    title = _TITLE.search(prompt)
    return _submit(_best(section(prompt, "Question"), shown, title.group(1) if title else "", fitted), shown)


def answer_with_quote(prompt: str, fitted: Weights | None = None) -> Action:
    """The answer in the lines of `prompt` with its passage; no answer if its confidence is below SURE, because no other model checks it."""
    found = _best(section(prompt, "Question (factual)"), [(1, rows(prompt))], card(prompt).title, fitted)
    answer, evidence = "Insufficient information in the document.", list[dict[str, object]]()
    if found is not None and found.answerable and found.confidence >= SURE:
        answer, quote = found.text, found.unit.quote
        evidence.append({"quote": quote.text, "start_line": quote.start_line})
    return Action("submit_grounded_answers", {"answer": answer, "evidence": evidence})


def _best(
    question: str, shown: Sequence[tuple[int, list[Line]]], title: str, fitted: Weights | None
) -> _Found | None:
    asked, pieces = parse_query(question), pieces_of(shown)
    formed = _from_structure(asked, pieces, title)
    if formed is not None and formed[1]:
        return formed[0]
    spoken = _from_prose(asked, pieces, fitted)
    likely = [answer for answer in (spoken, formed[0] if formed else None) if answer is not None]
    return next((answer for answer in likely if answer.answerable), likely[0] if likely else None)


def excerpts(prompt: str) -> list[tuple[int, list[Line]]]:
    """Number and lines of each excerpt, in the order shown."""
    return [(int(number), rows(body)) for number, body in _EXCERPT.findall(prompt)]


def pieces_of(shown: Sequence[tuple[int, list[Line]]]) -> list[Unit]:
    """The pieces of all excerpts in document order, without duplicates. Excerpts may show different parts of
    one long line: each part is then split separately."""
    known: dict[int, Line] = {}
    parts: list[dict[int, Line]] = []
    for _, lines in sorted(shown, key=lambda excerpt: excerpt[0]):
        parts.append({})
        for line in lines:
            there = known.setdefault(line.number, line)
            if line.text not in there.text:
                parts[-1][line.number] = line
    once: dict[tuple[object, ...], Unit] = {}
    for unit in (unit for lines in (known, *parts) for unit in units(lines, {})):
        once.setdefault((unit.text, unit.label, unit.cells, unit.quote.start_line), unit)
    return sorted(once.values(), key=lambda unit: unit.quote.start_line)


def _from_structure(asked: Query, pieces: Sequence[Unit], title: str) -> tuple[_Found, bool] | None:
    """The best piece that answers by its form, and whether it ranks above all running text and is not weak."""
    ahead = True
    for hit in rank(asked, make_index(pieces, title)):
        text = by_form(asked, hit.unit)
        if text:
            return _by_form(hit, text), ahead and hit.score >= WEAK
        ahead = ahead and bool(hit.unit.cells or hit.unit.label or ABBREVIATION.search(asked.text))
    return None


def _by_form(hit: Hit, text: str) -> _Found:
    score = min(1.0, max(0.0, hit.score))
    note = (
        f"embedded:reader, {_lines(hit.unit)}, retrieval score {hit.score:.2f} (words {hit.share:.2f}, "
        f"cosine {hit.cosine:.2f})."
    )
    return _Found(text, hit.unit, score, hit.score >= WEAK, note)


def _from_prose(asked: Query, pieces: Sequence[Unit], fitted: Weights | None) -> _Found | None:
    """The best span of running text."""
    sentences = [unit for unit in pieces if not (unit.cells or unit.label)]
    best = choose(asked.text, [unit.text for unit in sentences], fitted)
    if best is None:
        return None
    unit = sentences[best.sentence]
    asks = _PROPERTY.match(asked.text)
    if asks and not set(terms(asks.group(1))) & set(terms(unit.text)):
        return _Found(
            best.text, unit, best.chance, False, f"embedded:reader, no passage names the {asks.group(1)}."
        )
    note = f"embedded:reader, {_lines(unit)}, a span for a question of type {best.wants}, right with a chance of {best.chance:.2f}."
    return _Found(best.text, unit, best.chance, best.chance >= UNLIKELY, note)


def _lines(unit: Unit) -> str:
    first, last = unit.quote.start_line, unit.quote.end_line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _submit(found: _Found | None, shown: Sequence[tuple[int, list[Line]]]) -> Action:
    """Submit the answer, and the number of the first excerpt that has its lines; an excerpt with the exact quote is preferred."""
    arguments: dict[str, object] = {
        "answer": "The excerpts hold no sentence, row or entry.",
        "answerable": False,
        "confidence": 0.0,
        "chunks": [],
        "note": "embedded:reader, nothing to search.",
    }
    if found is not None:
        quote = found.unit.quote
        wanted = set(range(quote.start_line, quote.end_line + 1))
        holding = [number for number, lines in shown if wanted <= {line.number for line in lines}]
        exact = [number for number, lines in shown if quote.text in "\n".join(line.text for line in lines)]
        chunks = ([number for number in holding if number in exact] or holding)[:1]
        arguments |= {"answer": found.text, "answerable": found.answerable, "note": found.note}
        arguments |= {"confidence": round(found.confidence, 4), "chunks": chunks}
    return Action("submit_document_answer", arguments)


_COMPARED = {
    Match.SAME: "same words and numbers",
    Match.CLOSE: "only some of their words or numbers are the same",
    Match.APART: "they have nothing in common",
    Match.CONFLICT: "their numbers, names, denials or directions contradict each other",
}
LEAST_BEGINNING = 3  # terms; a shorter beginning of the reader's answer may leave out what matters
READ_WHOLE_LINES = 2_400  # a longer document is searched, because reading takes too many calls
LINES_PER_READ = 400
MAX_READS = 14  # reads and searches of one question, below the runner's limit on tool calls
ANSWERABLE = 0.55  # minimum retrieval score of a place that answers
LIKELY = 0.25  # minimum chance of a span
CLOSE = 0.04  # maximum difference of the retrieval scores of two places that may both answer
DENIED = 0.5  # minimum share of a question's words in a passage that denies its number
CACHED_DOCUMENTS = 64
_NUMBER = re.compile(r"(?<![\d,.])\b\d{2,4}\b(?![,.]\d)")
_PROPERTY = re.compile(r"what (?:is|was|are|were) the ((?:[\w-]+ ){0,2}[\w-]+) of [A-Z]", re.IGNORECASE)

_BOILERPLATE = re.compile(
    r"\b(?:copyright|all rights reserved|isbn|issn|licen[cs]e|permission|library stamp|watermark|page number)\b",
    re.IGNORECASE,
)


def read(conversation: Conversation, *, fitted: Weights | None = None) -> list[Action]:
    """Reads on, answers blind, compares, or does another task, as the tools of the request require.
    `fitted` replaces the shipped weights."""
    if "submit_comparisons" in conversation.tools:
        return [compare(conversation.prompt)]
    if "submit_document_answer" in conversation.tools:
        return [answer_from_excerpts(conversation.prompt, fitted)]
    if "submit_grounded_answers" in conversation.tools:
        return [answer_with_quote(conversation.prompt, fitted)]
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
    """The reads or searches that are still needed. A short document is read whole, and a long document is searched."""
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
    if denied := _denied(asked, index):
        return _blind(
            None,
            "",
            True,
            f"the question takes {denied[0]} for granted, the passage says {denied[1]}",
            holds=False,
        )
    hits = _hits(asked, index, fitted)
    if (not hits or hits[0][0].score < ANSWERABLE) and (column := _open_column(asked, index)) is not None:
        hit, values = column
        return _blind(hit, values[0], False, f"no row is named, and the column has {', '.join(values[:3])}")
    if not hits or hits[0][0].score < ANSWERABLE:
        best = f"the best scores {hits[0][0].score:.2f}" if hits else "there is none"
        return _blind(None, "", True, f"no place answers it surely enough: {best}, {ANSWERABLE} is needed")
    best, text = hits[0]
    # Only a piece of the same form is a rival: a table row does not compete with a sentence.
    rivals = [
        rival
        for hit, rival in hits[1:]
        if best.score - hit.score < CLOSE
        and bool(best.unit.label) == bool(hit.unit.label)
        and bool(best.unit.cells) == bool(hit.unit.cells)
    ]
    other = next(
        (rival for rival in rivals if not (_compared(text, rival)[0] or _compared(rival, text)[0])), None
    )
    note = f"retrieval score {best.score:.2f} (words {best.share:.2f}, cosine {best.cosine:.2f})"
    if other is not None:
        note += f"; also possible: {other[:120]}"
    return _blind(best, text, other is None, note)


def _denied(asked: Query, index: Index) -> tuple[str, str] | None:
    """Returns (asked, stated): the question's only number, which the document lacks, and a number of equal length in the best passage."""
    numbers = set(_NUMBER.findall(asked.text))
    ranked = rank(asked, index)
    if len(numbers) != 1 or not ranked or any(numbers & {*_NUMBER.findall(one.text)} for one in index.pieces):
        return None
    (number,) = numbers
    others = [one for one in _NUMBER.findall(ranked[0].unit.text) if len(one) == len(number)]
    return (number, others[0]) if others and ranked[0].share >= DENIED else None


def _open_column(asked: Query, index: Index) -> tuple[Hit, list[str]] | None:
    """The best hit and the different values of the column that the question names; None if there are fewer than two values."""
    columns: dict[tuple[int, int], dict[str, Hit]] = {}
    for hit in rank(asked, index):
        for column, head in enumerate(hit.unit.header if hit.unit.table >= 0 else ()):
            wanted = set(terms(head))
            if wanted and wanted <= asked.terms and hit.unit.cells[column]:
                columns.setdefault((hit.unit.table, column), {}).setdefault(hit.unit.cells[column], hit)
    best: dict[str, Hit] = max(columns.values(), key=len) if columns else {}
    return (next(iter(best.values())), list(best)) if len(best) > 1 else None


def _hits(asked: Query, index: Index, fitted: Weights | None) -> list[tuple[Hit, str]]:
    """The best pieces with their answers: by their form, or else by the most likely span of their sentences."""
    ranked = rank(asked, index)
    found = [(hit, by_form(asked, hit.unit)) for hit in ranked]
    prose = [hit for hit in ranked if not (hit.unit.cells or hit.unit.label)]
    if not any(text for _, text in found) and prose:
        best = _span(asked, prose, fitted)
        near = [hit for hit in prose if hit.score > prose[0].score - CLOSE]
        found = [best, *(_span(asked, [hit], fitted) for hit in near if hit is not best[0])]
    return [(hit, text) for hit, text in found if text]


def _span(asked: Query, hits: Sequence[Hit], fitted: Weights | None) -> tuple[Hit, str]:
    """The most likely span of some sentences; empty text if no span is likely enough."""
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
        *asked.quoted[:2],
        *[word for word in words if set(terms(word)) <= asked.terms][:4],
    ]
    return [Action("search", {"pattern": pattern, "context_lines": 3}) for pattern in wanted]


@lru_cache(maxsize=CACHED_DOCUMENTS)
def indexed(lines: tuple[Line, ...], title: str, headings: tuple[tuple[int, str], ...]) -> Index:
    """The index of the lines read. It is cached for the next question about these lines."""
    return make_index(units({line.number: line for line in lines}, dict(headings)), title)


def _compared(own: str, proposed: str) -> tuple[bool, str]:
    """Returns (same, reason): whether two answers state the same fact, and why."""
    found, beginning = match(own, proposed), terms(proposed)
    if (
        found is Match.CLOSE
        and len(beginning) >= LEAST_BEGINNING
        and terms(own)[: len(beginning)] == beginning
    ):
        return True, "the proposed answer is how the document's passage begins"
    return found is Match.SAME, _COMPARED[found]


def _blind(best: Hit | None, text: str, unambiguous: bool, note: str, *, holds: bool = True) -> Action:
    evidence = (
        [] if best is None else [{"quote": best.unit.quote.text, "start_line": best.unit.quote.start_line}]
    )
    arguments = {
        "answerable": best is not None,
        "answer": text,
        "evidence": evidence,
        "unambiguous": unambiguous,
        "note": f"embedded:reader, {note}.",
        **({} if holds else {"premise_holds": False}),
    }
    return Action("submit_answers", arguments)


def mark(prompt: str) -> Action:
    """Submit whether the answer in the prompt states the reference answer."""
    right, why = _compared(section(prompt, "Given answer"), section(prompt, "Reference answer"))
    return Action("submit_mark", {"right": right, "explanation": f"embedded:reader: {why}."})


def compare(prompt: str) -> Action:
    """The verdict of the comparison, the second step of the validator."""
    question, proposed = section(prompt, "Question"), section(prompt, "Proposed answer")
    own, evidence = section(prompt, "Your own answer"), section(prompt, "Evidence")
    matches, why = _compared(own, proposed)
    relevant = not _BOILERPLATE.search(f"{question} {proposed}") and not _BOILERPLATE.search(evidence[:400])
    explanation = (
        f"embedded:reader compared numbers, negation and words of its own answer with the proposed one: {why}."
        " It cannot judge paraphrases, nor tell neighbouring names of one sentence apart with certainty."
    )
    arguments = {
        **dict.fromkeys(("supported", "premise_holds", "unambiguous", "self_contained"), True),
        "matches": matches,
        "relevant": relevant,
        "explanation": explanation,
    }
    return Action("submit_comparisons", arguments)
