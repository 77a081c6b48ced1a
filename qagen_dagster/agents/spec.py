"""An agent as data: a prompt, a role, tools, terminals and limits."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from pydantic import ValidationError

from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import ToolSpec
from qagen_dagster.models.structured_output import fitted
from qagen_dagster.records.base import Record
from qagen_dagster.toolkit.tool import explain, schema_of


@dataclass(frozen=True)
class AgentLimits:
    """Limits of one agent run. A run that reaches a limit ends, and the limit is recorded as its result."""

    max_turns: int = 30
    max_tool_calls: int = 60
    max_nudges: int = 3
    max_faulty_turns: int = 5  # consecutive turns with only unknown, unreadable or malformed calls
    max_same_refusals: int = 3  # refusals of one tool with the same message


@dataclass(frozen=True)
class Terminal:
    """A tool whose successful call ends the run. Its arguments are the fields of the result record.

    `check` may refuse a result with a ToolError that the model can act on. `items` names the field of the result whose items are useful
    even if some are missing. The complete items of a reply that was cut off are kept.
    """

    name: str
    result: type[Record]
    check: Callable[[Record], None] | None = None
    items: str = ""

    def spec(self) -> ToolSpec:
        """The tool as the model sees it; the record's docstring is its description."""
        return _terminal_spec(self.name, self.result)

    def submit(self, arguments: dict[str, object]) -> Record:
        """The result record. Raises ToolError when it does not fit or is refused."""
        try:
            result = fitted(self.result, arguments, ignore_unknown=True)
        except ValidationError as error:
            raise ToolError(explain(error, self.name)) from None
        if self.check is not None:
            self.check(result)
        return result

    def submit_part(self, arguments: dict[str, object]) -> Record | None:
        """A result with the complete items of a cut-off reply; None if it has none. `check` sees the result, but cannot refuse it."""
        listed = arguments.get(self.items)
        whole: list[object] = []
        for item in cast("list[object]", listed) if isinstance(listed, list) else ():
            try:
                fitted(self.result, {self.items: [item]})
            except ValidationError:
                continue
            whole.append(item)
        if not whole:
            return None
        result = fitted(self.result, {self.items: whole})
        if self.check is not None:
            with suppress(ToolError):
                self.check(result)
        return result


@cache
def _terminal_spec(name: str, result: type[Record]) -> ToolSpec:
    schema = schema_of(result)
    return ToolSpec(name=name, description=str(schema.pop("description")), parameters=schema)


@dataclass(frozen=True)
class Beginning:
    """The common beginning of the requests of several agents about one document, so that providers cache the document once for all agents.
    The system text of `AgentSpec.prompt` is then below the document. Each agent accepts only those `tools` that are its own terminals."""

    system: str
    tools: tuple[ToolSpec, ...]


@dataclass(frozen=True)
class AgentSpec:
    """One agent. `tools` names the tools of the toolbox that the agent may use.

    With `reads_text`, a reply without a tool call counts as the call if it contains the result as JSON or YAML.
    """

    name: str
    role: str
    prompt: Prompt
    tools: tuple[str, ...]
    terminals: tuple[Terminal, ...]
    limits: AgentLimits = field(default_factory=AgentLimits)
    reads_text: bool = False
    beginning: Beginning | None = None  # only for an agent without `tools`

    @property
    def ends(self) -> str:
        """The names of the terminals, joined by "or", for messages to the model."""
        return " or ".join(terminal.name for terminal in self.terminals)


def without_tools(name: str, role: str, prompt: Prompt, terminal: Terminal, max_nudges: int = 3) -> AgentSpec:
    """An agent that only submits a result, in at most four turns."""
    return AgentSpec(name, role, prompt, (), (terminal,), AgentLimits(max_turns=4, max_nudges=max_nudges))
