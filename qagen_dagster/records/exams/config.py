"""The settings of an exam.yaml. `configuration/exams.py` reads them, and the schemas.md beside it, with line numbers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, field_validator, model_validator

from qagen_dagster.records.base import Difficulty, Record
from qagen_dagster.records.exams.submissions import StyleScores
from qagen_dagster.records.ids import Name

Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Retries = Annotated[int, Field(ge=0, le=20)]
MOST_ITEMS = 9_999  # of one exam: a slot's number has four digits
MOST_SEED = 999_999


class DifficultyConfig(Record):
    """One difficulty: its share of the items, relative to the others', and what the designer is told of it."""

    weight: Weight
    meaning: Prose


DEFAULT_DIFFICULTIES = {
    Difficulty.EASY: DifficultyConfig(
        weight=0.3, meaning="One step of insight; a well-prepared candidate sees it within a minute."
    ),
    Difficulty.MEDIUM: DifficultyConfig(
        weight=0.5, meaning="The insight has to be found among likelier-looking ways; about two minutes."
    ),
    Difficulty.HARD: DifficultyConfig(
        weight=0.2, meaning="The insight is well hidden or needs two views of one thing; up to four minutes."
    ),
}


class StyleThresholds(Record):
    """When six style scores pass: no score below `least_score`, and a mean of at least `least_mean`."""

    least_score: Annotated[int, Field(ge=0, le=10)] = 7
    least_mean: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 8.0

    def accepts(self, scores: StyleScores) -> bool:
        """Decided here, never by the model."""
        return min(scores.values) >= self.least_score and sum(scores.values) >= self.least_mean * len(
            scores.values
        )


class ExamConfig(Record):
    """One exam.

    Attributes:
        name: as it stands in prompts and exports.
        profile: which models, unless the run has a wish.
        candidate_profile: who sits the exam; all four roles are told.
        style_notes: how its questions look; implementer and style judge are told.
        difficulties: weights are relative; one of weight 0 gets no items.
        schema_prefixes: only schemas whose id begins with one of these; empty: all.
        schema_weights: by schema id; 1 where nothing is said.
        items: how many are designed in all; each is accepted or rejected.
        seed: another one gives another bank.
        max_designer_retries: further designs when the first cannot be used.
        max_implementer_retries: further implementations of one idea.
        thresholds: of the style scores.
    """

    name: Prose
    profile: Name | None = None
    candidate_profile: Prose
    style_notes: tuple[Prose, ...] = ()
    difficulties: Annotated[dict[Difficulty, DifficultyConfig], Field(min_length=1)] = Field(
        default_factory=lambda: dict(DEFAULT_DIFFICULTIES)
    )
    schema_prefixes: tuple[Prose, ...] = ()
    schema_weights: dict[Name, Weight] = Field(default_factory=dict)
    items: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 1
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 0
    max_designer_retries: Retries = 2
    max_implementer_retries: Retries = 2
    thresholds: StyleThresholds = StyleThresholds()

    @field_validator("difficulties", mode="before")
    @classmethod
    def _weights_alone(cls, value: object) -> object:
        """`easy: 0.3` is the weight alone, with the usual meaning."""
        if not isinstance(value, dict):
            return value
        return {key: _full(key, one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    @model_validator(mode="after")
    def _some_weight(self) -> ExamConfig:
        if not any(one.weight for one in self.difficulties.values()):
            raise ValueError("difficulties: every weight is 0")
        return self


def _full(key: object, value: object) -> object:
    known = next((one for name, one in DEFAULT_DIFFICULTIES.items() if name == key), None)
    if known is None or isinstance(value, DifficultyConfig):
        return value
    if isinstance(value, dict):
        return {"weight": known.weight, "meaning": known.meaning} | value  # pyright: ignore[reportUnknownVariableType]
    return {"weight": value, "meaning": known.meaning}
