"""Decides claims by code: supported or unsupported if words, values and names prove it, else undecided.

A short answer (a value, a name, a cell of a table) is supported if the words of its question are near it. Nothing here is
fitted to data. Each rule has a name, so that the benchmark can measure it separately.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from qagen_dagster.english.facts import (
    Facts,
    Kind,
    differences,
    facts,
    missing_amounts,
    missing_dates,
    missing_names,
)
from qagen_dagster.english.polarity import by_form, leaves_open
from qagen_dagster.english.words import content_stems, listed, named_words, stem, tokens
from qagen_dagster.grounding.source import Source, Window, is_statement
from qagen_dagster.records.grading import SentenceGrade

EACH = 4  # maximum candidate windows of each size
NEIGHBOURS = 2  # maximum sentences in a window
ASKED = 0.7  # minimum share of the question's words that the evidence must have
SHORT = 12  # maximum words of a short answer
MORE = 0.5  # maximum share of the evidence's words that are neither in the question nor in the answer
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
    """The windows of up to NEIGHBOURS sentences that share the most words with `stems`."""
    return [one for one in source.candidates(stems, EACH) if one.size <= NEIGHBOURS]


def supporting(answer: str, question: str, source: Source) -> Window | None:
    """The sentences or the table row that state a short answer to the question; None if there are none, or if the answer is not short."""
    words = tokens(answer)
    if not words or len(words) > SHORT or not question.strip():
        return None
    asked = _asked(question)
    if not asked or set(content_stems(answer)) <= asked:
        return None
    row = _row(words, asked, source)
    return row if row is not None or not _fits(answer, question) else _sentences(answer, asked, source)


def _fits(answer: str, question: str) -> bool:
    """Whether the answer is of the kind that the question asks for: a date, an amount, a name."""
    mine = facts(answer)
    if _WHEN.search(question) or _HOW_MANY.search(question):
        return bool(mine.dates or mine.amounts)
    return not (_WHO.search(question) and (mine.dates or mine.amounts))


def answers(window: Window, question: str, source: Source) -> bool:
    """Whether the window has at least the share ASKED of the question's content words."""
    return _share_of(_asked(question), source.window_stems(window)) >= ASKED


def _asked(question: str) -> frozenset[str]:
    """Content words of the question, without an opening that only names the source."""
    return frozenset(content_stems(_SOURCE_NAMED.sub("", question, count=1)) or content_stems(question))


def _sentences(answer: str, asked: frozenset[str], source: Source) -> Window | None:
    """The window that contains the answer and no rival value, if no other window of its size has more of the question's words."""
    mine = frozenset(content_stems(answer))
    rest = asked - mine
    windows = near([*mine, *asked], source)
    shares = {one: _share_of(rest, source.window_stems(one)) for one in windows}
    for window in sorted(windows, key=lambda one: (one.size, -shares[one])):
        text, words = source.window_text(window), frozenset(source.window_stems(window))
        best = max(shares[one] for one in windows if one.size == window.size)
        fits = len(words - asked - mine) <= MORE * len(words) and shares[window] >= max(ASKED, best)
        if (
            fits
            and not in_table(window, source)
            and contains(text, answer)
            and not _ambiguous(answer, asked, text)
        ):
            return window
    return None


def in_table(window: Window, source: Source) -> bool:
    """Whether the window has rows of a table. Such rows give an answer by their columns, not by their words."""
    return "|" in source.evidence(window).quote


def _share_of(words: frozenset[str], there: Sequence[str]) -> float:
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
    words = set(content_stems(answer))
    return bool(mine.names) and any(name not in words and name not in asked for name, _ in there.names)


def _row(words: tuple[str, ...], asked: frozenset[str], source: Source) -> Window | None:
    """The row of a table that has the answer in a cell, if the question names the row, and names this cell's column best of all columns."""
    for row in source.rows:
        label = frozenset(content_stems(row.cells[0]))
        if not label or not label <= asked:
            continue
        heads = [frozenset(content_stems(head)) for head in row.heads[1:]]
        fits = [(_share_of(head, tuple(asked)), len(head & asked)) for head in heads]
        best = max(fits)
        if best[1] and fits.count(best) == 1 and tokens(row.cells[fits.index(best) + 1]) == words:
            numbers = source.sentences_on(row.line, row.line)
            return Window(numbers.start, max(1, len(numbers)))
    return None


VERSION = "10"  # increase when the same claim may get a different verdict or score
KEPT = 3  # windows whose sentences are compared with the claim
LEAST = 3  # minimum content words of a claim that a longer sentence can support; a shorter claim must be the whole sentence
LOOSE = 2  # maximum length of the part of a sentence that has a claim's words, as a multiple of the claim's length
ALIKE = 0.7  # minimum share of words in the same order for a sentence to count as the claim with some words changed
NAMES = 2  # number of absent names that refute a claim; in a short answer, one absent name is enough
BRIEF = 8  # maximum content words of an answer that a single absent name refutes
HALF = 0.5  # minimum share of the claim's words that a window must have so that an opposite in it refutes the claim
BESIDE, AROUND = (
    2,
    5,
)  # words on each side of a word of the claim, and of its opposite; one of them must be the same
ABSENT = 1 / 3  # reduction of a claim's closeness for each absent name or value
LONG = 400  # sentences; in a longer document, absent names and values are not searched
NOTHING_ALIKE = "nothing in the document is like it"
TOO_FEW = "the document has these words, and they are too few to decide"
NOT_TOGETHER = "its words are in the document, but no sentence says it in these words"
LACKS = "the document does not have "
_WORD = re.compile(r"\w+")
BAND = 1 / 3  # width of each of three bands of scores: unsupported, then undecided, then supported
_DENIED = re.compile(  # a value or a name that the claim itself denies
    r"\b(?i:not|rather than|instead of) (?:(?:in|on|at|by|from|of|to|the|an?) ){0,2}"
    r"(?:[$€£]?[^\W_a-z]\w*(?:[.,]\w+)*(?:, (?=\d{4}\b)| )?)+"
)
_BOUNDS = frozenset(named_words("bounds"))
_HEDGES = frozenset(listed("may might could would should if unless except only until"))


class Rule(StrEnum):
    NO_CLAIM = "no claim"
    COPY = "copy"
    PARTS = "supported parts"
    SAME_WORDS = "same words"
    ANSWERING_WORDS = "same words as asked"
    SHORT_ANSWER = "short answer"
    COMPUTED = "computed"
    CHANGED_NUMBER = "changed number"
    CHANGED_DATE = "changed date"
    CHANGED_NAME = "changed name"
    CHANGED_NEGATION = "changed negation"
    CHANGED_DIRECTION = "changed direction"
    OPPOSITE = "opposite"
    ABSENT_VALUE = "absent value"
    ABSENT_NAME = "absent name"


@dataclass(frozen=True)
class Decision:
    """The verdict on a claim. `score` (0-1) orders claims: unsupported first, then undecided, then supported."""

    supported: bool | None  # None: undecided
    score: float
    rule: Rule | None = None
    window: Window | None = None  # the part of the document that decides the claim, or else the closest part
    reason: str = ""


@dataclass(frozen=True)
class _Claim:
    text: str
    question: str

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return content_stems(self.text)

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The content words that the question does not have."""
        asked = {*content_stems(self.question)}
        return tuple(word for word in dict.fromkeys(self.stems) if word not in asked)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tokens(self.text)

    @cached_property
    def facts(self) -> Facts:
        """The facts of the claim without the values and names that it denies, such as 2021 in "2014, not 2021"."""
        kept, whole = facts(_DENIED.sub(" ", self.text)), facts(self.text)
        return replace(whole, amounts=kept.amounts, dates=kept.dates, names=kept.names, apart=kept.apart)

    def stated(self, source: Source) -> Facts:
        """The facts without the numbers that were computed from the document."""
        amounts = tuple(one for one in self.facts.amounts if not source.has_computed(one))
        return replace(self.facts, amounts=amounts)


def decide(text: str, source: Source, question: str = "") -> Decision:
    """The verdict on one claim, which may be a short answer to `question`."""
    claim = _Claim(text, question)
    windows = near([*claim.stems, *content_stems(question)], source)
    ranked = sorted(windows, key=lambda one: -_closeness(claim, one, source))
    nearest = ranked[0] if ranked else None
    close = _closeness(claim, ranked[0], source) if ranked else 0.0
    close = max(0.0, close - ABSENT * _absent(claim, source))
    for rule, window in _supports(claim, ranked, source):
        return Decision(True, (2 + close) * BAND, rule, window)
    for rule, window, reason in _refutes(claim, ranked, source):
        return Decision(False, close * BAND, rule, window or nearest, reason)
    has_text = nearest is not None and contains(source.window_text(nearest), claim.text)
    return Decision(None, (1 + close) * BAND, None, nearest, TOO_FEW if has_text else _lacking(claim, source))


def _closeness(claim: _Claim, window: Window, source: Source) -> float:
    """How completely the window has the claim (0-1). It is the mean of three shares: of the claim's words that the
    question lacks, of all its words in order, and of its whole text (0 or 1)."""
    stems = source.window_stems(window)
    own = _share(sum(word in stems for word in claim.own), len(claim.own))
    order = _share(_common(claim.stems, stems), len(claim.stems))
    return (own + order + contains(source.window_text(window), claim.text)) / 3


def _supports(claim: _Claim, ranked: Sequence[Window], source: Source) -> Iterator[tuple[Rule, Window]]:
    if ranked and _is_computed(claim, source):
        yield Rule.COMPUTED, ranked[0]
    if claim.question and len(claim.words) <= SHORT:
        found = supporting(claim.text, claim.question, source)
        if found is not None:
            yield Rule.SHORT_ANSWER, found
        if len(claim.own) == len({*claim.stems}):  # a claim without words of the question is no statement
            return
    for window in ranked:
        if window.size == 1 and _may_say(claim, window, source) and _same_words(claim, window, source):
            if not claim.question:
                yield Rule.SAME_WORDS, window
            elif answers(window, claim.question, source) and not in_table(window, source):
                yield Rule.ANSWERING_WORDS, window


def _may_say(claim: _Claim, window: Window, source: Source) -> bool:
    """Whether a claim has enough words to be supported by them. A short claim must be a whole sentence of two content words or more."""
    if len(claim.stems) >= LEAST:
        return True
    alone = claim.stems == tuple(source.window_stems(window))
    return len(claim.stems) > 1 and alone and is_statement(source.window_text(window))


def _is_computed(claim: _Claim, source: Source) -> bool:
    """Whether all own words of an answer are numbers that code has computed, or words of their computation."""
    numbers = claim.facts.amounts
    if not numbers or not all(map(source.has_computed, numbers)):
        return False
    written = [word for one in numbers for word in content_stems(one.text)]
    digits = [word for word in written if any(map(str.isdigit, word))] or written
    return {*claim.own} <= {*digits, *content_stems(source.computed)}


def _same_words(claim: _Claim, window: Window, source: Source) -> bool:
    """Whether the window has all content words of the claim in order and close together, and no words that limit or change them."""
    span = _span(claim.stems, source.window_stems(window))
    if span is None or span > LOOSE * len(claim.stems):
        return False
    text = source.window_text(window)
    mine, theirs = Counter(claim.words), Counter(tokens(text))
    return not (
        any(mine[word] > theirs[word] for word in _BOUNDS)
        or any(theirs[word] > mine[word] for word in _HEDGES)
        or leaves_open(text)
        or differences(claim.facts, facts(text))
    )


def _span(words: Sequence[str], stems: Sequence[str]) -> int | None:
    """The length of the shortest part of `stems` that has all of `words` in order; None if there is no such part."""
    found: list[int] = []
    for start in (place for place, word in enumerate(stems) if word == words[0]):
        place = start
        for word in words[1:]:
            place = next((at for at in range(place + 1, len(stems)) if stems[at] == word), -1)
            if place < 0:
                break
        else:
            found.append(place - start + 1)
    return min(found, default=None)


def _refutes(
    claim: _Claim, ranked: Sequence[Window], source: Source
) -> Iterator[tuple[Rule, Window | None, str]]:
    yield from _changed(claim, ranked[:KEPT], source)
    for said, there in _opposites(claim, ranked[:KEPT], source):
        yield Rule.OPPOSITE, None, f'says "{said}" where the document says "{there}"'
    if len(source.sentences) <= LONG:
        for value in _absent_values(claim, source):
            yield Rule.ABSENT_VALUE, None, f'the document has "{value}" nowhere'
        names = _absent_names(claim, source)
        if len(names) >= (1 if claim.question and len(claim.stems) <= BRIEF else NAMES):
            yield Rule.ABSENT_NAME, None, f"the document has {', '.join(names[:5])} nowhere"


def _opposites(claim: _Claim, windows: Sequence[Window], source: Source) -> Iterator[tuple[str, str]]:
    """Words of the claim, each with an opposite by form ("efficient", "inefficient") that the windows have beside the same words.

    The claim has at least HALF of its words in the first window. No window has the word, and the claim does not have the opposite.
    """
    texts = [tokens(source.window_text(one)) for one in windows]
    words = {stem(word) for text in texts for word in text}
    first = {*source.window_stems(windows[0])} if windows else set[str]()
    if _share(sum(word in first for word in claim.stems), len(claim.stems)) < HALF:
        return
    for said in claim.words:
        if (root := stem(said)) in claim.own and root not in words:
            place = claim.stems.index(root)
            near_it = {*claim.stems[max(0, place - BESIDE) : place + BESIDE + 1]}
            others = by_form(root) - {*claim.stems}
            yield from (
                (said, word)
                for text in texts
                for at, word in enumerate(text)
                if stem(word) in others
                and near_it & {*map(stem, text[max(0, at - AROUND) : at + AROUND + 1])}
            )


def _changed(
    claim: _Claim, windows: Sequence[Window], source: Source
) -> Iterator[tuple[Rule, Window | None, str]]:
    """The differences of the claim from the sentence most like it, if their likeness is at least ALIKE: rule, window and reason of each."""
    mine = [stem(word) for word in claim.words]
    alike: dict[Window, float] = {}
    for number in {one.first + more for one in windows for more in range(one.size)}:
        there = [stem(word) for word in tokens(source.sentences[number].text)]
        alike[Window(number, 1)] = _share(_common(mine, there), max(len(mine), len(there)))
    window = max(alike, key=alike.__getitem__, default=None)
    if window is None or alike[window] < ALIKE:
        return
    text = source.window_text(window)
    for one in differences(claim.stated(source), facts(text)):
        if one.kind is not Kind.NEGATION or not leaves_open(text):
            line = f"line {source.evidence(window).start_line}"
            yield Rule(f"changed {one.kind.value}"), window, one.line(line)


def _absent_values(claim: _Claim, source: Source) -> Iterator[str]:
    """The numbers and dates with digits that the document does not have in any form. Limits ("more than 5") are ignored."""
    stated = claim.stated(source)
    amounts = (one for one in missing_amounts(stated, source.facts) if one.bound is None)
    for one in (*amounts, *missing_dates(stated, source.facts)):
        digits = [word for word in tokens(one.text) if word[0].isdigit()]
        if digits and not all(map(source.has, digits)):
            yield one.text


def _absent_names(claim: _Claim, source: Source) -> list[str]:
    """The names that the document lacks. Codes and abbreviations do not count, because the claim may have introduced them."""
    missing = missing_names(claim.facts, source.facts)
    return [one for one in missing if one[:1].isupper() and one[1:].islower()]


def _absent(claim: _Claim, source: Source) -> int:
    """The number of names, numbers and dates that the document lacks, at most 3; 0 for a document of more than LONG sentences."""
    if len(source.sentences) > LONG:
        return 0
    return min(3, len(_absent_names(claim, source)) + len(list(_absent_values(claim, source))))


def _lacking(claim: _Claim, source: Source) -> str:
    """The reason why the claim is undecided, such as the words that the document lacks."""
    missing = {word for word in claim.own if not source.has(word)}
    shown = [word for word in claim.words if stem(word) in missing]
    if shown:
        return f"{LACKS}{', '.join(dict.fromkeys(shown[:5]))}"
    return NOT_TOGETHER if claim.own else NOTHING_ALIKE


def lacks_one_word(sentence: SentenceGrade) -> bool:
    """Whether the document lacks exactly one word of an undecided sentence, and this word is neither a name nor a number."""
    word = sentence.reason.removeprefix(LACKS)
    plain = word.isalpha() and word.capitalize() not in _WORD.findall(sentence.sentence)
    return plain and f"{LACKS}{word}" == sentence.reason


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    before = [0] * (len(right) + 1)
    for word in left:
        now = [0]
        for place, other in enumerate(right):
            now.append(before[place] + 1 if word == other else max(before[place + 1], now[-1]))
        before = now
    return before[-1]
