"""An agent is data: a prompt, a role, the tools it may use, the terminals that end it, and limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from pydantic import ValidationError

from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import ToolSpec
from qagen_dagster.records.base import Record
from qagen_dagster.toolkit.tool import explain, schema_of


@dataclass(frozen=True)
class Limits:
    """Caps on one agent run; reaching one is a recorded result."""

    max_turns: int = 30
    max_tool_calls: int = 60
    max_nudges: int = 3
    max_faulty_turns: int = 5  # in a row: every tool call has an unknown tool or unreadable arguments


@dataclass(frozen=True)
class Terminal:
    """A tool whose successful call ends the run. Its arguments are the fields of the result record.

    `check` may refuse a result with a ToolError that the model can act on.
    """

    name: str
    result: type[Record]
    check: Callable[[Record], None] | None = None

    def spec(self) -> ToolSpec:
        """The tool as the model sees it; the record's docstring is its description."""
        return _terminal_spec(self.name, self.result)

    def submit(self, arguments: dict[str, object]) -> Record:
        """The result record. Raises ToolError when it does not fit or is refused."""
        try:
            result = self.result.model_validate(arguments)
        except ValidationError as error:
            raise ToolError(explain(error, self.name)) from None
        if self.check is not None:
            self.check(result)
        return result


@cache
def _terminal_spec(name: str, result: type[Record]) -> ToolSpec:
    schema = schema_of(result)
    return ToolSpec(name=name, description=str(schema.pop("description")), parameters=schema)


@dataclass(frozen=True)
class AgentSpec:
    """One agent. `tools` are the names of the tools of its toolbox that it may use.

    With `reads_text`, a reply without a tool call counts as the call if it contains the result as JSON or YAML.
    """

    name: str
    role: str
    prompt: Prompt
    tools: tuple[str, ...]
    terminals: tuple[Terminal, ...]
    limits: Limits = field(default_factory=Limits)
    reads_text: bool = False
