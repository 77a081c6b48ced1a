from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field

from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Image, Text
from qagen_dagster.records.base import Record
from qagen_dagster.toolkit.tool import Tool, ToolReturn, tool

PICTURE = Image(media_type="image/png", data=b"\x89PNG", title="page 1")


class Found(Record):
    """Say what was found."""

    what: Annotated[str, Field(min_length=1)]


class Stuck(Record):
    """Say why nothing was found."""

    why: str


def refuse_wool(result: Record) -> None:
    if isinstance(result, Found) and result.what == "wool":
        raise ToolError("Not wool. Look again.")


def look(where: str) -> ToolReturn:
    """Look somewhere."""
    if where == "nowhere":
        raise ToolError("There is nowhere to look. Look in the box.")
    return f"In the {where} is a cat."


def show(page: int = 1) -> ToolReturn:
    """Show a page."""
    return (Text(text=f"page {page}"), PICTURE)


def crash() -> ToolReturn:
    """Break."""
    raise ZeroDivisionError("a mistake of ours")


@pytest.fixture
def tools() -> dict[str, Tool]:
    return {one.spec.name: one for one in map(tool, (look, show, crash))}


@pytest.fixture
def agent() -> AgentSpec:
    return agent_of(AgentLimits(max_turns=8, max_tool_calls=20, max_nudges=2))


def agent_of(limits: AgentLimits, names: tuple[str, ...] = ("look", "show", "crash")) -> AgentSpec:
    return AgentSpec(
        name="finder",
        role="generator",
        prompt=Prompt("finder", "You look for things.", "Find the ${thing}."),
        tools=names,
        terminals=(Terminal("submit", Found, refuse_wool), Terminal("give_up", Stuck)),
        limits=limits,
    )
