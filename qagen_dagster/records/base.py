"""The one base class of all records: frozen, closed, JSON in and out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value; unknown fields are refused so that a typo never becomes data."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
