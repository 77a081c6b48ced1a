"""The detector's weights, as `benchmarks/grounding` fitted them, and the chance they give a claim.

What belongs here: reading `calibration.json` once and applying it. What does not: features (`features.py`), and fitting.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import resources
from typing import Annotated

from pydantic import Field

from qagen_dagster.grounding.features import SIGNS, Measured
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import fingerprint

FILE = "calibration.json"
BARELY = 0.01


class Calibration(Record):
    """A logistic model: weights by feature, and the chance from which a claim counts as supported."""

    weights: dict[str, Annotated[float, Field(allow_inf_nan=False)]]
    bias: Annotated[float, Field(allow_inf_nan=False)]
    threshold: Annotated[float, Field(gt=0, lt=1)]
    cosine: Annotated[
        float, Field(ge=-1, le=1)
    ]  # from which a conclusion in words of its own counts as supported

    closeness: Annotated[
        float, Field(ge=0)
    ]  # what a cosine of 1 is worth among such conclusions, in log odds

    def odds(self, measured: Measured) -> float:
        """The log odds of the claim by its words; a feature without a weight does not count."""
        return self.bias + sum(
            self.weights.get(name, 0.0) * value for name, value in zip(SIGNS, measured.values, strict=True)
        )

    def conclusion(self, odds: float, cosine: float) -> float:
        """The chance of a conclusion that counts as supported: just enough, and more the better its words and its cosine."""
        return self.threshold + BARELY * chance(odds + self.closeness * cosine)

    def undecided(self, odds: float) -> float:
        """The chance of a refused claim that says too little for its words to tell much: just not enough."""
        return self.threshold - BARELY * (1 - chance(odds))


def chance(odds: float) -> float:
    """From log odds to 0 to 1."""
    return 1 / (1 + math.exp(-max(min(odds, 50.0), -50.0)))


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The weights that ship with this version."""
    return Calibration.model_validate(json.loads(_text()))


@lru_cache(maxsize=1)
def version() -> str:
    """Changes with the weights and the threshold: part of what grades depend on."""
    return fingerprint([_text()])


def _text() -> str:
    return resources.files("qagen_dagster.grounding").joinpath(FILE).read_text(encoding="utf-8")
