from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Text
from qagen_dagster.toolkit.tool import is_misfit, schema_of, tool


class Colour(StrEnum):
    RED = "red"


class Inner(BaseModel):
    title: Annotated[str, Field(description="Its title.")]


class Outer(BaseModel):
    inner: Inner
    others: list[Inner] = []


def paint(
    colour: Annotated[Colour, Field(description="Which.")],
    coats: Annotated[int, Field(description="How many.")] = 1,
) -> str:
    """Paint it."""
    return f"{colour.value} x{coats}"


def test_signature_and_docstring_are_the_schema() -> None:
    spec = tool(paint).spec
    assert (spec.name, spec.description) == ("paint", "Paint it.")
    assert spec.parameters["required"] == ["colour"]
    assert spec.parameters["properties"]["colour"] == {
        "description": "Which.",
        "enum": ["red"],
        "type": "string",
    }


def test_a_property_called_title_survives() -> None:
    schema = schema_of(Outer)
    assert schema["properties"]["inner"]["properties"]["title"]["description"] == "Its title."
    assert schema["properties"]["others"]["items"]["properties"]["title"]["type"] == "string"
    assert "title" not in schema


def test_arguments_are_checked_and_explained() -> None:
    painter = tool(paint)
    assert painter.call({"colour": "red", "coats": "2"}) == (Text(text="red x2"),)
    assert painter.call({"colour": "red", "coats": None}) == (Text(text="red x1"),)
    with pytest.raises(ToolError, match=r"paint was not accepted: colour.*Correct the arguments"):
        painter.call({"colour": "blue"})
    for wrong in ({}, {"colour": "red", "coats": "two"}, {"colour": "red", "x": 1}):
        with pytest.raises(ToolError, match=r"paint was not run: \w+: ") as failed:
            painter.call(wrong)
        assert is_misfit(str(failed.value), "paint")


def test_programming_errors_propagate() -> None:
    def broken() -> str:
        """Break."""
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tool(broken).call({})
