"""How the tool calls of one turn are run: in parallel, each answered once, with refusals that the model can act on."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents.runner import MAX_PARALLEL, dispatch, same_call
from qagen_dagster.agents.spec import Terminal
from qagen_dagster.models.messages import Text, ToolCall, ToolResult
from qagen_dagster.toolkit.tool import Tool, tool
from tests.agents.conftest import PICTURE, Found, Stuck, crash, look, refuse_wool, show
from tests.support.models import tool_call

TERMINALS = {"submit": Terminal("submit", Found, refuse_wool), "give_up": Terminal("give_up", Stuck)}


def words(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, Text))


def test_calls_of_one_turn_run_side_by_side_and_are_answered_in_call_order() -> None:
    both = threading.Barrier(2, timeout=30)  # nobody passes alone
    late = threading.Event()

    def meet(name: str) -> str:
        """Wait for the other one."""
        both.wait()
        if name == "first":
            assert late.wait(timeout=30)
        else:
            late.set()
        return name

    found = dispatch(
        [tool_call("meet", "a", name="first"), tool_call("meet", "b", name="second")],
        {"meet": tool(meet)},
        {},
    )
    assert [(result.call_id, words(result)) for result in found.results] == [("a", "first"), ("b", "second")]


def test_no_more_calls_than_the_limit_run_at_once() -> None:
    one_too_many = threading.Barrier(MAX_PARALLEL + 1)

    def gather() -> str:
        """Wait until more are here than there should ever be."""
        try:
            one_too_many.wait(timeout=0.3)
        except threading.BrokenBarrierError:
            return "alone"
        return "crowded"

    calls = [tool_call("gather", str(number)) for number in range(MAX_PARALLEL + 1)]
    found = dispatch(calls, {"gather": tool(gather)}, {})
    assert {words(result) for result in found.results} == {"alone"}


def test_an_unknown_tool_is_answered_with_the_tools_there_are(tools: dict[str, Tool]) -> None:
    (result,) = dispatch([tool_call("fetch")], tools, TERMINALS).results
    assert result.is_error
    assert (
        words(result) == "This task has no tool 'fetch'. Its tools are: look, show, crash, submit, give_up."
    )


@pytest.mark.parametrize("name", ["look", "submit"])
def test_arguments_that_cannot_be_read_are_told_back(tools: dict[str, Tool], name: str) -> None:
    broken = ToolCall(id="a", name=name, fault="unexpected end")
    found = dispatch([broken], tools, TERMINALS)
    assert found.finished is None
    assert found.results[0].is_error
    assert f"arguments of {name} could not be read (unexpected end)" in words(found.results[0])


def test_a_tool_error_is_content(tools: dict[str, Tool]) -> None:
    (result,) = dispatch([tool_call("look", where="nowhere")], tools, TERMINALS).results
    assert (result.is_error, words(result)) == (True, "There is nowhere to look. Look in the box.")


def test_arguments_that_do_not_fit_are_content_too(tools: dict[str, Tool]) -> None:
    results = dispatch(
        [tool_call("look", "a", were="box"), tool_call("submit", "b", what="")], tools, TERMINALS
    )
    assert results.finished is None
    assert [result.is_error for result in results.results] == [True, True]
    assert "look was not run" in words(results.results[0])
    assert "submit was not run: what:" in words(results.results[1])


@pytest.mark.parametrize("beside", [0, 1])
def test_a_programming_error_propagates(tools: dict[str, Tool], beside: int) -> None:
    others = [tool_call("look", f"x{n}", where="box") for n in range(beside)]
    with pytest.raises(ZeroDivisionError):
        dispatch([*others, tool_call("crash")], tools, TERMINALS)


def test_a_terminal_tool_ends_the_run_and_the_others_of_its_turn_are_run(tools: dict[str, Tool]) -> None:
    calls = [
        tool_call("submit", "a", what="cat"),
        tool_call("look", "b", where="box"),
        tool_call("show", "c", page=2),
    ]
    found = dispatch(calls, tools, TERMINALS)
    assert found.finished == ("submit", Found(what="cat"))
    assert [(result.call_id, words(result)) for result in found.results] == [
        ("a", "Received."),
        ("b", "In the box is a cat."),
        ("c", "page 2"),
    ]
    assert found.results[2].content[1] == PICTURE


def test_of_two_terminal_calls_the_first_that_succeeds_counts(tools: dict[str, Tool]) -> None:
    calls = [
        tool_call("submit", "a", what="wool"),
        tool_call("give_up", "b", why="tired"),
        tool_call("submit", "c", what="cat"),
    ]
    found = dispatch(calls, tools, TERMINALS)
    assert found.finished == ("give_up", Stuck(why="tired"))
    assert [words(result) for result in found.results] == [
        "Not wool. Look again.",
        "Received.",
        "Not run: give_up already ended this task in the same turn.",
    ]
    assert [result.is_error for result in found.results] == [True, False, True]


def test_what_was_refused_is_not_submitted_again_before_the_refusal_is_read(tools: dict[str, Tool]) -> None:
    calls = [tool_call("submit", "a", what="wool"), tool_call("submit", "b", what="cat")]
    found = dispatch(calls, tools, TERMINALS)
    assert found.finished is None
    assert [words(result) for result in found.results] == [
        "Not wool. Look again.",
        "Not run: an earlier submit of this turn was refused. Read why, then submit once.",
    ]


CALLS: list[tuple[str, dict[str, object]]] = [
    ("look", {"where": "box"}),
    ("look", {"where": "nowhere"}),
    ("look", {}),
    ("show", {"page": 3}),
    ("fetch", {}),
    ("submit", {"what": "cat"}),
    ("submit", {"what": "wool"}),
    ("give_up", {"why": "tired"}),
]


@given(st.lists(st.tuples(st.sampled_from(CALLS), st.booleans()), max_size=12))
def test_every_call_is_answered_exactly_once_in_call_order(
    wanted: list[tuple[tuple[str, dict[str, object]], bool]],
) -> None:
    calls = [
        ToolCall(id=f"c{n}", name=name, arguments=arguments, fault="cut" if broken else None)
        for n, ((name, arguments), broken) in enumerate(wanted)
    ]
    tools = {one.spec.name: one for one in map(tool, (look, show, crash))}
    found = dispatch(calls, tools, TERMINALS)
    assert [(result.call_id, result.name) for result in found.results] == [
        (call.id, call.name) for call in calls
    ]
    received = [result for result in found.results if words(result) == "Received."]
    assert len(received) == (found.finished is not None)
    assert all(result.content for result in found.results)


def test_the_same_call_is_one_with_the_same_arguments_in_any_order() -> None:
    first = ToolCall(id="a", name="look", arguments={"x": 1, "y": [2]})
    again = ToolCall(id="b", name="look", arguments={"y": [2], "x": 1})
    assert same_call(first, again)
    assert not same_call(first, ToolCall(id="c", name="look", arguments={"x": 1, "y": [3]}))
    assert not same_call(first, ToolCall(id="d", name="show", arguments={"x": 1, "y": [2]}))


def test_rows_that_several_calls_of_a_turn_show_are_shown_once() -> None:
    def find(first: int) -> str:
        """Show three rows."""
        return "\n".join(["3 lines", *(f"{number}| row {number}" for number in range(first, first + 3))])

    calls = [tool_call("find", str(first), first=first) for first in (1, 2, 9)]
    found = dispatch(calls, {"find": tool(find)}, {})
    above = "[rows that an earlier result of this turn shows]"
    assert [words(result).split("\n")[1:] for result in found.results] == [
        ["1| row 1", "2| row 2", "3| row 3"],
        [above, "4| row 4"],
        ["9| row 9", "10| row 10", "11| row 11"],
    ]
    (alone,) = dispatch([calls[1]], {"find": tool(find)}, {}).results
    assert "2| row 2" in words(alone)
