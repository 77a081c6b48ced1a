"""What is measured about a claim and its document, before any weight: shares of words and pairs that the document has,
and facts it does not have or has otherwise.

What belongs here: a few numbers of which each can only help or only harm, and whether the claim may be a conclusion in
words of its own. What does not: weights (`calibration.py`), and vectors: they decide about such conclusions alone, because
beside these numbers they added nothing (see the benchmark).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from qagen_dagster.grounding.opposites import exchanged
from qagen_dagster.grounding.poles import denies_verb, leaves_open
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.grounding.words import content_stems, stem, tokens

# Name, and whether more of it speaks for the claim or against it.
SIGNS = {
    "coverage": 1,  # share of the claim's own words in its best window
    "absent": -1,  # share of them that the document has nowhere
    "pairs": 1,  # share of neighbouring words that are neighbours there, too
    "company": 1,  # share of neighbouring content words that stand near each other there
    "name_company": 1,  # share of the claim's other words in one sentence with a name of it, the worst of its names
    "fit": 1,  # how much of the question stands where the answer does, beside the best place for it
    "asked": -1,  # there is a question: most of such answers quote, so one that does not is more often wrong
    "amount_absent": -1,  # a number or date that the document does not have
    "amount_conflict": -1,  # ... and that has a rival in the windows that fit best
    "name_absent": -1,  # names that the document does not have, up to two
    "new_denial": -1,  # the claim denies and the best window does not deny anything
    "changed_amount": -1,  # the best window says nearly the same with another number or date
    "changed_denial": -1,  # ... and only one of the two denies it
    "opposite": -1,  # the claim has the opposite of a word that the best windows have in the same place
}
_VALUES = (Kind.NUMBER, Kind.DATE)
SAME = 0.7  # coverage from which a claim may be the best window again
IN_ORDER = 0.6  # ... and the share of its words that must come in the window's order
ALIKE = 0.6  # coverage from which the best window says nearly the same
RENAMED = 0.6  # share of the words of claim and sentence, in order, from which another name or value is a changed one
EACH = 4  # windows of every size that are looked at
KEPT = 3  # of them, as evidence
NEAR = 5  # content words
SAID = 5  # content words from which a claim can be a conclusion
FEW = 3  # ... among other sentences of an answer
SEVERAL = 4  # sentences of a document from which one can be drawn
COUNTED = 3  # the largest number in words that one may bring
LONG = 400  # sentences; in longer documents a claim is held against its windows only


@dataclass(frozen=True)
class Measured:
    """A claim's features, in the order of `SIGNS`, and where it was held against the document."""

    values: tuple[float, ...]
    best: Window
    conflicts: tuple[Conflict, ...]  # with the best windows together
    coverage: float
    overruled: bool = (
        False  # a changed fact in what is else the evidence again: decides, however alike the rest is
    )
    little: bool = False  # too little is said, among other sentences, for its words to tell much
    near: tuple[Window, ...] = ()  # sentences that it may be a conclusion from; none if it cannot be one
    kept: tuple[Window, ...] = ()  # the windows of the conflicts, best first

    def value(self, name: str) -> float:
        return self.values[tuple(SIGNS).index(name)]


@dataclass(frozen=True)
class _Claim:
    text: str
    stems: tuple[str, ...]
    own: tuple[str, ...]  # what the question did not give
    question: frozenset[str]


def measure(text: str, source: Source, question: str = "", *, several: bool = False) -> Measured | None:
    """Features of one claim; None if the document has no windows for it. `several`: its answer says more than it."""
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
    whole = source.facts if len(source.sentences) <= LONG else evidence
    mine = facts(text)
    stated = not _left_open(claim, ranked[0], source)
    near = [one for one in differences(mine, best) if stated or one.kind is not Kind.NEGATION]
    different = differences(mine, evidence)
    values = {
        **_words(claim, ranked, source),
        "name_company": _names_company(mine, claim, source),
        "asked": float(bool(question.strip())),
        **_amounts(mine, whole, different),
        "new_denial": float(stated and mine.denied is not None and best.denied is None),
    }
    values |= _changed(near, alike=values["coverage"] >= ALIKE)
    opposite = exchanged(stems, given, [source.window_stems(window) for window in kept])
    values["opposite"] = float(opposite is not None)
    grave = [_written(opposite, text, kept, source)] if opposite else []
    grave += _changed_in_place(mine, claim, kept, source)
    again = bool(grave) or _overruled(values, claim, kept, source)
    others = _others(different, None if again else mine, whole)
    # Three windows deny something more often than not: only the best one says whether the claim's denial is its own.
    others += [one for one in near if one.kind is Kind.NEGATION]
    return Measured(
        tuple(values[name] for name in SIGNS),
        ranked[0],
        (*grave, *others),
        values["coverage"],
        overruled=again,
        little=several and len(stems) < SAID and len(source.sentences) >= SEVERAL,
        near=()
        if _foreign(mine, whole) or _groundless(text, source)
        else _near(claim, FEW if several else SAID, windows, source),
        kept=tuple(kept),
    )


def _others(different: Sequence[Conflict], mine: Facts | None, whole: Facts) -> list[Conflict]:
    """Conflicts but for denials; values of `mine` that the document has elsewhere are none."""
    lost = [*missing_amounts(mine, whole), *missing_dates(mine, whole)] if mine else []
    return [
        one
        for one in different
        if one.kind is not Kind.NEGATION
        and (mine is None or one.kind not in _VALUES or one.claim in [value.text for value in lost])
    ]


def _changed_in_place(mine: Facts, claim: _Claim, kept: Sequence[Window], source: Source) -> list[Conflict]:
    """The changed names and values of a claim that is else a sentence of the document nearly word for word."""
    if not (mine.names or mine.amounts or mine.dates):
        return []
    said = _stems(claim.text)
    sentences = {number for window in kept for number in range(window.first, window.first + window.size)}
    written = [source.sentences[number].text for number in sorted(sentences)]
    shared, sentence = max((_common(said, _stems(text)), text) for text in written)
    if shared < RENAMED * max(len(said), len(_stems(sentence))):
        return []
    return [one for one in differences(mine, facts(sentence)) if one.kind in (*_VALUES, Kind.NAME)]


def _groundless(text: str, source: Source) -> bool:
    """Whether the claim denies, and nothing in the document could be the ground of a denial."""
    return denies_verb(text) and not source.denies


def _names_company(mine: Facts, claim: _Claim, source: Source) -> float:
    said = tuple(dict.fromkeys(claim.stems))
    names = {name for name, _ in mine.names if name in said and not name.isdigit()}
    found = [source.company(name, [word for word in said if word != name]) for name in names]
    return min(found, default=1.0)


def _left_open(claim: _Claim, window: Window, source: Source) -> bool:
    """Whether the sentence of the window that has most of the claim only asks about it: it neither denies nor affirms."""
    numbers = range(window.first, window.first + window.size)
    closest = max(numbers, key=lambda number: _covered(claim, set(source.stems[number])))
    return leaves_open(source.sentences[closest].text)


def _overruled(values: Mapping[str, float], claim: _Claim, kept: Sequence[Window], source: Source) -> bool:
    changed = values["amount_conflict"] or values["changed_denial"]
    if not changed or values["coverage"] < SAME:
        return False
    said = _stems(claim.text)
    common = max(_common(said, _stems(source.window_text(window))) for window in kept)
    return common >= IN_ORDER * len(said)


def _foreign(mine: Facts, whole: Facts) -> bool:
    """Whether the claim has what cannot be concluded: a number, a date, a name of somebody or something from elsewhere.

    Small numbers in words often count what the text only shows, and abbreviations may be the claim's own.
    """
    numbers = [
        one for one in missing_amounts(mine, whole) if any(map(str.isdigit, one.text)) or one.value > COUNTED
    ]
    named = [one for one in missing_names(mine, whole) if one[:1].isupper() and one[1:].islower()]
    return bool(numbers or named or missing_dates(mine, whole))


def _stems(text: str) -> list[str]:
    return [stem(token) for token in tokens(text)]


def _written(opposite: tuple[str, str], text: str, kept: Sequence[Window], source: Source) -> Conflict:
    """The two words as claim and evidence write them."""
    evidence = " ".join(source.window_text(window) for window in kept)
    mine, theirs = (
        next((token for token in tokens(where) if stem(token) == word), word)
        for word, where in zip(opposite, (text, evidence), strict=True)
    )
    return Conflict(Kind.DIRECTION, mine, theirs)


def _near(claim: _Claim, least: int, windows: Sequence[Window], source: Source) -> tuple[Window, ...]:
    if len(claim.stems) < least or len(source.sentences) < SEVERAL:
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
    neighbours = {pair for window in ranked[:KEPT] for pair in pairwise(_stems(source.window_text(window)))}
    near = {
        (left, right)
        for words in lists
        for at, left in enumerate(words)
        for right in words[at + 1 : at + NEAR]
    }
    pairs = list(pairwise(_stems(claim.text)))
    company = list(pairwise(claim.stems))
    fits = [_asked(claim, set(source.window_stems(window))) for window in ranked]
    return {
        "coverage": coverage,
        "absent": _share(sum(not source.has(word) for word in claim.own), len(claim.own))
        if claim.own
        else 0.0,
        "pairs": _share(sum(pair in neighbours for pair in pairs), len(pairs)) if pairs else coverage,
        "company": _share(sum(pair in near for pair in company), len(company)) if company else coverage,
        "fit": fits[0] - max(fits),
    }


def _amounts(mine: Facts, whole: Facts, different: Sequence[Conflict]) -> dict[str, float]:
    rivals = any(one.kind in (Kind.NUMBER, Kind.DATE) for one in different)
    return {
        "amount_absent": float(bool(missing_amounts(mine, whole) or missing_dates(mine, whole))),
        "amount_conflict": float(rivals),
        "name_absent": float(min(2, len(missing_names(mine, whole)))),
    }


def _changed(near: Sequence[Conflict], *, alike: bool) -> dict[str, float]:
    kinds = {one.kind for one in near}
    return {
        "changed_amount": float(alike and bool(kinds & {Kind.NUMBER, Kind.DATE})),
        "changed_denial": float(alike and Kind.NEGATION in kinds),
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
