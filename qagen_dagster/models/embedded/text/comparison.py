"""What is compared of questions and answers: the question without the phrase that names its document, words, numbers and negation; and whether two answers state the same."""

from __future__ import annotations

import re
from collections import Counter

from qagen_dagster.english.words import word_set

_FRAME = re.compile(
    r"(?:According to|In) (?:[^\"]{1,300}?|[^\"]{0,120}(?:\"[^\"]{1,400}\"[^\"]{0,250}?)+?), "
    r"(?=(?:what|which|who|when|where|why|how|by whom|for how long)\b)"
)


def quoted(title: str) -> str:
    """A title in double quotes; the quotes inside it become single ones."""
    return '"' + re.sub(r"[\"“”]", "'", title) + '"'


def split_frame(question: str) -> tuple[str, str]:
    """The frame, or an empty text, and the question without it."""
    found = _FRAME.match(question)
    return (question[: found.end()], question[found.end() :]) if found else ("", question)


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NUMBER = re.compile(
    r"(?<![\w.])[-\u2212]?\d[\d,]*(?:\.\d+)?(?:/\d+)?"
    r"|(?<![\w.])(?P<code>[A-Za-z]+\d[\w.]*\b|[A-Z][A-Za-z]*-\d+)|(?<=-)\d+(?:\.\d+)?"
)
_SPELLED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_WORD_NUMBERS = dict(zip(_SPELLED.split(), map(str, [*range(21), *range(30, 100, 10)]), strict=True))
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|neither|nor|cannot|unless|n't)\b|n't\b", re.IGNORECASE
)
_STOP = word_set(
    "a an the of in on at to for from by with and or is are was were be been it its that which as because"
)
_UNITS = {
    "metres": "m", "meters": "m", "metre": "m", "meter": "m", "kilometres": "km", "kilometers": "km", "percent": "%", "per": "per",
    "seconds": "s", "second": "s", "minutes": "min", "minute": "min", "hours": "h", "hour": "h", "millimetres": "mm", "feet": "ft",
}  # fmt: skip


def numbers(text: str) -> Counter[str]:
    """Numbers of `text` in one spelling ("4,000" and "4000", "three" and "3"); "W5" counts as itself, not as 5."""
    found: Counter[str] = Counter()
    for match in _NUMBER.finditer(text):
        if match["code"]:
            found[match["code"].lower()] += 1
            continue
        value = match.group().replace(",", "").replace("\u2212", "-")
        whole, _, fraction = value.partition(".")
        found[f"{whole}.{fraction.rstrip('0')}".rstrip(".") if fraction else value] += 1
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _WORD_NUMBERS:
            found[_WORD_NUMBERS[word]] += 1
    return found


def stem(word: str) -> str:
    """A crude stem, good enough to map "readings" to "reading"."""
    word = _UNITS.get(word, word)
    for ending in ("ies", "sses", "es", "s", "ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return {"ies": word[:-3] + "y", "sses": word[:-2]}.get(ending, word[: -len(ending)])
    return word


def terms(text: str) -> list[str]:
    """Content words and numbers, stemmed."""
    found: list[str] = []
    for word in re.findall(r"[\w°%µ]+(?:[.'\u2019_/-][\w%]+)*", _THOUSANDS.sub("", text.lower())):
        if word not in _STOP:
            found.append(stem(str(_WORD_NUMBERS.get(word, word))))
    return found


def negations(text: str) -> int:
    """The number of negating words."""
    return len(_NEGATION.findall(text))


def overlap(left: str, right: str) -> float:
    """F1 of the two texts' terms."""
    a, b = Counter(terms(left)), Counter(terms(right))
    common = sum((a & b).values())
    return (
        2 * common / (sum(a.values()) + sum(b.values())) if a and b else float(left.strip() == right.strip())
    )


def same_answer(own: str, proposed: str) -> tuple[bool, str]:
    """Whether two answers state the same, and why (not)."""
    mine, theirs = numbers(own), numbers(proposed)
    if theirs - mine:
        return (
            False,
            f"the proposed answer has the number {next(iter(theirs - mine))}, the document's passage does not",
        )
    if negations(own) != negations(proposed) and (
        not negations(own) or len(terms(proposed)) > 0.7 * len(terms(own))
    ):
        return False, "one of the answers is negated"
    a, b = terms(own), terms(proposed)
    if not a or not b:
        return own.strip() == proposed.strip(), "compared as they are written"
    if set(b) == set(a):
        return True, "same words and numbers"
    if len(b) >= 3 and a[: len(b)] == b:
        return True, "the proposed answer is how the document's passage begins"
    shorter, longer = sorted((a, b), key=len)
    inside = not Counter(shorter) - Counter(longer)
    share = len(shorter) / len(longer)
    if inside and (share >= 0.5 or (mine == theirs and mine)):
        return True, f"one answer contains the other (share {share:.2f})"
    score = overlap(own, proposed)
    if mine - theirs and len(mine) > 1:
        return False, "numbers differ"
    return score >= 0.7, f"term overlap {score:.2f}"
