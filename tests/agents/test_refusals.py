"""Refusals that go on: of calls by their form, and of prompts by their length."""

from __future__ import annotations

from functools import partial

import pytest

from qagen_dagster.agents.next_step import Finish, GiveUp, GiveUpReason
from qagen_dagster.agents.runner import AgentRun, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec
from qagen_dagster.errors import ContextOverflowError, PermanentModelError, RequestRefusedError
from qagen_dagster.models.messages import AssistantMessage, Response, Stop, Thinking
from qagen_dagster.toolkit.tool import Tool
from tests.agents.conftest import Found, agent_of
from tests.support.models import FakeModel, Turn, answer, call, calls, say, tool_call

DONE = call("submit", what="cat")
LOOK = call("look", where="box")
WRONG = call("submit", what=7)
CLUMSY = call("look", place="box")


def run(agent: AgentSpec, tools: dict[str, Tool], *turns: Turn) -> tuple[AgentRun, FakeModel]:
    model = FakeModel(turns)
    return run_agent(agent, model, tools, {"thing": "cat"}), model


def failure(found: AgentRun) -> str:
    return f"{found.end.reason.value}: {found.end.detail}" if isinstance(found.end, GiveUp) else ""


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (
            (WRONG, WRONG, WRONG, DONE),
            "3 times the same: submit was not run: what: Input should be a valid string",
        ),
        ((CLUMSY, CLUMSY, CLUMSY, DONE), "3 times the same: look was not run: where: Field required"),
        ((call("submit", what=""),) * 3, "3 times the same: submit was not run: what: String should have"),
        ((call("submit", what=" \n"),) * 3, "3 times the same: submit was not run: what: String should have"),
        ((WRONG, LOOK, WRONG, LOOK, WRONG, DONE), "3 times the same: submit was not run"),
        ((WRONG, say("Hm."), WRONG, say("Hm."), WRONG, DONE), "3 times the same: submit was not run"),
        (
            (WRONG, CLUMSY, call("submit"), call("look"), call("submit", it="cat"), DONE),
            "5 turns in a row, the last: submit was not run",
        ),
    ],
)
def test_a_refusal_that_goes_on_ends_the_run(
    agent: AgentSpec, tools: dict[str, Tool], turns: tuple[Turn, ...], said: str
) -> None:
    found, model = run(agent, tools, *turns)
    assert failure(found).startswith(f"faulty_calls: {said}")
    assert len(model.requests) <= 5


@pytest.mark.parametrize(
    "turns",
    [
        (WRONG, WRONG, DONE),
        (CLUMSY, CLUMSY, LOOK, CLUMSY, CLUMSY, DONE),
        (*(call("submit", what="wool"),) * 6, DONE),  # in its form, and refused for what it says
        (WRONG, call("submit", what="wool"), WRONG, call("submit", what="wool"), WRONG, DONE),
        (calls(*(tool_call("look", str(number), place="box") for number in range(5))), LOOK, DONE),
    ],
)
def test_a_model_that_corrects_itself_goes_on(
    agent: AgentSpec, tools: dict[str, Tool], turns: tuple[Turn, ...]
) -> None:
    found, _ = run(agent, tools, *turns)
    assert found.end == Finish("submit", Found(what="cat"))


def test_turns_with_nothing_but_refusals_are_no_turns_of_use(tools: dict[str, Tool]) -> None:
    found, _ = run(agent_of(AgentLimits(max_turns=2)), tools, WRONG, call("submit"))
    assert failure(found).startswith("faulty_calls: no result after 2 turns: submit was not run: what: Field")
    found, _ = run(agent_of(AgentLimits(max_turns=2)), tools, LOOK, call("look", where="bag"))
    assert failure(found) == "max_turns: no result after 2 turns"


def test_results_that_are_refused_for_what_they_say_are_of_use(tools: dict[str, Tool]) -> None:
    found, _ = run(agent_of(AgentLimits(max_turns=4)), tools, *(call("submit", what="wool"),) * 4)
    assert failure(found) == "max_turns: no result after 4 turns: Not wool. Look again."


HM = say("Hm.")
TALK = (HM,) * 3  # with two nudges
REFUSAL = Response(message=say("I will not."), stop=Stop.REFUSAL)


def replayed(*turns: AssistantMessage | Response) -> list[Response]:
    whole = (turn if isinstance(turn, Response) else answer(turn) for turn in turns)
    return [one.model_copy(update={"replayed": True}) for one in whole]


@pytest.mark.parametrize(
    ("stored", "fresh", "end"),
    [
        (TALK, (DONE,), "submit"),
        ((WRONG,) * 3, (DONE,), "submit"),
        ((*TALK, *TALK), (LOOK, DONE), "submit"),  # of two earlier runs
        (TALK, TALK, "no_tool_call: Hm."),  # not more often in one run
        ((HM,), (HM, HM), "no_tool_call: Hm."),
        ((REFUSAL,), (DONE,), "submit"),
        ((LOOK,) * 8, (), "max_turns: no result after 8 turns"),
    ],
)
def test_replies_of_an_earlier_run_that_were_of_no_use_are_asked_for_again(
    agent: AgentSpec,
    tools: dict[str, Tool],
    stored: tuple[AssistantMessage | Response, ...],
    fresh: tuple[Turn, ...],
    end: str,
) -> None:
    found, model = run(agent, tools, *replayed(*stored), *fresh)
    assert (found.end.name if isinstance(found.end, Finish) else str(found.end)) == end
    assert len(model.requests) == len(stored) + len(fresh)
    samples = [request.sample for request in model.requests]
    assert samples == sorted(samples)
    assert len(set(samples)) == (1 if not fresh or stored == (HM,) else -(-len(stored) // 3) + 1)


def test_an_answer_in_the_field_for_reasoning_is_named(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    thought = AssistantMessage(content=(Thinking(text='{"what": "cat"}'),))
    found, _ = run(agent, tools, *(thought,) * 4)
    assert failure(found) == (
        'no_tool_call: the reply is empty but for the field for reasoning, which says: {"what": "cat"}'
    )


TOO_LONG = ContextOverflowError("too long")
UNKNOWN = RequestRefusedError("HTTP 400: no")


@pytest.mark.parametrize(
    ("turns", "asked"),
    [
        ((DONE,), 1),
        ((TOO_LONG, DONE), 2),
        ((UNKNOWN, DONE), 2),
        ((LOOK, TOO_LONG, DONE), 3),
        ((UNKNOWN, TOO_LONG, DONE), 3),
    ],
)
def test_less_is_shown_where_a_prompt_is_refused(
    agent: AgentSpec, tools: dict[str, Tool], turns: tuple[Turn, ...], asked: int
) -> None:
    model = FakeModel(turns)
    begin = partial(run_agent, agent, model, tools, {"thing": "cat"})
    found = first_that_fits(partial(begin, opening=text) for text in ("all of it", "a part", "a line"))
    assert found.end == Finish("submit", Found(what="cat"))
    assert len(model.requests) == asked
    assert len(found.responses) == sum(isinstance(turn, AssistantMessage) for turn in turns)


def test_what_is_refused_in_every_size_fails(agent: AgentSpec, tools: dict[str, Tool]) -> None:
    begin = partial(run_agent, agent, FakeModel([UNKNOWN] * 2), tools, {"thing": "cat"})
    with pytest.raises(RequestRefusedError, match=r"HTTP 400: no; a smaller part .* `opening_characters`"):
        first_that_fits([begin, begin])
    begin = partial(run_agent, agent, FakeModel([TOO_LONG] * 2), tools, {"thing": "cat"})
    found = first_that_fits([begin, begin])
    assert isinstance(found.end, GiveUp)
    assert found.end.reason is GiveUpReason.CONTEXT_OVERFLOW
    model = FakeModel([PermanentModelError("bad key")])
    with pytest.raises(PermanentModelError, match=r"^bad key$"):
        first_that_fits([partial(run_agent, agent, model, tools, {"thing": "cat"})] * 2)
    assert len(model.requests) == 1
