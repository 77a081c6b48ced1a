"""Statistics of counts: how well two reviewers agree, intervals and bounds of shares, and whether paired shares differ.

Source: McNemar, Psychometrika 1947 (paired shares; here the exact binomial test).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

_Z_95 = 1.959963984540054  # 95 % of a normal distribution lie within this many standard deviations


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of the pairs of decisions; None if it is not defined, because all decisions of both reviewers are the same."""
    count = len(pairs)
    observed = sum(first == second for first, second in pairs) / count
    ours, theirs = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    expected = sum(ours[name] * theirs[name] for name in ours) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def wilson(part: float, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share `part` / `whole`. If `part` is a sum of values from 0 to 1, the interval is wide enough."""
    if not whole:
        return 0.0, 1.0
    share, spread = part / whole, _Z_95**2 / whole
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def mcnemar(first: int, second: int) -> float:
    """The two-sided p-value if `first` questions were answered right only by one system, and `second` only by the other."""
    tail = sum(math.comb(first + second, count) for count in range(min(first, second) + 1))
    return min(1.0, 2 * tail / 2 ** (first + second))


def bounds(total: float, measured: int, questions: int) -> tuple[float, float]:
    """What the mean would be if all questions that were not measured were wrong (0), and if they were right (1)."""
    return round(total / questions, 4), round((total + questions - measured) / questions, 4)


def share_with_bounds(name: str, values: Sequence[float], questions: int) -> dict[str, float]:
    """The mean of values under `name`, and its bounds over all questions under `<name>_lower` and `<name>_upper`."""
    if not values:
        return {}
    lower, upper = bounds(sum(values), len(values), questions)
    return {name: round(fmean(values), 4), f"{name}_lower": lower, f"{name}_upper": upper}
