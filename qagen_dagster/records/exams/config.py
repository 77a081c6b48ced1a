"""The settings of an exam.yaml. `configuration/exams.py` reads it and the schemas.md beside it, and reports errors with their lines."""

from typing import Annotated

from pydantic import Field, StringConstraints, field_validator, model_validator

from qagen_dagster.records.base import Difficulty, Inside, Record
from qagen_dagster.records.exams.submissions import StyleScores
from qagen_dagster.records.ids import Name

Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Retries = Annotated[int, Field(ge=0, le=20)]
MOST_ITEMS = 9_999  # maximum items of one exam, because the number of a slot has four digits
MOST_SEED = 999_999


class DifficultyConfig(Record):
    """The weight of a difficulty relative to the other difficulties, and its meaning in words for the designer."""

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
    """The conditions for an item to pass: no style score is below `least_score`, and their mean is at least `least_mean`.

    `most_flaws` is the maximum number of item-writing flaws; None: flaws are not counted, and the style judge is not asked for them.
    """

    least_score: Annotated[int, Field(ge=0, le=10)] = 7
    least_mean: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 8.0
    most_flaws: Annotated[int | None, Field(ge=0, le=19, exclude_if=lambda value: value is None)] = None

    def accepts(self, scores: StyleScores) -> bool:
        """Whether the scores pass. The verdict of the style judge and the number of flaws do not matter here."""
        return min(scores.values) >= self.least_score and scores.mean >= self.least_mean


class ExamConfig(Record):
    """One exam.

    Attributes:
        name: the name in prompts and exports.
        profile: the name of the profile, which a run may replace; None: the default profile.
        candidate_profile: a description of the candidates, for all four roles.
        style_notes: descriptions of the style of the questions, for the implementer and the style judge.
        difficulties: the difficulties with their weights. A difficulty with weight 0 gets no items.
        schema_prefixes: only schemas whose ids begin with one of these prefixes are used; empty: all.
        schema_weights: weights by schema id; other schemas have the weight 1.
        items: the number of items that are designed. Each item is then accepted or rejected.
        seed: the random seed; another seed gives another bank.
        max_designer_retries: the maximum number of further designs after a design that cannot be used.
        max_implementer_retries: the maximum number of further implementations of an idea.
        thresholds: the limits for style scores and flaws.
        prompts: a folder with prompts that replace shipped ones, relative to the folder of the exam.
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
    prompts: Inside | None = None

    @field_validator("difficulties", mode="before")
    @classmethod
    def _weights_alone(cls, value: object) -> object:
        """Reads a number, as in `easy: 0.3`, as a weight. A missing weight or meaning has its default."""
        if not isinstance(value, dict):
            return value
        return {key: _full(key, setting) for key, setting in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    @model_validator(mode="after")
    def _some_weight(self) -> "ExamConfig":
        if not any(difficulty.weight for difficulty in self.difficulties.values()):
            raise ValueError("difficulties: every weight is 0")
        return self


def _full(key: object, value: object) -> object:
    known = next((default for name, default in DEFAULT_DIFFICULTIES.items() if name == key), None)
    if known is None or isinstance(value, DifficultyConfig):
        return value
    if isinstance(value, dict):
        return {"weight": known.weight, "meaning": known.meaning} | value  # pyright: ignore[reportUnknownVariableType]
    return {"weight": value, "meaning": known.meaning}
