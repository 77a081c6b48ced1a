"""The key facts of an answer, the forms in which each is accepted, and whether another answer states them.

A list has one fact for each item, in any order, unless the question asks for an order. A long answer has one fact for each sentence. Any
other answer is one fact. A fact with one number has a unit and a tolerance. Names have the aliases that the evidence gives.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.english.amounts import Amount
from qagen_dagster.english.answers import Match, contradiction, match
from qagen_dagster.english.facts import facts, missing_amounts, missing_dates, missing_names
from qagen_dagster.english.polarity import negates
from qagen_dagster.english.sentences import split
from qagen_dagster.english.words import content_stems, word_set

SHORT = 8  # maximum content words of an answer that is one fact
ITEM = 6  # maximum words of an item of a list
ABOUT = 0.05  # tolerance of a number that the answer calls approximate
MOST_WORDS = 0.6  # minimum share of the content words of a long fact that an answer must have
_HEDGE = re.compile(
    r"\b(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|nearly|almost|some)\s*$", re.I
)
_ORDER = re.compile(r"\b(?:order|sequence)\b", re.I)
_RANGE = re.compile(r"\b(?:between|both|either)\b", re.I)
_CUT = re.compile(r"\s*;\s*|,\s+(?:(?:and|or)\s+)?|\s+and\s+")
_INTRO = re.compile(r"^.*(?:\b(?:are|were|is|was|included?s?)|:)\s+", re.I)
_UNIT = re.compile(r"[^\W\d_]+$|[%\u00b0]\S*$")
_COMMA = re.compile(r"(?<=\d),(?=\d{3}\b)")
_SHORT_FORM = re.compile(r"\(([A-Z][A-Za-z]?[A-Z0-9&-]{1,6}s?)\)(?=[\s.,;:'\u2019)\]]|$)")
_LONG_FORM = re.compile(r"\b([A-Z][A-Za-z]?[A-Z0-9&-]{1,6}) \(([A-Za-z][\w' -]{3,80})\)")
_NAME = r"[A-Z][\w'\u2019-]*(?: (?:of |the |and |de |von )?[A-Z][\w'\u2019-]*){0,4}"
_OTHER_NAME = re.compile(
    rf"\b({_NAME}),? \(?(?:also|formerly|commonly|previously|sometimes|better) (?:known as|called|named) (?:the )?({_NAME})"
)
_SMALL_WORDS = word_set("of the and for in on to a an by with or")


@dataclass(frozen=True)
class KeyFact:
    """A fact of an answer. `accepted` has other forms in which the fact may be stated. Only a fact with one number has a `value`, a `unit`
    as written, and a `tolerance` in that unit."""

    text: str
    accepted: tuple[str, ...] = ()
    value: float | None = None
    unit: str = ""
    tolerance: float = 0.0


def key_facts(question: str, answer: str, evidence: str) -> tuple[KeyFact, ...]:
    """The key facts of the answer to a question, with the aliases that its evidence gives; an empty tuple for an empty answer."""
    named = tuple(dict.fromkeys(aliases(evidence)))
    return tuple(_fact(text, named) for text in _texts(question, " ".join(answer.split())))


def share_stated(wanted: tuple[KeyFact, ...], question: str, given: str) -> float | None:
    """The share of the facts in `wanted` that the answer `given` states; None if `wanted` is empty."""
    return sum(_stated(one, question, given) for one in wanted) / len(wanted) if wanted else None


def aliases(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of names of one thing: "World Health Organization (WHO)", "WHO (World Health Organization)", "Ceylon, formerly known as X"."""
    for found in _SHORT_FORM.finditer(text):
        long_form = _expansion(text[: found.start()], found[1])
        if long_form:
            yield re.sub(r"^(?:the|an?) ", "", long_form, flags=re.IGNORECASE), found[1]
    for found in _LONG_FORM.finditer(text):
        if _expansion(found[2], found[1]) == found[2]:
            yield found[2], found[1]
    for found in _OTHER_NAME.finditer(text):
        yield found[1], found[2]


def _expansion(before: str, short: str) -> str:
    """The words at the end of `before` whose initials spell `short`; empty if there are none."""
    letters = [char.lower() for char in short.rstrip("s") if char.isalpha()]
    words = list(re.finditer(r"[A-Za-z][A-Za-z\u2019']*", before))
    index = len(words) - 1
    for letter in reversed(letters):
        while (
            index >= 0
            and words[index].group().lower() in _SMALL_WORDS - {letter}
            and words[index].group()[0].lower() != letter
        ):
            index -= 1
        if index < 0 or words[index].group()[0].lower() != letter:
            return ""
        index -= 1
    found = re.sub(r"['\u2019]s?$", "", before[words[index + 1].start() :].strip())
    return found if len(letters) >= 2 and len(found.split()) <= 9 and not re.search(r"[.;:()]", found) else ""


def _texts(question: str, answer: str) -> list[str]:
    items = [] if _ORDER.search(question) else _items(answer)
    if items or len(content_stems(answer)) <= SHORT:
        return items or [answer] * bool(answer)
    return [one.text for one in split(answer) if content_stems(one.text)]


def _items(answer: str) -> list[str]:
    """The items of a list; empty if the answer is no list. A comma in a date or an amount separates no items."""
    read, text = facts(answer), answer.rstrip(". ")
    spans = [(one.start, one.end) for one in (*read.amounts, *read.dates)]
    cuts = [
        cut
        for cut in _CUT.finditer(text)
        if not any(start < cut.end() and cut.start() < end for start, end in spans)
    ]
    several = any(";" in cut[0] or "and" in cut[0] or "or" in cut[0] for cut in cuts) or len(cuts) > 2
    if not several or _RANGE.search(text):
        return []
    edges = [0, *(at for cut in cuts for at in cut.span()), len(text)]
    parts = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    parts[0] = _INTRO.sub("", parts[0])
    return parts if all(content_stems(part) and len(part.split()) <= ITEM for part in parts) else []


def _fact(text: str, named: tuple[tuple[str, str], ...]) -> KeyFact:
    forms = [_COMMA.sub("", text)]
    for one, other in (*named, *((b, a) for a, b in named)):
        forms.append(re.sub(rf"\b{re.escape(one)}(?!\w)", lambda _, to=other: to, text))
    accepted = tuple(dict.fromkeys(form for form in forms if form != text))
    read = facts(text)
    if len(read.amounts) != 1 or read.dates or len(content_stems(text)) > SHORT:
        return KeyFact(text, accepted)
    (amount,) = read.amounts
    written = _UNIT.search(amount.text) if amount.measured else None
    unit = written[0] if written else amount.unit
    return KeyFact(text, accepted, amount.number, unit, _tolerance(text, amount))


def _tolerance(text: str, amount: Amount) -> float:
    """Half a unit of the last decimal place, 0 for a whole number; for a number that is called approximate, at least the share ABOUT."""
    decimals = re.search(r"\d\.(\d+)", amount.text)
    exact = 0.5 * 10.0 ** -len(decimals[1]) if decimals else 0.0
    return max(exact, ABOUT * abs(amount.number)) if _HEDGE.search(text[: amount.start]) else exact


def _stated(fact: KeyFact, question: str, given: str) -> bool:
    texts = (given, *(one.text for one in split(given)))  # a denial belongs to one sentence
    return any(_states(text, form, fact, question) for text in texts for form in (fact.text, *fact.accepted))


def _states(given: str, form: str, fact: KeyFact, question: str) -> bool:
    if match(given, form) is Match.SAME:
        return True
    claim, read, asked = facts(form), facts(given), facts(question)
    free = [one for one in missing_amounts(claim.exact(), read.exact()) if not _near(one, fact, read.amounts)]
    if (
        free
        or missing_dates(claim, read)
        or set(missing_names(claim, read)) - {name for _, name in asked.names}
    ):
        return False
    if contradiction(form, given) or negates(form) != negates(given):
        return False
    if re.search(rf"(?<!\w){re.escape(form)}(?!\w)", given):
        return True
    numbers = {stem for one in (*claim.amounts, *claim.dates) for stem in content_stems(one.text)}
    words = {*content_stems(form)} - numbers - {*content_stems(question)}
    there = words & {*content_stems(given)}
    needed = len(words) if len(content_stems(form)) <= SHORT else MOST_WORDS * len(words)
    return len(there) >= needed and bool(words or numbers)


def _near(amount: Amount, fact: KeyFact, others: tuple[Amount, ...]) -> bool:
    """Whether one of `others`, the amounts of the other answer, is within the tolerance of the fact, in the same measure."""
    factor = amount.value / amount.number if amount.number else 1.0
    return any(
        abs(amount.value - other.value) <= fact.tolerance * abs(factor) * (1 + 1e-9)
        for other in others
        if fact.tolerance and (amount.unit == other.unit or not (amount.measured and other.measured))
    )
