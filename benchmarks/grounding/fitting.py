"""Fits the detector's weights, its threshold and the cosine of conclusions to a table of answers.

What belongs here: a logistic model whose weights keep the sign that each feature must have, fitted with a bias of its own
for every set, so that the weights come from what tells right from wrong within a set and not from how sets differ; then one
bias and one cosine for all, by balanced accuracy, every family of sets alike. What does not: figures (`calibrate.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.grounding.table import NOT_ASKED, Floats, Table
from qagen_dagster.grounding.calibration import BARELY
from qagen_dagster.grounding.features import SIGNS

Bools = NDArray[np.bool_]
PENALTY = 0.01
ROUNDS = 3  # of finding each answer's weakest sentence and fitting to it
STEPS = 300
CAPPED = -0.04  # log odds just under the threshold, as the product caps a contradicted claim
WAIVED = 9.0  # log odds of a sentence that stands in the document, or claims nothing
CLOSENESS = (0.0, 3.0, 6.0, 10.0, 15.0)  # tried: what a cosine of 1 is worth among conclusions, in log odds
COSINES = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 1.0)  # tried; 1: no conclusion is accepted
BIASES = np.linspace(0.05, 0.95, 37)  # tried: quantiles of the chosen sentences' log odds
ABOUT = 0.01  # of balanced accuracy: noise of these sets


@dataclass(frozen=True)
class Fitted:
    weights: Floats
    bias: float
    cosine: float = 1.0
    closeness: float = 0.0

    def answers(self, table: Table) -> Floats:
        """Log odds of each answer: of its weakest sentence."""
        return answers(table, table.rows @ self.weights + self.bias, self.cosine, self.closeness)


def answers(table: Table, words: Floats, cosine: float, closeness: float = 0.0) -> Floats:
    """As `semantic.py` decides, from the log odds of the sentences by their words."""
    asked = table.cosines > NOT_ASKED
    concluded = (words < 0) & asked & (table.cosines >= cosine)
    odds = np.where(concluded, BARELY * _chance(words + closeness * table.cosines), words)
    odds = np.where((words < 0) & ~asked & table.little, -BARELY * (1 - _chance(words)), odds)
    odds = np.where(table.overruled, np.minimum(odds, CAPPED), odds)
    result = np.full(len(table.items), np.inf)
    first = np.flatnonzero(np.r_[True, np.diff(table.answer) > 0])
    result[table.answer[first]] = np.minimum.reduceat(np.where(table.waived, WAIVED, odds), first)
    return result


def _chance(odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.maximum(odds, -50)))


def fit(table: Table, chosen: Bools) -> Fitted:
    """Weights, bias and cosine from the chosen answers."""
    rows = table.rows[chosen[table.answer]]
    scale = rows.std(axis=0) + 1e-3
    weights = _weights((table.rows - rows.mean(axis=0)) / scale, table, chosen) / scale
    bias, cosine = _decided(table, table.rows @ weights, chosen)
    return Fitted(weights, bias, cosine, _closeness(table, table.rows @ weights + bias, cosine, chosen))


def _weights(rows: Floats, table: Table, chosen: Bools) -> Floats:
    names = np.unique(table.names[chosen])
    own = (table.names[table.answer][:, None] == names[None, :]).astype(float)
    signs = np.r_[[*SIGNS.values()], np.zeros(len(names))]
    importance = _importance(table, chosen)
    found = signs / 2
    for _ in range(ROUNDS):
        odds = rows @ found[: len(SIGNS)]
        order = np.lexsort((odds, table.answer))
        weakest = order[np.r_[True, np.diff(table.answer[order]) > 0]]
        weakest = weakest[chosen[table.answer[weakest]] & ~table.waived[weakest]]
        found = _descend(
            np.hstack([rows, own])[weakest],
            np.where(table.right[table.answer[weakest]], 1.0, -1.0),
            importance[table.answer[weakest]],
            signs,
            found,
        )
    return found[: len(SIGNS)]


def _importance(table: Table, chosen: Bools) -> Floats:
    result = np.zeros(len(table.items))
    for name in np.unique(table.names[chosen]):
        for right in (True, False):
            group = chosen & (table.names == name) & (table.right == right)
            result[group] = 1.0 / max(group.sum(), 1)
    return result / result.sum()


def _descend(rows: Floats, sides: Floats, importance: Floats, signs: Floats, start: Floats) -> Floats:
    """Accelerated projected gradient; a weight of the wrong sign becomes 0, one without a sign is hardly shrunk."""
    weights = ahead = start
    shrunk = PENALTY * np.where(signs == 0, 0.1, 1.0)
    rate = 4.0 / (float((importance[:, None] * rows**2).sum()) + 8 * PENALTY)
    for step in range(1, STEPS + 1):
        pull = importance * sides / (1 + np.exp(np.clip(sides * (rows @ ahead), -50, 50)))
        moved = ahead + rate * (rows.T @ pull - 2 * shrunk * ahead)
        moved = np.where((signs == 0) | (moved * signs > 0), moved, 0.0)
        ahead = moved + (step - 1) / (step + 2) * (moved - weights)
        weights = moved
    return weights


def _decided(table: Table, odds: Floats, chosen: Bools) -> tuple[float, float]:
    """The smallest cosine that is about as good as the best, and the mean of the biases that are so with it."""
    score = _Score(table, chosen)
    biases = -np.quantile(odds[chosen[table.answer] & ~table.waived], BIASES)
    tried = [
        (score.of(answers(table, odds + bias, cosine)), cosine, float(bias))
        for cosine in COSINES
        for bias in biases
    ]
    best = max(figure for figure, _, _ in tried)
    good = [(cosine, bias) for figure, cosine, bias in tried if figure >= best - ABOUT]
    smallest = min(cosine for cosine, _ in good)
    return float(np.mean([bias for cosine, bias in good if cosine == smallest])), smallest


def _closeness(table: Table, words: Floats, cosine: float, chosen: Bools) -> float:
    """The one that orders the chosen answers best: the mean of every family's sets' mean AUROC."""
    families = np.unique(table.families[chosen])
    groups = [np.unique(table.names[chosen & (table.families == family)]) for family in families]

    def order(closeness: float) -> float:
        odds = answers(table, words, cosine, closeness)
        figures = [
            [
                auroc(odds[here], table.right[here])
                for here in (chosen & (table.names == name) for name in names)
            ]
            for names in groups
        ]
        return float(np.mean([np.mean(each) for each in figures]))

    return max(CLOSENESS, key=order)


class _Score:
    """Balanced accuracy on the chosen answers: the mean of every family's sets' mean."""

    def __init__(self, table: Table, chosen: Bools) -> None:
        self._right = table.right
        self._weight = np.zeros(len(table.items))
        families = np.unique(table.families[chosen])
        for family in families:
            names = np.unique(table.names[chosen & (table.families == family)])
            for name in names:
                for right in (True, False):
                    group = chosen & (table.names == name) & (table.right == right)
                    self._weight[group] = 0.5 / max(group.sum(), 1) / len(names) / len(families)

    def of(self, odds: Floats) -> float:
        return float(self._weight[(odds > 0) == self._right].sum())


def held_out(table: Table, groups: NDArray[np.str_]) -> Floats:
    """Log odds of every answer from weights fitted without its group."""
    result = np.zeros(len(table.items))
    for group in np.unique(groups):
        result[groups == group] = fit(table, groups != group).answers(table)[groups == group]
    return result


def auroc(scores: Floats, right: Bools) -> float:
    """The chance that a right answer scores above a wrong one, ties half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    good, bad = int(right.sum()), int((~right).sum())
    return float((ranks[right].sum() - good * (good + 1) / 2) / (good * bad))


def kinds_alike(accepted: Bools, right: Bools, kinds: NDArray[np.str_]) -> float:
    """Balanced accuracy in which every kind of wrong answer counts alike, however many there are of it."""
    wrong = [float((~accepted[kinds == kind]).mean()) for kind in np.unique(kinds[~right])]
    return float((accepted[right].mean() + np.mean(wrong)) / 2)


def balanced(accepted: Bools, right: Bools) -> float:
    return float((accepted[right].mean() + (~accepted[~right]).mean()) / 2)
