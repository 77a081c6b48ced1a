"""The next step of an agent run: run tools, nudge the model, finish or give up. `decide` chooses it from a response and the run's state."""

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum

from qagen_dagster.agents.spec import AgentLimits, AgentSpec
from qagen_dagster.models.messages import Message, Response, Stop, ToolCall
from qagen_dagster.records.base import Record

NUDGE_NO_CALL = (
    "Nothing was done: your reply called no tool. Go on with one of the tools, or end with {terminals}."
)
NUDGE_CUT = "Your reply was cut off by its length limit, so nothing was done. Be brief: call one tool now."
LAST_TURN_COUNT = 3  # turns that are left when the agent is first told
LAST_TURNS = "[{left} of your turns are left: end soon with {terminals}.]"


class GiveUpReason(StrEnum):
    """The reasons why a run ended without a result."""

    MAX_TURNS = "max_turns"
    MAX_TOOL_CALLS = "max_tool_calls"
    NO_TOOL_CALL = "no_tool_call"
    REFUSED = "refused"
    FILTERED = "filtered"
    MALFORMED = "malformed"
    CONTEXT_OVERFLOW = "context_overflow"
    FAULTY_CALLS = "faulty_calls"
    OUTPUT_LIMIT = "output_limit"  # replies were cut off at max_output_tokens


@dataclass(frozen=True)
class Finish:
    """The agent submitted its result through the terminal called `name`."""

    name: str
    result: Record
    cut: bool = False  # the reply was cut off, and the result has only the items before the cut


@dataclass(frozen=True)
class RunTools:
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True)
class Nudge:
    text: str


# After these ends nothing is known about the task, because no reply was usable. A refusal or a limit of turns or calls is a result.
_UNUSABLE = (
    GiveUpReason.OUTPUT_LIMIT,
    GiveUpReason.NO_TOOL_CALL,
    GiveUpReason.MALFORMED,
    GiveUpReason.CONTEXT_OVERFLOW,
    GiveUpReason.FAULTY_CALLS,
)


@dataclass(frozen=True)
class GiveUp:
    """The agent ended without a result. As text: `reason: detail`."""

    reason: GiveUpReason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"


def ended_by(failure: str, *reasons: GiveUpReason) -> bool:
    """Whether a run ended for one of the reasons. `failure` is the text of its GiveUp."""
    return failure.removeprefix("comparison: ").startswith(tuple(f"{one.value}: " for one in reasons))


def is_unusable(failure: str) -> bool:
    """Whether a run ended because no reply was usable. In this case the work is not finished."""
    return ended_by(failure, *_UNUSABLE)


Step = Finish | RunTools | Nudge | GiveUp


@dataclass
class RunState:
    """The changing state of a run."""

    messages: list[Message]
    turns: int = 0
    tool_calls: int = 0
    nudges: int = 0
    cut: int = 0  # number of replies that were cut off and useless
    faulty: int = 0  # consecutive turns in which every tool call was faulty
    # turns with a refusal, by tool and message; `refusal` is the last message
    misfits: Counter[str] = field(default_factory=Counter[str])
    refusal: str = ""
    responses: list[Response] = field(default_factory=list[Response])
    used: list[ToolCall] = field(default_factory=list[ToolCall])  # every call that was run, in order


def decide(response: Response, state: RunState, limits: AgentLimits, terminals: str) -> Step:
    """The step that follows a response, before any tool is run."""
    if response.stop in (Stop.REFUSAL, Stop.FILTER):
        reason = GiveUpReason.REFUSED if response.stop is Stop.REFUSAL else GiveUpReason.FILTERED
        return GiveUp(reason, _line(response.message.text) or "the model would not answer")
    calls = response.message.tool_calls
    if calls:
        if state.tool_calls + len(calls) > limits.max_tool_calls:
            return GiveUp(GiveUpReason.MAX_TOOL_CALLS, f"more than {limits.max_tool_calls} tool calls")
        return RunTools(calls)
    if state.nudges >= limits.max_nudges:
        written = response.message
        return GiveUp(GiveUpReason.NO_TOOL_CALL, _line(written.text) or written.in_reasoning or "empty reply")
    cut = response.stop is Stop.LENGTH
    return Nudge(NUDGE_CUT if cut else NUDGE_NO_CALL.format(terminals=terminals))


def _line(text: str) -> str:
    """The beginning of `text` in one line."""
    return " ".join(text[:500].split())


_CUT = "your reply was cut off at its limit of {most} tokens: give fewer or shorter items"
RAISE = "cut off at {most} output tokens: raise `max_output_tokens` of the {role}, or the limit of its server"


def after_cut(step: Step, response: Response, state: RunState, spec: AgentSpec, most: int) -> Step:
    """The step after a reply that was cut off: its complete items are the result, or else a message to the model states the cut.

    A second cut ends the run. A run for several items ends at the first cut, because the caller then asks for fewer items.
    `most` is the number of output tokens that the model may write.
    """
    ended = isinstance(step, GiveUp) and step.reason is not GiveUpReason.NO_TOOL_CALL
    if response.stop is not Stop.LENGTH or ended or isinstance(step, Finish):
        return step
    last = step.calls[-1] if isinstance(step, RunTools) else None
    if last is not None:
        if last.fault is None:
            return step
        terminal = next((one for one in spec.terminals if one.name == last.name), None)
        part = None if terminal is None else terminal.submit_part(last.arguments)
        if part is not None:
            return Finish(last.name, part, cut=True)
    state.cut += 1
    limit = response.usage.output_tokens or most
    if state.cut > 1 or any(one.items for one in spec.terminals):
        return GiveUp(GiveUpReason.OUTPUT_LIMIT, RAISE.format(most=limit, role=spec.role))
    if not isinstance(step, RunTools) or last is None:
        return step
    faulty = last.model_copy(update={"fault": _CUT.format(most=limit)})
    return replace(step, calls=(*step.calls[:-1], faulty))
