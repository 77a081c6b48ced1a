"""Classical statistics of items and forms from a table of answers, with intervals, and the rules that flag items.

The score that an item is compared with is that on the other items. Intervals of shares are Wilson's; those of correlations and of KR-20 come from
resampling the candidates with a fixed seed.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from qagen_dagster.loop.score_table import Floats, Scores, over
from qagen_dagster.loop.statistics import wilson
from qagen_dagster.records.blind import Letter
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.paper import version_of
from qagen_dagster.records.exams.responses import Estimate, ItemFlag, ItemStatistics

Z = 1.96  # of an interval of 95 %
_SURE = (0.5, 99.5)  # percentiles: there are many options, and a key must not be accused by chance
_LEAST_DISCRIMINATION, _MOST_FACILITY, _DEAD_SHARE = 0.2, 0.95, 0.05


class Table(Scores):
    """Answers of candidates (rows) to items (columns); "" is no answer. At least one candidate and one item."""

    def __init__(self, answers: Sequence[Sequence[str]], items: Sequence[ExamItem]) -> None:
        self._items = items
        self._answers = np.array(answers, dtype="U1")
        keys = np.array([one.question.correct_option for one in items])
        super().__init__(self._answers == keys)

    def reliability(self) -> Estimate | None:
        """KR-20."""
        items = self.right.shape[1]
        shares, variance = self.weights @ self.right, self.variance(self.scores)
        inner = (shares * (1 - shares)).sum(axis=1)
        if items == 1:
            return None
        return _estimate(items / (items - 1) * (1 - over(inner, variance)))

    def figures(self, column: int) -> ItemStatistics:
        """The statistics of one item."""
        item, given, right = self._items[column], self._answers[:, column], self.right[:, column]
        key = item.question.correct_option
        rest = self.scores - right
        upper, lower = _third(rest), _third(-rest)
        by_option: dict[Letter, Floats] = {one: (given == one).astype(float) for one in item.letters}
        with_rest: dict[Letter, Floats] = {
            letter: self.correlation(taken, rest) for letter, taken in by_option.items()
        }
        chosen: dict[Letter, int] = {letter: int(taken.sum()) for letter, taken in by_option.items()}
        high, low = float(upper @ right / upper.sum()), float(lower @ right / lower.sum())
        facility = share_of(right.mean(), len(right))
        discrimination = _estimate(with_rest[key])
        among: dict[Letter, float] = {letter: float(upper @ taken) for letter, taken in by_option.items()}
        dead, suspected = _dead(chosen, key), _suspected(with_rest, among, key)
        return ItemStatistics(
            item=item.id,
            version=version_of(item),
            key=key,
            candidates=len(right),
            facility=facility,
            discrimination=discrimination,
            upper=high,
            lower=low,
            thirds=_difference(share_of(high, upper.sum()), share_of(low, lower.sum())),
            chosen=chosen,
            dead=dead,
            suspected=suspected,
            flags=_flags(facility, discrimination, dead, suspected, len(item.letters)),
        )


def share_of(share: float, count: float) -> Estimate:
    """A share of `count` with Wilson's interval."""
    low, high = wilson(share * count, count, Z)
    return Estimate(value=share, low=low, high=high)


def _difference(one: Estimate, other: Estimate) -> Estimate:
    """Of two independent shares, with Newcombe's interval."""
    value = one.value - other.value
    below = sqrt((one.value - one.low) ** 2 + (other.high - other.value) ** 2)
    above = sqrt((one.high - one.value) ** 2 + (other.value - other.low) ** 2)
    return Estimate(value=value, low=value - below, high=value + above)


def _estimate(values: Floats) -> Estimate | None:
    """The value of the sample, with the interval of its resamples."""
    if np.isnan(values[0]):
        return None
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return Estimate(value=float(values[0]), low=float(low), high=float(high))


def _third(scores: Floats) -> Floats:
    """To what part each candidate belongs to the third with the highest scores. Equal scores have equal parts."""
    wanted = len(scores) / 3
    found = np.zeros(len(scores))
    for score in np.unique(scores)[::-1]:
        same = scores == score
        found[same] = min(1.0, max(0.0, wanted) / same.sum())
        wanted -= same.sum()
    return found


def _dead(chosen: dict[Letter, int], key: Letter) -> tuple[Letter, ...]:
    wrong: dict[Letter, int] = {letter: count for letter, count in chosen.items() if letter != key}
    total = sum(wrong.values())
    return tuple(
        letter
        for letter, count in wrong.items()
        if total and share_of(count / total, total).high < _DEAD_SHARE
    )


def _suspected(with_rest: dict[Letter, Floats], upper: dict[Letter, float], key: Letter) -> Letter | None:
    """The option that strong candidates take rather than the key: it correlates with the score, and more than the key does."""
    others: list[Letter] = [one for one in upper if one != key]
    other = max(others, key=lambda one: (upper[one], one))
    found, of_key = with_rest[other], np.nan_to_num(with_rest[key])
    if upper[other] <= upper[key] or np.isnan(found[0]):
        return None
    sure = all(np.nanpercentile(values, _SURE[0]) > 0 for values in (found, found - of_key))
    return other if sure else None


def _flags(
    facility: Estimate,
    discrimination: Estimate | None,
    dead: Sequence[Letter],
    suspected: Letter | None,
    options: int,
) -> tuple[ItemFlag, ...]:
    most = 1.0 if discrimination is None else discrimination.high
    rules = {
        ItemFlag.WRONG_KEY: suspected is not None,
        ItemFlag.NEGATIVE: most < 0,
        ItemFlag.WEAK: 0 <= most < _LEAST_DISCRIMINATION,
        ItemFlag.TOO_EASY: facility.low > _MOST_FACILITY,
        ItemFlag.TOO_HARD: facility.high < 1 / options,
        ItemFlag.DEAD: bool(dead),
    }
    return tuple(flag for flag, holds in rules.items() if holds)
