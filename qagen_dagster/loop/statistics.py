"""Statistics of counts: how well two reviewers agree, and the interval of a share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

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
