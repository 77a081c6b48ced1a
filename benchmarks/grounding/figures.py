"""AUROC with 95 % intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np

ROUNDS = 200


def auroc(scores: Sequence[float], right: Sequence[bool]) -> float:
    """The chance that a right answer scores higher than a wrong one; ties count half."""
    values, truth = np.asarray(scores), np.asarray(right, dtype=bool)
    positive, negative = int(truth.sum()), int((~truth).sum())
    if not positive or not negative:
        return math.nan
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative))


def auroc_interval(
    scores: Sequence[float], right: Sequence[bool], documents: Sequence[str]
) -> tuple[float, float]:
    """95 % interval by drawing documents."""
    groups: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        groups.setdefault(document, []).append(place)
    lists, chance = list(groups.values()), random.Random(7)
    found: list[float] = []
    for _ in range(ROUNDS):
        drawn = [place for group in chance.choices(lists, k=len(lists)) for place in group]
        found.append(auroc([scores[place] for place in drawn], [right[place] for place in drawn]))
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)
