"""Features of a claim measured against its document: shares of its words and word pairs in the document, and facts
that the document lacks or contradicts.

Each feature can only raise or only lower the odds. Embeddings decide only about conclusions in other words, because
they improved nothing beside these features (see the benchmark).
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
from qagen_dagster.grounding.opposites import opposite_in
from qagen_dagster.grounding.polarity import denies_verb, leaves_open
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.grounding.words import content_stems, stem, tokens

# Name, and whether a higher value supports the claim or contradicts it.
SIGNS = {
    "coverage": 1,  # share of the claim's own words in its best window
    "absent": -1,  # share of them that occur nowhere in the document
    "pairs": 1,  # share of neighbouring words that are neighbours in the document too
    "company": 1,  # share of neighbouring content words that are near each other in the document
    "name_company": 1,  # share of the claim's other words in one sentence with one of its names, minimum over its names
    "fit": 1,  # match of the question near the answer, relative to its best match in the document
    "asked": -1,  # a question is given: most of these answers quote, so one that does not is more often wrong
    "amount_absent": -1,  # a number or date that the document lacks
    "amount_conflict": -1,  # such a number or date with a different value in the best windows
    "name_absent": -1,  # names that the document lacks, up to two
    "new_denial": -1,  # the claim contains a denial and the best window contains none
    "changed_amount": -1,  # the best window is nearly the same with another number or date
    "changed_denial": -1,  # the best window is nearly the same, but only one of the two denies it
    "opposite": -1,  # the claim has the opposite of a word at the same place in the best windows
}
_VALUES = (Kind.NUMBER, Kind.DATE)
SAME = 0.7  # coverage from which a claim may repeat the best window
IN_ORDER = 0.6  # share of its words that must then come in the window's order
ALIKE = 0.6  # coverage from which the best window is nearly the same
RENAMED = 0.6  # share of words in common order from which a different name or value counts as changed
EACH = 4  # candidate windows of each size
KEPT = 3  # windows kept as evidence
NEAR = 5  # content words, for "near each other"
SAID = 5  # content words from which a claim can be a conclusion
FEW = 3  # the same among other sentences of an answer
SEVERAL = 4  # sentences of a document from which a conclusion can be drawn
COUNTED = 3  # the largest number word that a conclusion may introduce
LONG = 400  # sentences; in longer documents a claim is compared only with its windows


@dataclass(frozen=True)
class Measured:
    """A claim's features, in the order of `SIGNS`, and the windows it was compared with."""

    values: tuple[float, ...]
    best: Window
    conflicts: tuple[Conflict, ...]  # with the best windows together
    coverage: float
    overruled: bool = (
        False  # the claim repeats the evidence with a changed fact; this decides even if the rest agrees
    )
    little: bool = False  # the claim is too short, among other sentences, for its words to decide
    near: tuple[Window, ...] = ()  # sentences that may support it as a conclusion; empty if it cannot be one
    kept: tuple[Window, ...] = ()  # the windows of the conflicts, best first

    def value(self, name: str) -> float:
        return self.values[tuple(SIGNS).index(name)]


@dataclass(frozen=True)
class _Claim:
    text: str
    stems: tuple[str, ...]
    own: tuple[str, ...]  # words that are not in the question
    question: frozenset[str]


def measure(text: str, source: Source, question: str = "", *, several: bool = False) -> Measured | None:
    """Features of one claim; None if the document has no windows for it. `several`: the answer has more sentences."""
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
    opposite = opposite_in(stems, given, [source.window_stems(window) for window in kept])
    values["opposite"] = float(opposite is not None)
    grave = [_written(opposite, text, kept, source)] if opposite else []
    grave += _changed_in_place(mine, claim, kept, source)
    again = bool(grave) or _overruled(values, claim, kept, source)
    others = _others(different, None if again else mine, whole)
    # Three windows often contain a denial, so only the best one decides whether the claim's denial is new.
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
    """Conflicts without denials; values of `mine` that the document has elsewhere do not conflict."""
    lost = [*missing_amounts(mine, whole), *missing_dates(mine, whole)] if mine else []
    return [
        one
        for one in different
        if one.kind is not Kind.NEGATION
        and (mine is None or one.kind not in _VALUES or one.claim in [value.text for value in lost])
    ]


def _changed_in_place(mine: Facts, claim: _Claim, kept: Sequence[Window], source: Source) -> list[Conflict]:
    """Changed names and values of a claim that otherwise repeats a sentence of the document nearly word for word."""
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
    """Whether the claim contains a denial, and nothing in the document could justify one."""
    return denies_verb(text) and not source.denies


def _names_company(mine: Facts, claim: _Claim, source: Source) -> float:
    said = tuple(dict.fromkeys(claim.stems))
    names = {name for name, _ in mine.names if name in said and not name.isdigit()}
    found = [source.cooccurrence(name, [word for word in said if word != name]) for name in names]
    return min(found, default=1.0)


def _left_open(claim: _Claim, window: Window, source: Source) -> bool:
    """Whether the window's sentence with most of the claim only asks about it, without a denial or an affirmation."""
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
    """Whether the claim has a number, date or name that cannot be concluded from the document.

    Small number words often count what the text only shows, and abbreviations may be the claim's own.
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
    cooccurrence = list(pairwise(claim.stems))
    fits = [_asked(claim, set(source.window_stems(window))) for window in ranked]
    return {
        "coverage": coverage,
        "absent": _share(sum(not source.has(word) for word in claim.own), len(claim.own))
        if claim.own
        else 0.0,
        "pairs": _share(sum(pair in neighbours for pair in pairs), len(pairs)) if pairs else coverage,
        "company": _share(sum(pair in near for pair in cooccurrence), len(cooccurrence))
        if cooccurrence
        else coverage,
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
