"""How many items each part of an exam gets, from weights and a seed. Pure.

Items are dealt one after the other, each to the difficulty and to the schema that lag most behind their share; the
seed decides ties. So shares are kept as exactly as whole items allow, and more items only add to what fewer got.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from qagen_dagster.configuration.exams import Exam, chosen
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.exam import Difficulty, ExamPart
from qagen_dagster.records.ids import digest

K = TypeVar("K", bound=str)


def quotas(
    exam: Exam,
    items: int,
    seed: int,
    weights: Mapping[Difficulty, float] | None = None,
    prefixes: Sequence[str] | None = None,
) -> dict[ExamPart, int]:
    """The number of slots of every part of the exam, also of those that get none.

    `weights` replace the exam's, `prefixes` narrow its schemas. Raises ConfigError when no schema or no difficulty has a share.
    """
    allowed = chosen(exam.schemas, exam.config.schema_prefixes)
    schemas = {
        one: exam.config.schema_weights.get(one, 1.0) for one in chosen(allowed, tuple(prefixes or ()))
    }
    difficulties = {one: said.weight for one, said in exam.config.difficulties.items()}
    difficulties |= {one: weight for one, weight in (weights or {}).items() if one in difficulties}
    for name, shares in (("schema", schemas.values()), ("difficulty", difficulties.values())):
        if not any(shares):
            raise ConfigError(f"no {name} of exam {exam.key} that is asked for has a weight above 0")
    counts = dict.fromkeys(exam.parts(), 0)
    by_schema, by_difficulty = _deal(schemas, seed, items), _deal(difficulties, seed, items)
    for schema, difficulty in zip(by_schema, by_difficulty, strict=True):
        counts[ExamPart(exam=exam.key, schema_id=schema, difficulty=difficulty)] += 1
    return counts


def _deal(weights: Mapping[K, float], seed: int, items: int) -> Iterator[K]:
    """Whoever lags most behind its share, item by item; ties by the seed."""
    shares = {key: weight / sum(weights.values()) for key, weight in weights.items() if weight > 0}
    had = dict.fromkeys(shares, 0)
    for dealt in range(1, items + 1):
        lag = {key: round(share * dealt - had[key], 9) for key, share in shares.items()}
        last = max(lag.values())
        key = min(
            (one for one in lag if lag[one] == last), key=lambda one: digest(str(seed), str(dealt), one)
        )
        had[key] += 1
        yield key
