from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from qagen_dagster.agents.problems import ASSIGNMENTS, Asking, Reply, ask, role_prompt
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ContextOverflowError, MalformedResponseError
from qagen_dagster.models.messages import AssistantMessage, Stop
from qagen_dagster.records.problems.result import Compiled, CompileOutcome, Stage, TaskEnd
from qagen_dagster.records.problems.submissions import Breach, IdeaResult, TikzResult
from qagen_dagster.toolkit.tool import tool
from tests.support.models import FakeModel, Turn, answer, call, calls, say, told, tool_call
from tests.support.problems.play import IDEAS, TIKZ

DONE, REJECTED = TaskEnd.DONE, TaskEnd.REJECTED


def judge(ideas: IdeaResult) -> tuple[Breach, ...]:
    return () if ideas.concepts else (Breach(property=5, detail="concepts is empty"),)


def read(
    *turns: Turn, compile: Callable[[IdeaResult], Compiled | None] = lambda _: None
) -> tuple[Reply[IdeaResult], FakeModel]:
    model = FakeModel(turns)
    asking = Asking(model, "p1", judge, compile)
    values = {"problem": "Why?", "solution": "Because."}
    return ask(ASSIGNMENTS[Stage.IDEA], role_prompt(Role.IDEA), asking, values), model


def good() -> AssistantMessage:
    return call("submit_ideas", **IDEAS)


def bad(**more: object) -> AssistantMessage:
    return call("submit_ideas", concepts=[], techniques=["x"], **more)


def test_a_good_result_ends_the_run() -> None:
    said, model = read(good())
    assert (said.end, said.breaches, said.repaired, said.compiled) == (DONE, (), (), None)
    assert said.result == IdeaResult.model_validate(IDEAS)
    assert (said.prompt, len(said.calls), said.calls[0].role) == ("problem_idea", 1, "idea")
    assert "<problem>\nWhy?\n</problem>" in told(model.requests[0])


def test_a_breach_is_told_once() -> None:
    said, model = read(bad(), good())
    assert (said.end, [str(one) for one in said.repaired]) == (DONE, ["property 5: concepts is empty"])
    assert "- property 5: concepts is empty" in told(model.requests[1])
    said, _ = read(bad(), bad())
    assert (said.end, said.detail) == (REJECTED, "property 5: concepts is empty")
    assert said.result is not None, "what was rejected can be looked at"


def test_a_result_that_does_not_fit_is_asked_for_again() -> None:
    odd = call("submit_ideas", ideas="none")
    said, _ = read(odd, good())
    assert (said.end, [one.property for one in said.repaired]) == (DONE, [5])
    for turns in ((odd, bad(), bad()), (bad(), odd, bad()), (bad(), odd, odd, bad())):
        said, _ = read(*turns)
        assert (said.end, [one.detail for one in said.breaches]) == (REJECTED, ["concepts is empty"])


HM = say("Hm.")


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        (
            (call("submit_ideas", ideas="none"),) * 3,
            "faulty_calls: 3 times the same: submit_ideas was not run",
        ),
        (
            (call("submit_ideas", concepts=[], techniques=[" "]),) * 3,
            "faulty_calls: 3 times the same: submit_ideas was not run: property 5: concepts is empty",
        ),
        ((HM, HM), "no_tool_call: Hm."),
        ((bad(), HM, HM), "no_tool_call: Hm."),
        ((answer(HM, Stop.FILTER),), "filtered: Hm."),
        ((MalformedResponseError("no choices"),), "malformed: no choices"),
        (
            (ContextOverflowError("8k"),),
            "context_overflow: 8k; give the server a larger context, or lower `opening_characters`",
        ),
    ],
)
def test_a_task_without_a_usable_reply_is_unfinished(turns: tuple[Turn, ...], fault: str) -> None:
    with pytest.raises(MalformedResponseError, match=f"^model_error: {re.escape(fault)}"):
        read(*turns)


def test_two_submissions_in_one_turn_are_one_breach() -> None:
    twice = calls(*(tool_call("submit_ideas", f"c{n}", concepts=[], techniques=["x"]) for n in (1, 2)))
    said, _ = read(twice, good())
    assert said.end is DONE
    fences = '```json\n{"concepts": []}\n```\nor\n```json\n{"techniques": []}\n```'
    said, _ = read(say(fences), good())
    assert said.end is DONE


def test_json_as_text_is_as_good_as_the_tool() -> None:
    said, _ = read(say('Here:\n```json\n{"concepts": ["inertia"], "techniques": ["look"]}\n```'))
    assert (said.end, said.result and said.result.concepts) == (DONE, ("inertia",))
    assert "inertia" in said.raw


@pytest.mark.parametrize(
    ("turns", "end", "detail"),
    [
        ((answer(say("No."), Stop.REFUSAL),), TaskEnd.FAILED, "refused: No."),
        ((call("report_unable", reason="no\nphysics"),), TaskEnd.DECLINED, "no physics"),
        ((bad(), call("report_unable", reason="nothing in it")), TaskEnd.DECLINED, "nothing in it"),
    ],
)
def test_runs_without_a_result(turns: tuple[Turn, ...], end: TaskEnd, detail: str) -> None:
    said, _ = read(*turns)
    assert (said.end, said.detail, said.result) == (end, detail, None)
    assert said.breaches == ()


def test_the_engine_is_heard_once_and_apart_from_breaches() -> None:
    def engine(_result: IdeaResult) -> Compiled:
        return Compiled(outcome=CompileOutcome.FAILED, message="! Missing $ inserted.")

    said, model = read(bad(), good(), good(), compile=engine)
    assert "! Missing $ inserted." in told(model.requests[2])
    assert (said.end, said.compiled and said.compiled.outcome) == (DONE, CompileOutcome.FAILED)


def test_the_draughtsman_searches_before_he_draws() -> None:
    asked: list[str] = []

    def search_tikz_reference(query: str) -> str:
        """Search references."""
        asked.append(query)
        return "to[R, l=$R$]"

    search = tool(search_tikz_reference)
    model = FakeModel([call("search_tikz_reference", query="resistor"), call("submit_tikz", **TIKZ)])
    asking: Asking[TikzResult] = Asking(model, "p1", tools={search.spec.name: search})
    values = {"diagram": "circuit", "problem": "Find the current.", "description": ""}
    said = ask(ASSIGNMENTS[Stage.DIAGRAM], role_prompt(Role.TIKZ), asking, values)
    assert (said.end, asked) == (DONE, ["resistor"])
    assert "to[R, l=$R$]" in told(model.requests[1])
    assert "Kind of diagram, roughly: circuit" in told(model.requests[0])
