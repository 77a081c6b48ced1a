"""The fitted weights of `weights.json`, and the scores and odds that they give. `benchmarks/short` fits them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from qagen_dagster.models.embedded.answering.candidates import LABELS, Numbers
from qagen_dagster.models.embedded.answering.features import CATEGORIES, NUMBERS, Table
from qagen_dagster.models.embedded.answering.mismatch import MISMATCHES
from qagen_dagster.records.base import Record

FILE = "weights.json"
LARGEST = 4.0  # limit of standardised values, in standard deviations
# Combined categories: each label alone, with the class of answer, with the question word, and a few pairs.
TEMPLATES: tuple[tuple[str, ...], ...] = (
    *((label,) for label in LABELS),
    *((label, "wants") for label in LABELS),
    *((label, "kind") for label in LABELS),
    ("dep", "role"), ("entity", "asked_preposition"), ("preposition", "asked_preposition"), ("first_pos", "last_pos"),
    ("before", "first_pos"), ("dep", "entity"),
)  # fmt: skip
SIGNS = ("agreed", "share", "late", "cosine", "joint", *MISMATCHES)  # inputs of the odds
_PLACES = tuple(tuple(CATEGORIES.index(name) for name in template) for template in TEMPLATES)
_WANTS = CATEGORIES.index("wants")

Weight = Annotated[float, Field(allow_inf_nan=False)]


class Weights(Record):
    """A linear model over `features`.

    Attributes:
        mean, scale: of each of NUMBERS, for standardisation.
        numbers: weights of NUMBERS; "" holds those of all questions, other keys add weights for a class of answer.
        categories: weights by template and values, see `category_keys`.
        odds, bias: a logistic model over SIGNS for whether the chosen span is right.
    """

    mean: tuple[Weight, ...]
    scale: tuple[Weight, ...]
    numbers: Mapping[str, tuple[Weight, ...]]
    categories: Mapping[str, Weight]
    odds: tuple[Weight, ...]
    bias: Weight

    @model_validator(mode="after")
    def _complete(self) -> Self:
        lengths = {len(self.mean), len(self.scale), *map(len, self.numbers.values())}
        if lengths != {len(NUMBERS)} or len(self.odds) != len(SIGNS) or "" not in self.numbers:
            raise ValueError("the weights do not match the features: fit them again")
        return self

    def scores(self, table: Table) -> Numbers:
        """One score per candidate, comparable only between candidates of one question."""
        if not table.candidates:
            return np.zeros(0, dtype=np.float32)
        known = np.array(self.numbers[""], dtype=np.float32)
        special = self.numbers.get(table.categories[0][_WANTS])
        if special is not None:
            known = known + np.array(special, dtype=np.float32)
        sums = [
            sum(self.categories.get(key, 0.0) for key in category_keys(values)) for values in table.categories
        ]
        return np.asarray(
            scaled(table.numbers, self.mean, self.scale) @ known + np.array(sums), dtype=np.float32
        )

    def chance(self, signs: Sequence[float]) -> float:
        """The chance that the chosen span is right, 0 to 1, given the values of SIGNS."""
        odds = self.bias + sum(weight * value for weight, value in zip(self.odds, signs, strict=True))
        return 1 / (1 + math.exp(-max(min(odds, 50.0), -50.0)))


def scaled(numbers: Numbers, mean: Sequence[float], scale: Sequence[float]) -> Numbers:
    """Numbers in standard deviations from their mean, with outliers cut."""
    away = (numbers - np.array(mean, dtype=np.float32)) / np.array(scale, dtype=np.float32)
    return np.clip(away, -LARGEST, LARGEST).astype(np.float32)


def category_keys(values: Sequence[str]) -> Iterator[str]:
    """The keys of one candidate: template number and values."""
    for number, places in enumerate(_PLACES):
        yield f"{number} {' '.join([values[place] for place in places])}"


@lru_cache(maxsize=1)
def weights() -> Weights:
    """The shipped weights."""
    text = resources.files("qagen_dagster.models.embedded.answering").joinpath(FILE).read_text("utf-8")
    return Weights.model_validate(json.loads(text))
