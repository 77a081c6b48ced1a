"""The only agent loop: it asks the model, decides the next step and runs it, until there is a result or a limit is reached.

The state is a `RunState`; the model, the tools and the prompt values are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.agents.dispatch import dispatch, same_call
from qagen_dagster.agents.spec import AgentSpec
from qagen_dagster.agents.steps import (
    LAST_TURNS,
    Finish,
    GiveUp,
    GiveUpReason,
    Nudge,
    RunState,
    RunTools,
    Step,
    decide,
)
from qagen_dagster.agents.text_result import from_text
from qagen_dagster.errors import ContextOverflowError, MalformedResponseError
from qagen_dagster.models.base import Model
from qagen_dagster.models.ledger import fault_of
from qagen_dagster.models.messages import (
    Content,
    Image,
    Request,
    Response,
    Text,
    ToolCall,
    ToolChoice,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from qagen_dagster.toolkit.tool import Tool

_REPEATED = "[You have made this very call before and this is the same answer. Do something else.]"


@dataclass(frozen=True)
class AgentRun:
    """How a run ended, with everything it used."""

    end: Finish | GiveUp
    responses: tuple[Response, ...]
    used: tuple[ToolCall, ...]


def run_agent(
    spec: AgentSpec,
    model: Model,
    tools: dict[str, Tool],
    values: dict[str, str],
    *,
    sample: int = 0,
    pictures: tuple[Image, ...] = (),
    opening: str = "",
) -> AgentRun:
    """Run `spec` to its end. Raises ModelError when the model is not available; a limit that is reached is a result.

    Runs with equal values and different `sample` get different responses. `opening` stands before the user prompt, as the same prefix of
    many runs, so that providers can cache it.
    """
    system, user = spec.prompt.fill(values)
    texts = tuple(Text(text=text) for text in (opening, user) if text)
    content: tuple[Content, ...] = (*texts, *pictures)
    state = RunState(messages=[UserMessage(content=content)])
    allowed = {name: tools[name] for name in spec.tools if name in tools}
    step: Step = Nudge("")
    while not isinstance(step, (Finish, GiveUp)):
        step = _turn(spec, model, allowed, system, state, sample)
    return AgentRun(step, tuple(state.responses), tuple(state.used))


def readable(run: AgentRun) -> AgentRun:
    """The same run. Raises MalformedResponseError when a malformed reply ended it: the work is not finished then."""
    if isinstance(run.end, GiveUp) and run.end.reason is GiveUpReason.MALFORMED:
        raise MalformedResponseError(f"model_error: {run.end.reason.value}: {run.end.detail}")
    return run


def _turn(
    spec: AgentSpec, model: Model, tools: dict[str, Tool], system: str, state: RunState, sample: int
) -> Step:
    if state.turns >= spec.limits.max_turns:
        return GiveUp(GiveUpReason.MAX_TURNS, f"no result after {state.turns} turns")
    state.turns += 1
    specs = (*(tool.spec for tool in tools.values()), *(terminal.spec() for terminal in spec.terminals))
    request = Request(
        system=system,
        messages=tuple(state.messages),
        tools=specs,
        tool_choice=ToolChoice.REQUIRED if not tools else ToolChoice.AUTO,
        sample=sample,
    )
    try:
        response = model.respond(request)
    except MalformedResponseError as error:
        return GiveUp(GiveUpReason.MALFORMED, str(error))
    except ContextOverflowError as error:
        return GiveUp(GiveUpReason.CONTEXT_OVERFLOW, str(error))
    state.responses.append(response)
    names = " or ".join(terminal.name for terminal in spec.terminals)
    step = decide(response, state, spec.limits, names)
    if spec.reads_text:
        step = from_text(step, response, spec.terminals)
    if isinstance(step, RunTools):
        fault = fault_of(request, response)
        state.faulty = 0 if fault is None else state.faulty + 1
        if state.faulty >= spec.limits.max_faulty_turns:
            return GiveUp(GiveUpReason.FAULTY_CALLS, f"{state.faulty} turns in a row, the last: {fault}")
        return _act(step, spec, tools, state, response, names)
    if isinstance(step, Nudge):
        state.nudges += 1
        if response.message.content:
            state.messages.append(response.message)
        state.messages.append(UserMessage(content=(Text(text=step.text),)))
    return step


def _act(
    step: RunTools, spec: AgentSpec, tools: dict[str, Tool], state: RunState, response: Response, names: str
) -> Step:
    repeated = [any(same_call(call, earlier) for earlier in state.used) for call in step.calls]
    outcome = dispatch(step.calls, tools, {terminal.name: terminal for terminal in spec.terminals})
    state.tool_calls += len(step.calls)
    state.used.extend(step.calls)
    if outcome.finished is not None:
        return Finish(*outcome.finished)
    left = spec.limits.max_turns - state.turns
    results = [
        _with_note(result, _REPEATED) if again and not result.is_error else result
        for result, again in zip(outcome.results, repeated, strict=True)
    ]
    if left <= 3:
        results[-1] = _with_note(results[-1], LAST_TURNS.format(left=left, terminals=names))
    state.messages.append(response.message)
    state.messages.append(ToolMessage(results=tuple(results)))
    return step


def _with_note(result: ToolResult, note: str) -> ToolResult:
    return result.model_copy(update={"content": (*result.content, Text(text=note))})
