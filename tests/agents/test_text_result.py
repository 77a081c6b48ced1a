"""Results that a model writes as text instead of calling the tool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from qagen_dagster.agents.next_step import Finish, GiveUp, GiveUpReason
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.agents.runner import AgentRun, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Terminal
from qagen_dagster.models.messages import Stop
from qagen_dagster.records.base import Record
from tests.support.models import FakeModel, Turn, answer, call, say, told


class Note(Record):
    """Submit a note."""

    title: str
    marks: dict[str, int] = Field(default_factory=dict)
    remark: str | None = None


SPEC = AgentSpec(
    name="noter",
    role="noter",
    prompt=Prompt("p", "You write ${what}.", "Write."),
    tools=(),
    terminals=(Terminal("submit_note", Note),),
    limits=AgentLimits(max_turns=4, max_nudges=1),
    reads_text=True,
)


def run(*turns: Turn) -> tuple[AgentRun, FakeModel]:
    model = FakeModel(turns)
    return run_agent(SPEC, model, {}, {"what": "notes"}), model


@pytest.mark.parametrize(
    "text",
    [
        'Here it is:\n```json\n{"title": "$\\\\frac{1}{2}$", "marks": {"A": 2}}\n```\nDone.',
        '{"title": "$\\\\frac{1}{2}$", "marks": {"A": 2},}',
        "```yaml\ntitle: $\\frac{1}{2}$\nmarks:\n  A: 2\n```",
        "title: $\\frac{1}{2}$\nmarks: {A: 2}\nremark: null",
        "```yaml\ntitle: $\\frac{1}{2}$\nmarks: {A: 2}",
        '{"name": "submit_note", "arguments": {"title": "$\\\\frac{1}{2}$", "marks": {"A": 2}}}',
        "```\nfirst: draft\n```\nNo:\n```yaml\ntitle: $\\frac{1}{2}$\nmarks: {A: 2}\n```",
    ],
)
def test_text_with_the_result_is_as_good_as_the_call(text: str) -> None:
    done, model = run(say(text))
    assert isinstance(done.end, Finish)
    assert done.end.result == Note(title="$\\frac{1}{2}$", marks={"A": 2})
    assert len(model.requests) == 1


def test_backslashes_that_json_does_not_know_are_those_of_latex() -> None:
    done, _ = run(say('{"title": "\\\\sqrt{2} \\sin x \\"q\\" \\/"}'))
    assert isinstance(done.end, Finish)
    assert done.end.result == Note(title='\\sqrt{2} \\sin x "q" /')


def test_what_does_not_fit_is_said_once_and_may_be_repaired() -> None:
    done, model = run(say("```yaml\nmarks: {A: many}\n```"), say("title: x\nmarks: {A: 3}"))
    assert isinstance(done.end, Finish)
    assert done.end.result == Note(title="x", marks={"A": 3})
    assert "title: Field required" in told(model.requests[1])
    done, model = run(say("```yaml\ntitle: [\n```"), call("submit_note", title="y"))
    assert "is not YAML" in told(model.requests[1])
    assert isinstance(done.end, Finish)


def test_after_one_repair_the_run_is_over() -> None:
    done, model = run(say("marks: {A: many}\ntitle: a"), say("marks: {A: many}\ntitle: a"))
    assert isinstance(done.end, GiveUp)
    assert done.end.reason is GiveUpReason.NO_TOOL_CALL
    assert "marks.A" in done.end.detail
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "text", ["I will think about it.", "Note: it is late", "```\nplain\n```", "- a\n- b"]
)
def test_text_without_a_result_is_nudged_as_ever(text: str) -> None:
    done, model = run(say(text), call("submit_note", title="z"))
    assert isinstance(done.end, Finish)
    assert "called no tool" in told(model.requests[1])


def test_a_reply_that_was_cut_off_is_not_read() -> None:
    done, model = run(answer(say("title: half of"), Stop.LENGTH), call("submit_note", title="whole"))
    assert isinstance(done.end, Finish)
    assert done.end.result == Note(title="whole")
    assert "cut off" in told(model.requests[1])


def test_aliases_and_tags_are_not_expanded() -> None:
    bomb = "```yaml\na: &a [x, x]\nb: &b [*a, *a]\ntitle: !!python/object:os.system x\n```"
    done, model = run(say(bomb), call("submit_note", title="z"))
    assert "not supported" in told(model.requests[1])
    assert isinstance(done.end, Finish)


@given(st.text(alphabet="ab:{}[]\"'`~-\n\\$ &*!|>#,0", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    run(say(text), say(text))
