"""What is measured about a claim and its document, before any weight: shares of words, pairs and order that the document
has, and facts it does not have or has otherwise.

What belongs here: a few numbers of which each can only help or only harm, and whether the claim may be a conclusion in
words of its own. What does not: weights (`calibration.py`), and vectors: they decide about such conclusions alone, because
beside these numbers they added nothing (see the benchmark).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from qagen_dagster.grounding.facts import (
    Conflict,
    Facts,
    Kind,
    differences,
    facts,
    missing_amounts,
    missing_dates,
    missing_names,
)
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.grounding.words import content_stems, stem, tokens

# Name, and whether more of it speaks for the claim or against it.
SIGNS = {
    "coverage": 1,  # share of the claim's own words in its best window
    "absent": -1,  # share of them that the document has nowhere
    "pairs": 1,  # share of neighbouring words that are neighbours there, too
    "company": 1,  # share of neighbouring content words that stand near each other there
    "order": 1,  # longest common sequence of words, by the claim's length
    "fit": 1,  # how much of the question stands where the answer does, beside the best place for it
    "amount_absent": -1,  # a number or date that the document does not have
    "amount_elsewhere": -1,  # ... or not in the windows that fit best
    "amount_conflict": -1,  # ... and that has a rival there
    "name_absent": -1,  # names that the document does not have, up to two
    "denial": -1,  # only the claim denies, or only the evidence does
    "new_denial": -1,  # the claim denies and the best window does not deny anything
    "direction": -1,  # an opposite word there
    "changed_amount": -1,  # the best window says nearly the same with another number or date
    "changed_denial": -1,  # ... and only one of the two denies it
    "changed_name": -1,  # ... without names that the claim has, up to two
}
SAME = 0.7  # coverage from which a claim is the best window again
ALIKE = 0.6  # coverage from which the best window says nearly the same
EACH = 4  # windows of every size that are looked at
KEPT = 3  # of them, as evidence
NEAR = 5  # content words
SAID = 6  # content words from which a claim can be a conclusion
SEVERAL = 4  # sentences of a document from which one can be drawn
FOREIGN = 2  # names that the document does not have: then it is none from it
LONG = 400  # sentences; in longer documents a claim is held against its windows only


@dataclass(frozen=True)
class Measured:
    """A claim's features, in the order of `SIGNS`, and where it was held against the document."""

    values: tuple[float, ...]
    best: Window
    conflicts: tuple[Conflict, ...]  # with the best windows together
    coverage: float
    near: tuple[Window, ...] = ()  # sentences that it may be a conclusion from; none if it cannot be one
    kept: tuple[Window, ...] = ()  # the windows of the conflicts, best first

    def value(self, name: str) -> float:
        return self.values[tuple(SIGNS).index(name)]

    @property
    def overruled(self) -> bool:
        """Whether a changed fact in a sentence that is the evidence again decides, however alike the rest is."""
        changed = self.value("amount_conflict") or self.value("changed_denial")
        return bool(changed) and self.value("coverage") >= SAME


@dataclass(frozen=True)
class _Claim:
    text: str
    stems: tuple[str, ...]
    own: tuple[str, ...]  # what the question did not give
    question: frozenset[str]


def measure(text: str, source: Source, question: str = "") -> Measured | None:
    """Features of one claim; None if the document has no windows for it."""
    given, stems = frozenset(content_stems(question)), content_stems(text)
    own = tuple(word for word in dict.fromkeys(stems) if word not in given)
    claim = _Claim(text, stems, own, given)
    windows = source.candidates([*stems, *given], EACH)
    if not windows:
        return None
    ranked = sorted(windows, key=lambda window: -_rank(claim, window, source))
    kept = ranked[:KEPT]
    evidence = facts(" ".join(source.window_text(window) for window in kept))
    best = facts(source.window_text(ranked[0]))
    whole = facts(source.text) if len(source.sentences) <= LONG else evidence
    mine = facts(text)
    near = differences(mine, best)
    different = differences(mine, evidence)
    values = {
        **_words(claim, ranked, source),
        **_amounts(mine, whole, evidence, different),
        **_denials(mine, best, near, different),
    }
    values |= _changed(mine, best, near, alike=values["coverage"] >= ALIKE)
    # Three windows deny something more often than not: only the best one says whether the claim's denial is its own.
    conflicts = [one for one in different if one.kind is not Kind.NEGATION]
    conflicts += [one for one in near if one.kind is Kind.NEGATION]
    foreign = values["amount_absent"] or values["name_absent"] >= FOREIGN
    places = () if foreign else _near(claim, windows, source)
    return Measured(
        tuple(values[name] for name in SIGNS),
        ranked[0],
        tuple(conflicts),
        values["coverage"],
        places,
        tuple(kept),
    )


def _near(claim: _Claim, windows: Sequence[Window], source: Source) -> tuple[Window, ...]:
    if len(claim.stems) < SAID or len(source.sentences) < SEVERAL:
        return ()
    numbers = {number for window in windows for number in range(window.first, window.first + window.size)}
    return tuple(Window(number, 1) for number in sorted(numbers))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _covered(claim: _Claim, words: frozenset[str] | set[str]) -> float:
    return _share(sum(word in words for word in claim.own), len(claim.own))


def _asked(claim: _Claim, words: set[str]) -> float:
    return _share(len(claim.question & words), len(claim.question))


def _rank(claim: _Claim, window: Window, source: Source) -> float:
    words = set(source.window_stems(window))
    return _covered(claim, words) + 0.4 * _asked(claim, words) - 0.02 * window.size


def _words(claim: _Claim, ranked: Sequence[Window], source: Source) -> dict[str, float]:
    lists = [source.window_stems(window) for window in ranked[:KEPT]]
    coverage = _covered(claim, set(lists[0]))
    said = [stem(token) for token in tokens(claim.text)]
    told = [[stem(token) for token in tokens(source.window_text(window))] for window in ranked[:KEPT]]
    neighbours = {pair for words in told for pair in pairwise(words)}
    near = {
        (left, right)
        for words in lists
        for at, left in enumerate(words)
        for right in words[at + 1 : at + NEAR]
    }
    pairs = list(pairwise(said))
    company = list(pairwise(claim.stems))
    fits = [_asked(claim, set(source.window_stems(window))) for window in ranked]
    return {
        "coverage": coverage,
        "absent": _share(sum(not source.has(word) for word in claim.own), len(claim.own))
        if claim.own
        else 0.0,
        "pairs": _share(sum(pair in neighbours for pair in pairs), len(pairs)) if pairs else coverage,
        "company": _share(sum(pair in near for pair in company), len(company)) if company else coverage,
        "order": max((_common(said, words) for words in told), default=0) / max(len(said), 1),
        "fit": fits[0] - max(fits),
    }


def _amounts(mine: Facts, whole: Facts, evidence: Facts, different: Sequence[Conflict]) -> dict[str, float]:
    rivals = any(one.kind in (Kind.NUMBER, Kind.DATE) for one in different)
    return {
        "amount_absent": float(bool(missing_amounts(mine, whole) or missing_dates(mine, whole))),
        "amount_elsewhere": float(bool(missing_amounts(mine, evidence) or missing_dates(mine, evidence))),
        "amount_conflict": float(rivals),
        "name_absent": float(min(2, len(missing_names(mine, whole)))),
    }


def _denials(
    mine: Facts, best: Facts, near: Sequence[Conflict], different: Sequence[Conflict]
) -> dict[str, float]:
    return {
        "denial": float(any(one.kind is Kind.NEGATION for one in near))
        + float(any(one.kind is Kind.NEGATION for one in different)),
        "new_denial": float(mine.denied is not None and best.denied is None),
        "direction": float(any(one.kind is Kind.DIRECTION for one in different)),
    }


def _changed(mine: Facts, best: Facts, near: Sequence[Conflict], *, alike: bool) -> dict[str, float]:
    kinds = {one.kind for one in near}
    return {
        "changed_amount": float(alike and bool(kinds & {Kind.NUMBER, Kind.DATE})),
        "changed_denial": float(alike and Kind.NEGATION in kinds),
        "changed_name": float(min(2, len(missing_names(mine, best)))) if alike else 0.0,
    }


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    before = [0] * (len(right) + 1)
    for word in left:
        now = [0]
        for place, other in enumerate(right):
            now.append(before[place] + 1 if word == other else max(before[place + 1], now[-1]))
        before = now
    return before[-1]
