"""Support of a short answer (a value, a name, a cell of a table) by the words of its question beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from qagen_dagster.english.facts import facts
from qagen_dagster.english.words import content_stems, tokens
from qagen_dagster.grounding.source import Source, Window

EACH = 4  # candidate windows of each size
NEIGHBOURS = 2  # sentences in a window
ASKED = 0.7  # share of the question's words that they must have
SHORT = 12  # words of a short answer
MORE = 0.5  # share of their words that may be neither in the question nor in the answer
_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:year|date|day|month|decade|century))\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|long|old|far|often|large|big|tall|high|deep|wide|heavy|fast)\b"
    r"|\bwhat (?:percent|percentage|proportion|number|share)\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_SOURCE_NAMED = re.compile(
    r"^\W*(?:according to|in|from|based on)\b(?:\"[^\"]*\"|[^\",?]){1,300},\s+(?=\w)", re.IGNORECASE
)


def near(stems: Iterable[str], source: Source) -> list[Window]:
    """The windows that have most of the words."""
    return [one for one in source.candidates(stems, EACH) if one.size <= NEIGHBOURS]


def supporting(answer: str, question: str, source: Source) -> Window | None:
    """The sentences, or the row of a table, that show a short answer to the question; None if none does."""
    said = tokens(answer)
    if not said or len(said) > SHORT or not question.strip():
        return None
    asked = _asked(question)
    if not asked or set(content_stems(answer)) <= asked:
        return None
    row = _row(said, asked, source)
    return row if row is not None or not _fits(answer, question) else _sentences(answer, asked, source)


def _fits(answer: str, question: str) -> bool:
    """Whether the answer is of the kind that the question asks for: a date, an amount, a name."""
    mine = facts(answer)
    if _WHEN.search(question) or _HOW_MANY.search(question):
        return bool(mine.dates or mine.amounts)
    return not (_WHO.search(question) and (mine.dates or mine.amounts))


def answers(window: Window, question: str, source: Source) -> bool:
    """Whether the window has most words of the question."""
    return _share(_asked(question), source.window_stems(window)) >= ASKED


def _asked(question: str) -> frozenset[str]:
    """Content words of the question, without an opening that only names the source."""
    return frozenset(content_stems(_SOURCE_NAMED.sub("", question, count=1)) or content_stems(question))


def _sentences(answer: str, asked: frozenset[str], source: Source) -> Window | None:
    """The sentences with the answer in them, if no others have more of the question's words and no rival value is in them."""
    mine = frozenset(content_stems(answer))
    rest = asked - mine
    windows = near([*mine, *asked], source)
    shares = {one: _share(rest, source.window_stems(one)) for one in windows}
    for window in sorted(windows, key=lambda one: (one.size, -shares[one])):
        text, words = source.window_text(window), frozenset(source.window_stems(window))
        best = max(shares[one] for one in windows if one.size == window.size)
        told = len(words - asked - mine) <= MORE * len(words) and shares[window] >= max(ASKED, best)
        if (
            told
            and not in_table(window, source)
            and contains(text, answer)
            and not _ambiguous(answer, asked, text)
        ):
            return window
    return None


def in_table(window: Window, source: Source) -> bool:
    """Whether the window has rows of a table. An answer to a question is read from them by columns."""
    return "|" in source.evidence(window).quote


def _share(words: frozenset[str], there: Sequence[str]) -> float:
    return len(words.intersection(there)) / len(words) if words else 0.0


def contains(text: str, answer: str) -> bool:
    """Whether the text has the answer word for word."""
    return f" {' '.join(tokens(answer))} " in f" {' '.join(tokens(text))} "


def _ambiguous(answer: str, asked: frozenset[str], text: str) -> bool:
    """Whether the text has another value or name of the answer's kind that the question does not name."""
    mine, there = facts(answer), facts(text)
    if mine.dates and not mine.amounts:
        return any(
            not any(one.agrees(own) for own in mine.dates) and not set(content_stems(one.text)) <= asked
            for one in there.dates
        )
    if mine.amounts and not mine.names:
        return any(
            not any(one.same(own) for own in mine.amounts) and not set(content_stems(one.text)) <= asked
            for one in there.amounts
        )
    said = set(content_stems(answer))
    return bool(mine.names) and any(name not in said and name not in asked for name, _ in there.names)


def _row(said: tuple[str, ...], asked: frozenset[str], source: Source) -> Window | None:
    """The row of a table that has the answer in a cell, if the question names the row and no other column."""
    for row in source.rows:
        label = frozenset(content_stems(row.cells[0]))
        if not label or not label <= asked:
            continue
        heads = [frozenset(content_stems(head)) for head in row.heads[1:]]
        fits = [(_share(head, tuple(asked)), len(head & asked)) for head in heads]
        best = max(fits)
        if best[1] and fits.count(best) == 1 and tokens(row.cells[fits.index(best) + 1]) == said:
            numbers = source.sentences_on(row.line, row.line)
            return Window(numbers.start, max(1, len(numbers)))
    return None
