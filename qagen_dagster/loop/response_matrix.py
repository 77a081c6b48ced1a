"""A matrix of scores, of candidates or answerers by items, with correlations, their resamples, and the two-parameter model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 1_000
ROUNDS, PRIOR = 60, 1.0  # iterations of EM; variance of the priors
CELLS = 4_000_000  # maximum cells of a table of resamples in memory


class Scores:
    """The scores of candidates (rows) on items (columns), from 0 to 1. There is at least one candidate and one item."""

    def __init__(self, right: Floats | Sequence[Sequence[float]]) -> None:
        self.right: Floats = np.array(right, dtype=np.float64)
        self.scores: Floats = self.right.sum(axis=1)
        count = len(self.scores)
        # Row 0 is the sample, and the other rows are resamples. A row holds the share of each candidate in its sample.
        drawn = np.random.default_rng(0).multinomial(
            count, np.full(count, 1 / count), min(RESAMPLES, CELLS // count)
        )
        self.weights: Floats = np.vstack([np.ones(count), drawn]) / count

    def discrimination(self, column: int) -> Floats:
        """The correlation of an item with the score on the other items, as `correlation` returns it."""
        return self.correlation(self.right[:, column], self.scores - self.right[:, column])

    def two_parameters(self) -> tuple[list[float], list[float]]:
        """The slope and the difficulty of each item by the two-parameter logistic model (Birnbaum 1968).

        Marginal maximum a posteriori by EM (Bock & Aitkin 1981): abilities are standard normal, and priors keep slopes near 1 and
        difficulties near 0, because few candidates do not determine them.
        """
        right = self.right
        ability = np.linspace(-4, 4, 41)
        slope, level = np.ones(right.shape[1]), np.zeros(right.shape[1])
        for _ in range(ROUNDS):
            chance = 1 / (1 + np.exp(-(np.outer(ability, slope) + level)))
            likely = right @ np.log(chance).T + (1 - right) @ np.log(1 - chance).T - ability**2 / 2
            each = np.exp(likely - likely.max(axis=1, keepdims=True))
            each /= each.sum(axis=1, keepdims=True)
            count, spread = each.sum(axis=0)[:, None], chance * (1 - chance)
            off = each.T @ right - count * chance
            by_slope, by_level = ability @ off - (slope - 1) / PRIOR, off.sum(axis=0) - level / PRIOR
            curve = [ability**power @ (count * spread) for power in (0, 1, 2)]
            first, mixed, second = curve[0] + 1 / PRIOR, curve[1], curve[2] + 1 / PRIOR
            whole = first * second - mixed**2
            slope = np.clip(slope + (first * by_slope - mixed * by_level) / whole, 0.05, 4)
            level = np.clip(level + (second * by_level - mixed * by_slope) / whole, -6, 6)
        return [float(one) for one in slope], [float(one) for one in -level / slope]

    def variance(self, values: Floats) -> Floats:
        return self.weights @ values**2 - (self.weights @ values) ** 2

    def correlation(self, one: Floats, other: Floats) -> Floats:
        """The correlation in the sample and in each resample; NaN where `one` or `other` does not vary."""
        together = self.weights @ (one * other) - (self.weights @ one) * (self.weights @ other)
        return over(together, np.sqrt(np.clip(self.variance(one) * self.variance(other), 0, None)))


def over(one: Floats, other: Floats) -> Floats:
    return np.where(other > 1e-12, one / np.where(other > 1e-12, other, 1), np.nan)
