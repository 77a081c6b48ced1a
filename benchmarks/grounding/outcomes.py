"""What the detector, word overlap and the described rule say about each answer of the sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from benchmarks.grounding.described import Described
from benchmarks.grounding.sets import Item
from qagen_dagster.english.sentences import split
from qagen_dagster.english.words import content_stems
from qagen_dagster.grounding.claim_rules import BAND, Rule
from qagen_dagster.grounding.grade_by_code import decisions
from qagen_dagster.grounding.source import Source

_BANDS = {False: 0.0, None: BAND, True: 2 * BAND}
SHORT = 2  # sentences of a short document


@dataclass(frozen=True)
class Outcome:
    """One answer. `claims` are its sentences: verdict, score and the rule that decided."""

    item: Item
    short: bool
    overlap: float
    claims: tuple[tuple[bool | None, float, Rule | None], ...]

    @property
    def verdict(self) -> bool | None:
        """Unsupported if a sentence is; supported if all are; else undecided."""
        said = [supported for supported, _, _ in self.claims]
        if False in said:
            return False
        return None if None in said or not said else True

    @property
    def score(self) -> float:
        """The mean of its sentences, within the band of the verdict."""
        scores = [score - _BANDS[said] for said, score, _ in self.claims]
        return _BANDS[self.verdict] + (sum(scores) / len(scores) if scores else 0.0)

    @property
    def right(self) -> bool:
        return self.verdict is self.item.supported

    def rules(self) -> frozenset[Rule]:
        """The rules without which the verdict would be another."""
        found = {rule for supported, _, rule in self.claims if supported is self.verdict and rule}
        return frozenset(found) if self.verdict is not None else frozenset()

    def without(self, rules: frozenset[Rule]) -> Outcome:
        """The outcome if these rules did not exist: what they decided is undecided."""
        claims = tuple(
            (None, score - _BANDS[supported] + BAND, None) if rule in rules else (supported, score, rule)
            for supported, score, rule in self.claims
        )
        return replace(self, claims=claims)


def outcomes(items: Sequence[Item]) -> Iterator[Outcome]:
    """One outcome for each item; items of one document must follow each other."""
    for item, source in _with_sources(items):
        found = decisions(item.answer, source, item.question)
        stems = set(content_stems(item.answer))
        yield Outcome(
            item,
            len(split(item.document)) <= SHORT,
            sum(map(source.has, stems)) / len(stems) if stems else 1.0,
            tuple((one.supported, one.score, one.rule) for _, one in found),
        )


def described(items: Sequence[Item]) -> list[float]:
    """The score of each answer by the described rule."""
    by_source = groupby(_with_sources(items), key=lambda pair: pair[1])
    rules = ((Described(source), pairs) for source, pairs in by_source)
    return [rule.score(item.answer) for rule, pairs in rules for item, _ in pairs]


def _with_sources(items: Iterable[Item]) -> Iterator[tuple[Item, Source]]:
    last: Source | None = None
    for item in items:
        if last is None or last.text != item.document:
            last = Source(item.document)
        yield item, last
