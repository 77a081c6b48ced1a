"""Decides whether a number of an answer can be computed from the numbers that its evidence and its question give.

A result is a sum, a difference, a product, a quotient, a percentage, the total or mean of a unit, or a count of listed things.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations

_PLAIN = re.compile(r"\d+(?:\.(\d+))?")
_COUNTS = re.compile(r"\b(?:how many|number of|count)\b", re.IGNORECASE)
_BETWEEN_ITEMS = re.compile(r"[,;]|\band\b|\bor\b")
_MOST = 60  # numbers of a text that are combined


def computable(number: str, evidence: Sequence[str], question: Sequence[str]) -> bool:
    """Whether `number` is the result of a computation with the tokens of the evidence and the question."""
    shown = _PLAIN.fullmatch(number)
    if shown is None:
        return False
    wanted, decimals = float(number), len(shown.group(1) or "")
    rounded = len(number.replace(".", "").strip("0")) > 1
    tolerance = 0.5 * 10.0**-decimals if rounded else 0.0
    results = (*_numbers(evidence), *_pairs(_numbers(evidence), _numbers(question)), *_groups(evidence))
    return any(
        math.isclose(one, wanted, rel_tol=1e-9) or abs(one - wanted) <= tolerance
        for one in results
        if math.isfinite(one)
    )


def counts(number: str, question: str, answer: str, quotes: str) -> bool:
    """Whether the question asks for a count and `number` counts the quoted lines, or items listed in a line or the answer."""
    if _COUNTS.search(question) is None:
        return False
    lines = [line for line in quotes.splitlines() if line.strip()]
    items = [len(_BETWEEN_ITEMS.split(text)) for text in (answer, *lines)]
    return number in {str(count) for count in (len(lines), sum(items[1:]), *items) if count > 1}


def _numbers(tokens: Sequence[str]) -> list[float]:
    return [float(token) for token in tokens if _PLAIN.fullmatch(token)][:_MOST]


def _pairs(evidence: list[float], question: list[float]) -> Iterator[float]:
    """The results for each two numbers, at least one of which is from the evidence."""
    known = [*((one, True) for one in evidence), *((one, False) for one in question)]
    for (one, quoted), (other, also) in permutations(known, 2):
        if not (quoted or also):
            continue
        yield from (one + other, one - other, one * other, (one + other) / 2)
        if other:
            yield from (one / other, 100 * one / other, 100 * abs(one - other) / other)


def _groups(tokens: Sequence[str]) -> Iterator[float]:
    """The total and the mean of all numbers, and of the numbers before the same word."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for token, follows in zip(tokens, (*tokens[1:], ""), strict=True):
        if _PLAIN.fullmatch(token):
            groups[""].append(float(token))
            groups[follows].append(float(token))
    for numbers in groups.values():
        yield from (sum(numbers), sum(numbers) / len(numbers))
