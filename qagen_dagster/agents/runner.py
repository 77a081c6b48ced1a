"""Runs one agent to its end: sends requests to the model, runs the tools that it calls, and stops at a result or a limit.

`next_step.py` decides what follows a reply: run its tools, ask again, finish or give up. This module counts turns and calls; their limits
are in `AgentLimits` (`spec.py`) and in each agent's module. The tool calls of a turn are answered exactly once, in call order. They run in
the only thread pool of agents. A ToolError becomes content for the model; any other error propagates. A result that a model wrote as text
(JSON or YAML, with or without a code fence) instead of calling the tool is read tolerantly. Tokens, cost and time are counted, too.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import JsonValue

from qagen_dagster import errors
from qagen_dagster.agents.next_step import (
    LAST_TURN_COUNT,
    LAST_TURNS,
    Finish,
    GiveUp,
    GiveUpReason,
    Nudge,
    RunState,
    RunTools,
    Step,
    after_cut,
    decide,
)
from qagen_dagster.agents.spec import AgentSpec, Terminal
from qagen_dagster.configuration.yaml_files import read_text
from qagen_dagster.models import messages
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import cost_of
from qagen_dagster.models.call_cost import usd
from qagen_dagster.models.ledger import fault_of
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.structured_output import read_object
from qagen_dagster.records.base import Record
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.tool import Tool, is_misfit

MAX_PARALLEL = 8  # tool calls of one turn
_ROW = re.compile(r"\d+\| ")  # a numbered line of the document
_ABOVE = "[rows that an earlier result of this turn shows]"
_NOT_RUN = "Not run: "
_NUMBER = re.compile(r"\d+")
_TWICE = "Not run: {name} already ended this task in the same turn."
_AFTER_REFUSAL = "Not run: an earlier {name} of this turn was refused. Read why, then submit once."
UNREADABLE = (
    "Your reply could not be read as {names}: {fault}. Call the tool, or give the whole of it once more."
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[A-Za-z]{0,10}[ \t]*$", re.MULTILINE)
_STRAY_BACKSLASH = re.compile(r'\\(?:([\\/"])|(?![bfnrtu]))')
_MOST_CHARACTERS = 100_000  # of a reply that is searched for a result
_AFTER_USELESS = 10**15  # difference between the sample numbers of two tries
# Ends of runs whose replies are all in the ledger.
_REPLAYED = (
    GiveUpReason.NO_TOOL_CALL,
    GiveUpReason.FAULTY_CALLS,
    GiveUpReason.REFUSED,
    GiveUpReason.FILTERED,
)
_TOO_LONG = "; give the server a larger context, or lower `opening_characters` of the model in the profile"
_REPEATED = "[You have made this very call before and this is the same answer. Do something else.]"


@dataclass(frozen=True)
class TurnOutcome:
    """All tool results of a turn, and the submitted result if a terminal accepted a result."""

    results: tuple[messages.ToolResult, ...]
    finished: tuple[str, Record] | None


def dispatch(
    calls: Sequence[messages.ToolCall], tools: dict[str, Tool], terminals: dict[str, Terminal]
) -> TurnOutcome:
    """Run ordinary tools in parallel, then terminals in order. The first terminal that accepts a result ends the run.

    After a refusal, later calls of that terminal in the turn are not run, because the model wrote them before it knew of the refusal.
    """
    ordinary = [call for call in calls if call.name not in terminals]
    answers = dict(zip((id(call) for call in ordinary), _run_all(ordinary, tools, terminals), strict=True))
    finished: tuple[str, Record] | None = None
    refused: set[str] = set()
    for call in calls:
        if call.name not in terminals:
            continue
        if finished is not None:
            answers[id(call)] = _error(call, _TWICE.format(name=finished[0]))
            continue
        if call.name in refused:
            answers[id(call)] = _error(call, _AFTER_REFUSAL.format(name=call.name))
            continue
        answers[id(call)], result = _submit(call, terminals[call.name])
        if result is None:
            refused.add(call.name)
        else:
            finished = (call.name, result)
    return TurnOutcome(_rows_once([answers[id(call)] for call in calls]), finished)


def _rows_once(results: Sequence[messages.ToolResult]) -> tuple[messages.ToolResult, ...]:
    """The results of a turn. Each row of the document remains only in the first result that shows it."""
    shown: set[str] = set()
    return tuple(
        result.model_copy(update={"content": tuple(_fresh(part, shown) for part in result.content)})
        for result in results
    )


def _fresh(part: messages.Content, shown: set[str]) -> messages.Content:
    if not isinstance(part, messages.Text):
        return part
    kept: list[str] = []
    for line in part.text.split("\n"):
        if _ROW.match(line) is None or line not in shown:
            kept.append(line)
        elif kept[-1:] != [_ABOVE]:
            kept.append(_ABOVE)
    shown.update(line for line in kept if _ROW.match(line))
    return messages.Text(text="\n".join(kept))


def _run_all(
    calls: Sequence[messages.ToolCall], tools: dict[str, Tool], terminals: dict[str, Terminal]
) -> list[messages.ToolResult]:
    run = partial(_run, tools, ", ".join((*tools, *terminals)))
    if len(calls) < 2:
        return [run(call) for call in calls]
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(calls)), thread_name_prefix="tool") as pool:
        return list(pool.map(run, calls))


def _run(tools: dict[str, Tool], names: str, call: messages.ToolCall) -> messages.ToolResult:
    if call.name not in tools:
        return _error(call, f"This task has no tool {call.name!r}. Its tools are: {names}.")
    return _answered(call, tools[call.name].call)


def _submit(call: messages.ToolCall, terminal: Terminal) -> tuple[messages.ToolResult, Record | None]:
    accepted: list[Record] = []

    def submit(arguments: dict[str, object]) -> tuple[messages.Content, ...]:
        accepted.append(terminal.submit(arguments))
        return (messages.Text(text="Received."),)

    return _answered(call, submit), next(iter(accepted), None)


_UNREADABLE_ARGUMENTS = "The arguments of {name} could not be read"


def _answered(
    call: messages.ToolCall, run: Callable[[dict[str, Any]], tuple[messages.Content, ...]]
) -> messages.ToolResult:
    """The result of `run` with the arguments of the call. Unreadable arguments and a ToolError give a result with the error."""
    if call.fault is not None:
        beginning = _UNREADABLE_ARGUMENTS.format(name=call.name)
        return _error(call, f"{beginning} ({call.fault}). Send them again as one JSON object.")
    try:
        return messages.ToolResult(call_id=call.id, name=call.name, content=run(dict(call.arguments)))
    except errors.ToolError as error:
        return _error(call, str(error))


def _error(call: messages.ToolCall, text: str) -> messages.ToolResult:
    content = (messages.Text(text=text),)
    return messages.ToolResult(call_id=call.id, name=call.name, content=content, is_error=True)


def same_call(a: messages.ToolCall, b: messages.ToolCall) -> bool:
    """Whether two calls have the same tool and arguments."""
    return a.name == b.name and json.dumps(a.arguments, sort_keys=True) == json.dumps(
        b.arguments, sort_keys=True
    )


def from_text(step: Step, response: messages.Response, terminals: Sequence[Terminal]) -> Step:
    """`step`, or another step if `step` is due to a missing tool call and the reply contains a result, or a faulty result."""
    lacking = isinstance(step, Nudge) or (
        isinstance(step, GiveUp) and step.reason is GiveUpReason.NO_TOOL_CALL
    )
    if not lacking or response.stop is messages.Stop.LENGTH:
        return step
    fault = ""
    for value in _candidates(response.message.text[:_MOST_CHARACTERS]):
        if isinstance(value, str):
            fault = fault or value
            continue
        for terminal in terminals:
            if not set(value) & set(terminal.result.model_fields):
                continue
            try:
                return Finish(terminal.name, terminal.submit(value))
            except errors.ToolError as error:
                fault = fault or str(error)
    if not fault:
        return step
    advice = UNREADABLE.format(names=" or ".join(one.name for one in terminals), fault=fault)
    return Nudge(advice) if isinstance(step, Nudge) else GiveUp(GiveUpReason.NO_TOOL_CALL, fault)


def _candidates(text: str) -> Iterator[dict[str, object] | str]:
    """Every mapping in the text, from the last fenced block to the first. For a block that cannot be read, the error message."""
    marks = [(mark.start(), mark.end()) for mark in _FENCE.finditer(text)]
    pieces = [text[opened[1] : closed[0]] for opened, closed in zip(marks[::2], marks[1::2], strict=False)]
    if len(marks) % 2:  # the last fence is not closed
        pieces.append(text[marks[-1][1] :])
    for piece in reversed(pieces or [text]):
        try:
            value = _value(piece)
        except (errors.ConfigError, ValueError) as error:
            if pieces:
                yield str(error)
            continue
        inner = value.get("arguments", value) if isinstance(value, dict) else None
        if isinstance(inner, dict):
            yield {str(key).casefold(): item for key, item in inner.items()}


def _value(text: str) -> JsonValue:
    """The text read as JSON if it looks like JSON, else as YAML. Raises ValueError or ConfigError."""
    if not text.lstrip().startswith("{"):
        return read_text(text)
    try:
        return read_object(text)
    except ValueError:
        # A backslash that begins no JSON escape belongs to LaTeX.
        return read_object(_STRAY_BACKSLASH.sub(lambda sign: sign[0] if sign[1] else "\\\\", text))


@dataclass(frozen=True)
class AgentRun:
    """The end of a run, all its responses, and in `used` the tool calls that were run."""

    end: Finish | GiveUp
    responses: tuple[messages.Response, ...]
    used: tuple[messages.ToolCall, ...]

    @property
    def was_cut(self) -> bool:
        """Whether the last reply was cut off at the output limit."""
        return self.end.cut if isinstance(self.end, Finish) else self.end.reason is GiveUpReason.OUTPUT_LIMIT


def run_agent(
    spec: AgentSpec,
    model: Model,
    tools: dict[str, Tool],
    values: dict[str, str],
    *,
    sample: int = 0,
    pictures: tuple[messages.Image, ...] = (),
    opening: str = "",
) -> AgentRun:
    """Run `spec` to its end. Raises ModelError if the model is not available. A limit that is reached is a result, not an error.

    Runs with equal values and different `sample` get different responses. If the stored replies are useless, the model is asked for
    another sample. `opening` precedes the user prompt. Many runs share this prefix, so that providers can cache it.
    """
    system, user = spec.prompt.fill(values)
    if spec.beginning is not None:
        system, user = spec.beginning.system, f"{system}\n\n{user}"
    texts = tuple(messages.Text(text=text) for text in (opening, user) if text)
    content: tuple[messages.Content, ...] = (*texts, *pictures)
    allowed = {name: tools[name] for name in spec.tools if name in tools}
    while True:
        state = RunState(messages=[messages.UserMessage(content=content)])
        step: Step = Nudge("")
        while not isinstance(step, (Finish, GiveUp)):
            step = _turn(spec, model, allowed, system, state, sample)
        run = AgentRun(step, tuple(state.responses), tuple(state.used))
        if not _is_of_the_past(run):
            return run
        sample += _AFTER_USELESS


def _is_of_the_past(run: AgentRun) -> bool:
    """Whether the run ended with replayed, useless replies only. The server may give other replies by now."""
    useless = isinstance(run.end, GiveUp) and run.end.reason in _REPLAYED
    return useless and bool(run.responses) and all(one.replayed for one in run.responses)


def is_too_long(run: AgentRun) -> bool:
    """Whether the model's server refused a prompt of the run as too long."""
    return isinstance(run.end, GiveUp) and run.end.reason is GiveUpReason.CONTEXT_OVERFLOW


_SMALLER_TOO = (
    "; a smaller part of the document was refused, too. Is the prompt too long? See `opening_characters`"
)


def first_that_fits(runs: Iterable[Callable[[], AgentRun]]) -> AgentRun:
    """The first run whose prompt is not too long, or else the last run, with the responses of all runs so far.

    Each run shows less of a document than the run before it. Servers word "too long" in many ways, so an unknown refusal counts as
    "too long" while a smaller part is left. Raises ModelError, and ValueError if there is no run.
    """
    found: AgentRun | None = None
    refused: list[errors.RequestRefusedError] = []
    for begin in runs:
        try:
            run = begin()
        except errors.RequestRefusedError as error:
            refused.append(error)
            continue
        found = run if found is None else replace(run, responses=(*found.responses, *run.responses))
        if not is_too_long(run):
            return found
    if found is not None:
        return found
    if not refused:
        raise ValueError("there is no text to ask about")
    raise refused[0] if len(refused) == 1 else errors.RequestRefusedError(f"{refused[0]}{_SMALLER_TOO}")


def unfinished(failure: str) -> errors.MalformedResponseError:
    """The error for work that ended without a usable reply."""
    hint = _TOO_LONG if f"{GiveUpReason.CONTEXT_OVERFLOW.value}: " in failure else ""
    return errors.MalformedResponseError(f"model_error: {failure}{hint}")


def _turn(
    spec: AgentSpec, model: Model, tools: dict[str, Tool], system: str, state: RunState, sample: int
) -> Step:
    if state.turns >= spec.limits.max_turns:
        useless = state.faulty and state.faulty + state.nudges >= state.turns
        reason = GiveUpReason.FAULTY_CALLS if useless else GiveUpReason.MAX_TURNS
        return GiveUp(reason, f"no result after {state.turns} turns{state.refusal and f': {state.refusal}'}")
    state.turns += 1
    specs = (*(tool.spec for tool in tools.values()), *(terminal.spec() for terminal in spec.terminals))
    request = messages.Request(
        system=system,
        messages=tuple(state.messages),
        tools=specs if spec.beginning is None else spec.beginning.tools,
        tool_choice=messages.ToolChoice.REQUIRED if not tools else messages.ToolChoice.AUTO,
        sample=sample,
    )
    try:
        response = model.respond(request)
    except errors.MalformedResponseError as error:
        return GiveUp(GiveUpReason.MALFORMED, str(error))
    except errors.ContextOverflowError as error:
        return GiveUp(GiveUpReason.CONTEXT_OVERFLOW, str(error))
    state.responses.append(response)
    step = decide(response, state, spec.limits, spec.ends)
    if spec.reads_text:
        step = from_text(step, response, spec.terminals)
    step = after_cut(step, response, state, spec, model.spec.max_output_tokens)
    if isinstance(step, RunTools):
        fault = fault_of(request.model_copy(update={"tools": specs}), response)
        state.refusal = fault or ""
        if fault is not None and state.faulty + 1 >= spec.limits.max_faulty_turns:
            return GiveUp(GiveUpReason.FAULTY_CALLS, f"{state.faulty + 1} turns in a row, the last: {fault}")
        return _act(step, spec, tools, state, response)
    if isinstance(step, Nudge):
        state.nudges += 1
        if response.message.content:
            state.messages.append(response.message)
        state.messages.append(messages.UserMessage(content=(messages.Text(text=step.text),)))
    return step


def _misfits(results: Sequence[messages.ToolResult], state: RunState, spec: AgentSpec) -> GiveUp | None:
    """Count the calls of a turn that were refused for their form. Returns the end of the run if there were too many."""
    forms: dict[str, str] = {}
    faulty, state.refusal = bool(state.refusal), ""
    for one in results:
        text = one.content[0].text if isinstance(one.content[0], messages.Text) else ""
        beginning, not_run = " ".join(text[:300].split()), text.startswith(_NOT_RUN)
        state.refusal = beginning if one.is_error and not not_run else state.refusal
        unread = text.startswith(_UNREADABLE_ARGUMENTS.format(name=one.name))
        if one.is_error and (unread or is_misfit(text, one.name)):
            forms[f"{one.name}: {_NUMBER.sub('#', text)}"] = beginning
        elif not not_run:  # the call had the right form
            kept = {key: n for key, n in state.misfits.items() if not key.startswith(f"{one.name}: ")}
            state.misfits = Counter(kept)
    state.misfits.update(forms.keys())
    state.faulty = state.faulty + 1 if faulty or (forms and all(one.is_error for one in results)) else 0
    for form, text in forms.items():
        if state.misfits[form] >= spec.limits.max_same_refusals:
            return GiveUp(GiveUpReason.FAULTY_CALLS, f"{state.misfits[form]} times the same: {text}")
    if forms and state.faulty >= spec.limits.max_faulty_turns:
        return GiveUp(GiveUpReason.FAULTY_CALLS, f"{state.faulty} turns in a row, the last: {state.refusal}")
    return None


def _act(
    step: RunTools, spec: AgentSpec, tools: dict[str, Tool], state: RunState, response: messages.Response
) -> Step:
    repeated = [any(same_call(call, earlier) for earlier in state.used) for call in step.calls]
    outcome = dispatch(step.calls, tools, {terminal.name: terminal for terminal in spec.terminals})
    state.tool_calls += len(step.calls)
    state.used.extend(step.calls)
    if outcome.finished is not None:
        return Finish(*outcome.finished)
    ended = _misfits(outcome.results, state, spec)
    if ended is not None:
        return ended
    left = spec.limits.max_turns - state.turns
    results = [
        _with_note(result, _REPEATED) if again and not result.is_error else result
        for result, again in zip(outcome.results, repeated, strict=True)
    ]
    if left <= LAST_TURN_COUNT:
        results[-1] = _with_note(results[-1], LAST_TURNS.format(left=left, terminals=spec.ends))
    state.messages.append(response.message)
    state.messages.append(messages.ToolMessage(results=tuple(results)))
    return step


def _with_note(result: messages.ToolResult, note: str) -> messages.ToolResult:
    return result.model_copy(update={"content": (*result.content, messages.Text(text=note))})


def call_summaries(
    responses: Iterable[messages.Response], role: str, spec: ModelSpec, document_id: str, attempt: int
) -> tuple[CallSummary, ...]:
    """The summary of the call behind each response."""
    found = tuple(responses)
    charges = [one.charged and cost_of(spec, one.charged, batch=one.batch) for one in found]
    return tuple(
        CallSummary(
            request_key=response.request_key,
            role=role,
            model=spec.name,
            document_id=document_id,
            attempt=attempt,
            **response.usage.shared(CallSummary),
            usd=usd(spec, response.usage, batch=response.batch),
            seconds=round(response.seconds, 4),
            retries=response.retries,
            replayed=response.replayed,
            charged_usd=charged and charged.usd,
            charged_tokens=charged and charged.tokens,
        )
        for response, charged in zip(found, charges, strict=True)
    )


def raw_text(run: AgentRun) -> str:
    """The text and the tool calls of every response, in order."""
    rows: list[str] = []
    for response in run.responses:
        rows += [response.message.text] if response.message.text else []
        rows += [
            f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
            for call in response.message.tool_calls
        ]
    return "\n\n".join(rows)
