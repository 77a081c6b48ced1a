from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents.next_step import NUDGE_CUT, Finish, GiveUp, GiveUpReason
from qagen_dagster.agents.runner import AgentRun, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec
from qagen_dagster.errors import (
    ContextOverflowError,
    MalformedResponseError,
    PermanentModelError,
    TransientModelError,
)
from qagen_dagster.models.messages import (
    AssistantMessage,
    Image,
    Response,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolMessage,
    UserMessage,
)
from qagen_dagster.toolkit.tool import Tool, tool
from tests.agents.conftest import PICTURE, Found, Stuck, agent_of, crash, look, show
from tests.support.models import FakeModel, Turn, answer, call, calls, say, told, tool_call

DONE = call("submit", what="cat")
LOOK = call("look", where="box")


def run(agent: AgentSpec, tools: dict[str, Tool], *turns: Turn) -> tuple[AgentRun, FakeModel]:
    model = FakeModel(turns)
    return run_agent(agent, model, tools, {"thing": "cat"}), model


def gave_up(found: AgentRun) -> tuple[GiveUpReason, str]:
    assert isinstance(found.end, GiveUp)
    return found.end.reason, found.end.detail


def test_the_terminal_call_is_the_result(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, model = run(agent, tools, LOOK, DONE)
    assert found.end == Finish("submit", Found(what="cat"))
    assert [one.name for one in found.used] == ["look", "submit"]
    assert [one.usage.input_tokens for one in found.responses] == [7, 7]
    assert len(model.requests) == 2


def test_what_the_model_is_asked(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    model = FakeModel([DONE])
    run_agent(agent, model, tools, {"thing": "cat"}, sample=4, pictures=(PICTURE,))
    (request,) = model.requests
    assert request.system == "You look for things."
    assert request.messages == (UserMessage(content=(Text(text="Find the cat."), PICTURE)),)
    assert [spec.name for spec in request.tools] == ["look", "show", "crash", "submit", "give_up"]
    assert request.tools[3].description == "Say what was found."
    assert request.tools[3].parameters["required"] == ["what"]
    assert (request.tool_choice, request.sample) == (ToolChoice.AUTO, 4)


def test_an_agent_gets_only_its_own_tools_and_must_answer_when_it_has_none(tools: dict[str, Tool]) -> None:
    few, model = run(agent_of(AgentLimits(), ("show", "not there")), tools, call("look", where="box"), DONE)
    assert isinstance(few.end, Finish)
    assert [spec.name for spec in model.requests[0].tools] == ["show", "submit", "give_up"]
    assert "This task has no tool 'look'" in told(model.requests[1])
    _, alone = run(agent_of(AgentLimits(), ()), tools, DONE)
    assert alone.requests[0].tool_choice is ToolChoice.REQUIRED


def test_a_turns_calls_and_their_answers_go_back_together(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    turn = calls(
        tool_call("look", "a", where="box"), tool_call("fetch", "b"), tool_call("look", "c", where="nowhere")
    )
    _, model = run(agent, tools, turn, DONE)
    assert model.requests[1].messages[1] == turn
    message = model.requests[1].messages[2]
    assert isinstance(message, ToolMessage)
    assert [(result.call_id, result.is_error) for result in message.results] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]


def test_pictures_of_tools_reach_the_model(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    _, model = run(agent, tools, call("show"), call("show"), DONE)
    shown = [
        part
        for message in model.requests[2].messages
        if isinstance(message, ToolMessage)
        for result in message.results
        for part in result.content
        if isinstance(part, Image)
    ]
    assert shown == [PICTURE, PICTURE]


def test_a_programming_error_propagates(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    with pytest.raises(ZeroDivisionError):
        run(agent, tools, call("crash"))


def test_text_instead_of_a_call_is_nudged_then_given_up(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, model = run(agent, tools, say("I think..."), say("Well..."), say("A cat,\n\nI am sure.\n"))
    assert gave_up(found) == (GiveUpReason.NO_TOOL_CALL, "A cat, I am sure.")
    nudge = model.requests[1].messages[-1]
    assert isinstance(nudge, UserMessage)
    assert "called no tool" in told(model.requests[1])
    assert "submit or give_up" in told(model.requests[1])
    assert model.requests[1].messages[1] == say("I think...")


def test_an_empty_reply_leaves_no_empty_message_behind(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, model = run(agent, tools, say(""), DONE)
    assert isinstance(found.end, Finish)
    assert [type(message) for message in model.requests[1].messages] == [UserMessage, UserMessage]


def test_nothing_but_empty_replies_is_named(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, _ = run(agent, tools, say(""), say(""), say(""))
    assert gave_up(found) == (GiveUpReason.NO_TOOL_CALL, "empty reply")


def test_a_reply_that_was_cut_off_is_told_so(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, model = run(agent, tools, answer(say("Let me begin with"), Stop.LENGTH), DONE)
    assert isinstance(found.end, Finish)
    assert told(model.requests[1]).endswith(NUDGE_CUT)


def test_a_call_that_was_cut_off_is_answered_as_unreadable(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    cut = calls(ToolCall(id="a", name="look", fault="cut off at the length limit"))
    found, model = run(agent, tools, answer(cut, Stop.LENGTH), DONE)
    assert isinstance(found.end, Finish)
    assert (
        "could not be read (your reply was cut off at its limit of 3 tokens: give fewer or shorter items)"
        in told(model.requests[1])
    )


def test_thinking_goes_back_with_its_turn(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    thought = AssistantMessage(content=(Thinking(text="hm"), tool_call("look", where="box")))
    _, model = run(agent, tools, thought, DONE)
    assert model.requests[1].messages[1] == thought


@pytest.mark.parametrize(
    ("stop", "reason"), [(Stop.REFUSAL, GiveUpReason.REFUSED), (Stop.FILTER, GiveUpReason.FILTERED)]
)
def test_a_refusal_ends_the_run_and_runs_nothing(
    agent: AgentSpec, tools: dict[str, Tool], stop: Stop, reason: GiveUpReason
) -> None:
    refused = AssistantMessage(content=(Text(text="I will not."), tool_call("crash")))
    found, _ = run(agent, tools, answer(refused, stop))
    assert gave_up(found) == (reason, "I will not.")
    assert found.used == ()
    silent, _ = run(agent, tools, answer(say(""), stop))
    assert gave_up(silent) == (reason, "the model would not answer")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MalformedResponseError("no choices"), GiveUpReason.MALFORMED),
        (ContextOverflowError("too long"), GiveUpReason.CONTEXT_OVERFLOW),
    ],
)
def test_what_is_wrong_with_this_conversation_ends_it_as_a_result(
    agent: AgentSpec, tools: dict[str, Tool], error: Exception, reason: GiveUpReason
) -> None:
    found, _ = run(agent, tools, LOOK, error)
    assert gave_up(found) == (reason, str(error))
    assert len(found.responses) == 1


@pytest.mark.parametrize("error", [TransientModelError("busy"), PermanentModelError("bad key")])
def test_a_model_that_cannot_be_had_is_not_a_result(
    agent: AgentSpec, tools: dict[str, Tool], error: Exception
) -> None:
    with pytest.raises(type(error)):
        run(agent, tools, LOOK, error)


def test_the_last_turns_are_announced_and_then_it_ends(tools: dict[str, Tool]) -> None:
    turns = [call("look", where=f"box {n}") for n in range(5)]
    found, model = run(agent_of(AgentLimits(max_turns=5)), tools, *turns)
    assert gave_up(found) == (GiveUpReason.MAX_TURNS, "no result after 5 turns")
    notes = [told(request).rpartition("[")[2] for request in model.requests]
    ending = "of your turns are left: end soon with submit or give_up.]"
    assert notes[2:] == [f"{left} {ending}" for left in (3, 2, 1)]
    assert "turns are left" not in told(model.requests[1])


def test_a_note_stands_on_the_last_answer_only(tools: dict[str, Tool]) -> None:
    turn = calls(tool_call("look", "a", where="box"), tool_call("show", "b"))
    _, model = run(agent_of(AgentLimits(max_turns=2)), tools, turn, DONE)
    message = model.requests[1].messages[-1]
    assert isinstance(message, ToolMessage)
    assert [len(result.content) for result in message.results] == [1, 3]


def test_too_many_tool_calls_end_the_run_before_they_are_run(tools: dict[str, Tool]) -> None:
    limits = AgentLimits(max_tool_calls=3)
    two = calls(tool_call("look", "a", where="box"), tool_call("look", "b", where="sack"))
    found, _ = run(agent_of(limits), tools, two, two)
    assert gave_up(found) == (GiveUpReason.MAX_TOOL_CALLS, "more than 3 tool calls")
    assert len(found.used) == 2
    exactly, _ = run(agent_of(limits), tools, two, DONE)
    assert isinstance(exactly.end, Finish)


def test_a_repeated_call_is_answered_again_with_a_note(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    _, model = run(agent, tools, LOOK, LOOK, call("look", where="sack"), DONE)
    assert "this very call before" not in told(model.requests[1])
    assert told(model.requests[2]).count("this very call before") == 1
    assert told(model.requests[3]).count("this very call before") == 1
    assert told(model.requests[2]).count("In the box is a cat.") == 2


def test_a_repeated_mistake_is_explained_again_without_a_note(
    agent: AgentSpec, tools: dict[str, Tool]
) -> None:
    _, model = run(agent, tools, call("look", where="nowhere"), call("look", where="nowhere"), DONE)
    assert "this very call before" not in told(model.requests[2])


def test_a_terminal_call_may_be_refused_and_made_again(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, model = run(agent, tools, call("submit", what="wool"), DONE)
    assert found.end == Finish("submit", Found(what="cat"))
    assert "Not wool. Look again." in told(model.requests[1])


def test_two_terminal_calls_in_one_turn_end_with_the_first(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    turn = calls(tool_call("give_up", "a", why="tired"), tool_call("submit", "b", what="cat"))
    found, model = run(agent, tools, turn)
    assert found.end == Finish("give_up", Stuck(why="tired"))
    assert len(model.requests) == 1


def test_an_ordinary_call_beside_the_terminal_one_is_run(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    turn = calls(tool_call("look", "a", where="box"), tool_call("submit", "b", what="cat"))
    found, _ = run(agent, tools, turn)
    assert isinstance(found.end, Finish)
    assert [one.name for one in found.used] == ["look", "submit"]


FAULTY = [call("fetch"), calls(ToolCall(id="a", name="look", fault="cut off")), call("submit_it", what="cat")]


def test_turns_with_nothing_but_faulty_calls_end_the_run(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    found, model = run(agent_of(AgentLimits(max_faulty_turns=3)), tools, *FAULTY, DONE)
    assert gave_up(found) == (
        GiveUpReason.FAULTY_CALLS,
        "3 turns in a row, the last: unknown tool 'submit_it'",
    )
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    "good", [LOOK, call("look", where="nowhere"), calls(tool_call("x"), tool_call("show", "b"))]
)
def test_a_call_that_can_be_run_ends_a_row_of_faulty_turns(
    tools: dict[str, Tool], good: AssistantMessage
) -> None:
    found, _ = run(agent_of(AgentLimits(max_faulty_turns=3)), tools, *FAULTY[:2], good, *FAULTY[:2], DONE)
    assert isinstance(found.end, Finish)


TURNS: st.SearchStrategy[Response | Exception] = st.sampled_from(
    [
        answer(LOOK),
        answer(call("look", where="nowhere")),
        answer(call("fetch")),
        answer(calls(tool_call("look", "a", where="box"), tool_call("show", "b"), tool_call("fetch", "c"))),
        answer(calls(tool_call("submit", "a", what="wool"), tool_call("look", "b", where="box"))),
        answer(say("hm")),
        answer(say("")),
        answer(say("hm"), Stop.LENGTH),
        answer(DONE),
        answer(say("no"), Stop.REFUSAL),
        MalformedResponseError("?"),
    ]
)


@given(st.lists(TURNS, min_size=1, max_size=6), st.integers(1, 9), st.integers(1, 12), st.integers(0, 3))
def test_every_run_ends_within_its_limits_and_answers_every_call(
    script: list[Response | Exception], turns: int, tool_calls: int, nudges: int
) -> None:
    model = FakeModel(lambda _: script[(len(model.requests) - 1) % len(script)])
    limits = AgentLimits(max_turns=turns, max_tool_calls=tool_calls, max_nudges=nudges)
    tools = {one.spec.name: one for one in map(tool, (look, show, crash))}
    found = run_agent(agent_of(limits), model, tools, {"thing": "cat"})
    assert len(model.requests) <= turns
    assert len(found.used) <= tool_calls
    for request in model.requests:
        for before, after in zip(request.messages, (*request.messages[1:], None), strict=True):
            asked = before.tool_calls if isinstance(before, AssistantMessage) else ()
            given_back = after.results if isinstance(after, ToolMessage) else ()
            assert [one.id for one in asked] == [one.call_id for one in given_back]
