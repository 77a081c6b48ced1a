"""The base class of all records, and the types of values that records of several products use."""

from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from qagen_dagster.records.text import mended

# The schema does not tell the least length, so that stored requests stay valid
Said = Annotated[
    str, Field(min_length=1, max_length=20_000), WithJsonSchema({"type": "string", "maxLength": 20_000})
]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MathText = Annotated[
    str, Field(min_length=1), BeforeValidator(mended), WithJsonSchema({"type": "string", "minLength": 1})
]


def _inside(value: str) -> str:
    path = PurePosixPath(value)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in value:
        raise ValueError("must be a relative path that stays in its folder")
    return value


Inside = Annotated[str, AfterValidator(_inside)]


class Record(BaseModel):
    """A frozen value that can be read from JSON and written to it. Unknown fields are refused, because they may be typing errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    def shared(self, kind: "type[Record]", **changes: object) -> dict[str, Any]:
        """The values, by name, of the fields that this record has in common with records of `kind`, updated with `changes`."""
        same = {name: getattr(self, name) for name in kind.model_fields if name in type(self).model_fields}
        return same | changes


class Difficulty(StrEnum):
    """The intended difficulty of an item."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Unable(Record):
    """Say that this cannot be done honestly, and why, in one line."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]
