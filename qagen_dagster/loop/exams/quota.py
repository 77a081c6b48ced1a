"""Computes the number of items of each part of an exam from weights and a seed.

Items are assigned one by one to the difficulty and the schema that are furthest below their share. The seed breaks ties. So the
shares are as exact as possible, and a larger number of items never reduces the number of a part.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from qagen_dagster.configuration.exams.loading import Exam, chosen
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.item import (
    ExamPart,
)
from qagen_dagster.records.ids import digest


def quotas(
    exam: Exam,
    items: int,
    seed: int,
    weights: Mapping[Difficulty, float] | None = None,
    prefixes: Sequence[str] | None = None,
) -> dict[ExamPart, int]:
    """The number of slots of every part of the exam, including parts without slots.

    `weights` replace those of the exam. `prefixes` select schemas. Raises ConfigError when no schema or no difficulty has a share,
    and for an invalid weight or a weight of a difficulty that the exam does not have.
    """
    allowed = chosen(exam.schemas, exam.config.schema_prefixes)
    schemas = {
        one: exam.config.schema_weights.get(one, 1.0) for one in chosen(allowed, tuple(prefixes or ()))
    }
    difficulties = {one: said.weight for one, said in exam.config.difficulties.items()}
    for one, weight in (weights or {}).items():
        if one not in difficulties:
            raise ConfigError(f"exam {exam.key} has no {one.value} items to give a weight to")
        if not 0 <= weight < math.inf:
            raise ConfigError(f"the weight of {one.value} items must be a number of at least 0, not {weight}")
        difficulties[one] = weight
    for name, shares in (("schema", schemas.values()), ("difficulty", difficulties.values())):
        if not any(shares):
            raise ConfigError(f"no selected {name} of exam {exam.key} has a weight above 0")
    by_schema = _deal(tuple(schemas.items()), seed, items)
    by_difficulty = _deal(tuple((one.value, weight) for one, weight in difficulties.items()), seed, items)
    dealt = Counter(zip(by_schema, by_difficulty, strict=True))
    return {part: dealt[part.schema_id, part.difficulty.value] for part in exam.parts()}


@lru_cache(maxsize=16)  # called for every part of an exam with the same arguments
def _deal(weights: tuple[tuple[str, float], ...], seed: int, items: int) -> tuple[str, ...]:
    """The name that is furthest below its share, for each item. The seed breaks ties."""
    whole = sum(weight for _, weight in weights)
    shares = {key: weight / whole for key, weight in weights if weight > 0}
    had = dict.fromkeys(shares, 0)
    order: list[str] = []
    for dealt in range(1, items + 1):
        lag = {key: round(share * dealt - had[key], 9) for key, share in shares.items()}
        last = max(lag.values())
        key = min(
            (one for one in lag if lag[one] == last), key=lambda one: digest(str(seed), str(dealt), one)
        )
        had[key] += 1
        order.append(key)
    return tuple(order)
