"""Runs the tool calls of one turn and answers every call exactly once, in call order.

This module has the only thread pool of the package. A ToolError becomes content for the model; any other error propagates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from qagen_dagster.agents.spec import Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Content, Text, ToolCall, ToolResult
from qagen_dagster.records.base import Record
from qagen_dagster.toolkit.tool import Tool

MAX_PARALLEL = 8
_ROW = re.compile(r"\d+\| ")  # a numbered line of the document
_ABOVE = "[rows that an earlier result of this turn shows]"
_TWICE = "Not run: {name} already ended this task in the same turn."
_AFTER_REFUSAL = "Not run: an earlier {name} of this turn was refused. Read why, then submit once."


@dataclass(frozen=True)
class TurnOutcome:
    """All answers of a turn, and the result if a terminal tool accepted one."""

    results: tuple[ToolResult, ...]
    finished: tuple[str, Record] | None


def dispatch(
    calls: Sequence[ToolCall], tools: dict[str, Tool], terminals: dict[str, Terminal]
) -> TurnOutcome:
    """Run ordinary tools in parallel, then terminal ones in order; the first success ends the run.

    After a refusal, the same turn's later submissions are not run: the model wrote them before it knew of the refusal.
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


def _rows_once(results: Sequence[ToolResult]) -> tuple[ToolResult, ...]:
    """The results of a turn, in which a row of the document stands only in the first one that shows it."""
    shown: set[str] = set()
    return tuple(
        result.model_copy(update={"content": tuple(_fresh(part, shown) for part in result.content)})
        for result in results
    )


def _fresh(part: Content, shown: set[str]) -> Content:
    if not isinstance(part, Text):
        return part
    kept: list[str] = []
    for line in part.text.split("\n"):
        if _ROW.match(line) is None or line not in shown:
            kept.append(line)
        elif kept[-1:] != [_ABOVE]:
            kept.append(_ABOVE)
    shown.update(line for line in kept if _ROW.match(line))
    return Text(text="\n".join(kept))


def _run_all(
    calls: Sequence[ToolCall], tools: dict[str, Tool], terminals: dict[str, Terminal]
) -> list[ToolResult]:
    run = partial(_run, tools, ", ".join((*tools, *terminals)))
    if len(calls) < 2:
        return [run(call) for call in calls]
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(calls)), thread_name_prefix="tool") as pool:
        return list(pool.map(run, calls))


def _run(tools: dict[str, Tool], names: str, call: ToolCall) -> ToolResult:
    if call.name not in tools:
        return _error(call, f"There is no tool {call.name!r}. The tools are: {names}.")
    if call.fault is not None:
        return _error(call, _fault(call))
    try:
        return ToolResult(call_id=call.id, name=call.name, content=tools[call.name].call(call.arguments))
    except ToolError as error:
        return _error(call, str(error))


def _submit(call: ToolCall, terminal: Terminal) -> tuple[ToolResult, Record | None]:
    if call.fault is not None:
        return _error(call, _fault(call)), None
    try:
        result = terminal.submit(dict(call.arguments))
    except ToolError as error:
        return _error(call, str(error)), None
    return ToolResult(call_id=call.id, name=call.name, content=(Text(text="Received."),)), result


def _fault(call: ToolCall) -> str:
    return (
        f"The arguments of {call.name} could not be read ({call.fault}). Send them again as one JSON object."
    )


def _error(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=(Text(text=text),), is_error=True)


def same_call(a: ToolCall, b: ToolCall) -> bool:
    """Whether two calls ask for the same thing."""
    return a.name == b.name and json.dumps(a.arguments, sort_keys=True) == json.dumps(
        b.arguments, sort_keys=True
    )
