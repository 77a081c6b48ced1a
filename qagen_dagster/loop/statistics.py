"""Statistics: agreement of reviewers, intervals and tests of shares, and scores of candidates on items (correlations, two-parameter model).

Sources: Korn and Graubard, Survey Methodology 1998 (intervals of shares in clusters); McNemar, Psychometrika 1947 (paired shares);
Holm, Scandinavian Journal of Statistics 1979 (several tests).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, pvariance

import numpy as np
from numpy.typing import NDArray

_Z_95 = 1.959963984540054  # 95 % of a normal distribution lie within this many standard deviations
_Z_80 = 0.8416212335729143  # 80 % of a normal distribution lie below
# A smaller design effect counts as chance. The value was chosen by simulation, like the degrees of freedom.
_LEAST_EFFECT = 0.8


def kappa_and_interval(pairs: Sequence[tuple[str, str]]) -> tuple[float, float, float] | None:
    """Cohen's kappa of the pairs of decisions, and the ends of its 95 % interval, from Wilson's interval of the share of equal decisions.

    None if kappa is not defined because all decisions of both reviewers are the same.
    """
    count, same = len(pairs), sum(first == second for first, second in pairs)
    ours, theirs = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(ours[name] * theirs[name] for name in ours) / count**2
    if chance == 1:
        return None
    value, low, high = ((share - chance) / (1 - chance) for share in (same / count, *wilson(same, count)))
    return value, low, high


def krippendorff(units: Iterable[Iterable[str]]) -> float | None:
    """Krippendorff's alpha of nominal values, where each unit holds the values that people gave it. None if alpha is not defined."""
    counted = [one for one in map(Counter, units) if one.total() > 1]

    def differing(values: Counter[str]) -> float:
        return (values.total() ** 2 - sum(count**2 for count in values.values())) / max(1, values.total() - 1)

    expected = differing(sum(counted, Counter[str]()))
    return 1 - sum(map(differing, counted)) / expected if expected else None


def wilson(part: float, whole: float, deviations: float = _Z_95) -> tuple[float, float]:
    """Wilson's interval of the share `part` / `whole`, of 95 %, or of `deviations` standard deviations."""
    if not whole:
        return 0.0, 1.0
    share, spread = part / whole, deviations**2 / whole
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class Clustered:
    """The 95 % interval of the mean of values from 0 to 1 that lie in clusters.

    `design_effect`: the factor by which the clusters change the variance of the mean. None if all values are equal or in one cluster.
    """

    low: float
    high: float
    design_effect: float | None


def clustered(clusters: Collection[Sequence[float]]) -> Clustered:
    """Wilson's interval of the mean of all values, for the number of independent values that would give the same variance.

    Student's t widens the interval for few clusters. Values of a single cluster count as independent, because nothing else is known.
    """
    values = list(chain.from_iterable(clusters))
    total, count = sum(values), len(values)
    spread = pvariance(values) if values else 0.0
    if len(clusters) < 2 or not spread:
        return Clustered(*wilson(total, count), None)
    effect = cluster_variance(clusters) * count / spread
    share = total / count
    independent = share * (1 - share) * count / (spread * max(_LEAST_EFFECT, effect))
    alike = count**2 / sum(len(part) ** 2 for part in clusters)  # the equivalent number of equal clusters
    return Clustered(*wilson(share * independent, independent, student(max(1, round(alike) - 1))), effect)


def cluster_variance(clusters: Collection[Sequence[float]]) -> float:
    """The variance of the mean of all values, from the differences between clusters. There must be at least two clusters."""
    count = sum(map(len, clusters))
    mean = sum(map(sum, clusters)) / count
    squares = sum((sum(part) - len(part) * mean) ** 2 for part in clusters)
    return squares / count**2 * len(clusters) / (len(clusters) - 1)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t; from three degrees of freedom on, the error is at most 0.03 (Abramowitz and Stegun, 26.7.5)."""
    if freedom < 3:
        return (12.706, 4.303)[freedom - 1]
    z = _Z_95
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def sign_flips(differences: Sequence[int]) -> float:
    """The exact two-sided p-value of the sum of `differences`, if a coin decided each sign.

    A difference is the excess of one cluster in favour of the first system. With one question in each cluster this is McNemar's
    exact test.
    """
    sizes = [abs(difference) for difference in differences if difference]
    chances = {0: 1.0}
    for size in sizes:
        drawn: dict[int, float] = {}
        for total, chance in chances.items():
            for place in (total - size, total + size):
                drawn[place] = drawn.get(place, 0.0) + chance / 2
        chances = drawn
    seen = abs(sum(differences))
    return min(1.0, sum(chance for total, chance in chances.items() if abs(total) >= seen))


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of several tests, raised so that each can be read as if its test were the only one."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    found, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, values[place] * (len(values) - rank)))
        found[place] = least
    return found


def questions_needed(difference: float, variance: float, effect: float) -> int:
    """The number of questions that show a difference of two systems in four of five sets, with a two-sided test at 5 %.

    `variance` is the variance of the difference in one question, and `effect` is the design effect of the mean difference.
    """
    return math.ceil((_Z_95 + _Z_80) ** 2 * variance * effect / difference**2)


def bounds(total: float, measured: int, questions: int) -> tuple[float, float]:
    """The mean if all unmeasured questions were wrong (0), and the mean if they were right (1)."""
    return round(total / questions, 4), round((total + questions - measured) / questions, 4)


def share_with_bounds(name: str, values: Sequence[float], questions: int) -> dict[str, float]:
    """The mean of values under `name`, and its bounds over all questions under `<name>_lower` and `<name>_upper`."""
    if not values:
        return {}
    lower, upper = bounds(sum(values), len(values), questions)
    return {name: round(fmean(values), 4), f"{name}_lower": lower, f"{name}_upper": upper}


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
        ability = np.linspace(-4, 4, 41)  # points of numerical integration
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
            # The limits are needed, because Newton steps may overshoot.
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
