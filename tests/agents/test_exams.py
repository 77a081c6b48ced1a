"""The designer and the verifier of exam items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents import exams
from qagen_dagster.agents.exams import ExamContext, shown_ideas, solve, verify
from qagen_dagster.models.base import Model
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    QuestionPackage,
    Severity,
    Verdict,
    VerifierReport,
)
from tests.support.blobs import MemoryBlobs
from tests.support.exams.play import CONFIG, PASS, SCHEMA, made, solved
from tests.support.models import FakeModel, Turn, call, say, told
from tests.support.wire_server import Call, Reply, Seen, WireServer

BUDGET = 2_000


def test_an_idea_is_shown_to_its_end() -> None:
    idea = "The cube of the edge matters. " * 20 + "Its wrong path ends at the square."
    assert shown_ideas([idea]) == f"- {idea}"


def test_the_newest_ideas_are_shown_and_the_others_counted() -> None:
    ideas = [f"{number} {'word ' * 120}end" for number in range(6)]
    first, *rows = shown_ideas(ideas).splitlines()
    assert first == "(3 older ideas are not shown)"
    assert rows == [f"- {one}" for one in ideas[3:]]
    assert shown_ideas(ideas[:4]).startswith("(1 older idea is not shown)\n- 1 ")


def test_without_an_idea_that_is_said() -> None:
    assert shown_ideas([]) == "(none yet)"


@given(sizes=st.lists(st.integers(1, 2_500), max_size=60))
def test_shown_ideas_keep_their_budget_and_none_is_lost_silently(sizes: list[int]) -> None:
    ideas = [f"{place}" + "x" * size for place, size in enumerate(sizes)]
    rows = shown_ideas(ideas).splitlines()
    shown = [row for row in rows if row.startswith("- ")]
    assert len("\n".join(shown)) <= BUDGET
    hidden = len(ideas) - len(shown)
    assert (f"({hidden} older" in rows[0]) is bool(hidden and ideas)
    assert all(row == f"- {idea}" for row, idea in zip(shown[:-1], ideas[hidden:-1], strict=True))
    if ideas and len(ideas[-1]) <= BUDGET - 2:
        assert shown[-1] == f"- {ideas[-1]}"


CONTEXT = ExamContext(CONFIG, SCHEMA, Difficulty.EASY, item=1, seed=0)
WIRES = ("openai", "openai_compatible", "anthropic")
SECRETS = ("SECRETSOLUTION", "It is a product.", "correct_option", "key_insight", "a*b", "givens")


def package(key: str = "B") -> QuestionPackage:
    """The same question with another key: all that differs is what the verifier must not see."""
    fields = made(31, 27)
    fields["question"]["correct_option"] = key
    fields["solution"]["reasoning"] += f" so it is {key}"
    return QuestionPackage.model_validate(fields)


def answer(seen: Seen, _number: int) -> Reply:
    """First a broken submission of each kind, then a good one, so that repairs are on the wire as well."""
    text = json.dumps(seen.body)
    name, good = ("submit_solution", solved("B")) if "submit_solution" in text else ("submit_verdict", PASS)
    return Reply(calls=(Call(name, good if "was not" in text else {"verdict": 3, "value": 3}),))


@contextmanager
def server(wire: str) -> Iterator[tuple[Model, WireServer]]:
    with WireServer(answer) as served:
        spec = ModelSpec(
            provider=wire, model="m-1", base_url=served.url(wire), api_key_env="K", timeout_seconds=5
        )
        yield LedgeredModel(build_provider(spec, lambda _: "sk-x"), Ledger(MemoryBlobs())), served


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_is_never_on_the_wire_and_the_steps_only_after_the_blind_solution(wire: str) -> None:
    with server(wire) as (model, served):
        found = solve(CONTEXT, model, package().question, attempt=1)
        assert found.result is not None
        assert found.result.chosen_option == "B"
        verdict = verify(CONTEXT, model, package(), found.result, attempt=1)
        assert verdict.result == VerifierReport.model_validate(PASS)
    assert len(served.requests) == 4, "two tasks, each with one repair"
    for number, body in enumerate(served.bodies):
        text = json.dumps(body, ensure_ascii=False)
        steps = ("SECRETSOLUTION",) if number > 1 else ()
        assert [secret for secret in SECRETS if secret in text] == list(steps)
        assert "product of $31$ and $27$" in text.replace("\\\\", "\\")
    blind, judging = json.dumps(served.bodies[0]), json.dumps(served.bodies[2])
    assert "wrong power" not in blind
    assert "wrong power" in judging


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_sent_does_not_depend_on_the_key(wire: str) -> None:
    bodies: list[list[dict[str, Any]]] = []
    for key in "BAD":
        with server(wire) as (model, served):
            solve(CONTEXT, model, package(key).question, attempt=1)
            bodies.append(served.bodies)
    assert bodies[0] == bodies[1] == bodies[2]


def run(*turns: Turn) -> tuple[exams.Reply[VerifierReport], FakeModel]:
    model = FakeModel(turns)
    own = BlindSolution.model_validate(solved("B"))
    return verify(CONTEXT, model, package(), own, attempt=2), model


def test_a_fail_needs_reasons() -> None:
    good = {"verdict": "FAIL", "reasons": ["two readings"], "severity": "structural_flaw"}
    found, model = run(call("submit_verdict", verdict="FAIL"), call("submit_verdict", **good))
    assert found.result is not None
    assert (found.result.verdict, found.result.severity) == (Verdict.FAILED, Severity.STRUCTURAL)
    assert "A FAIL needs reasons" in told(model.requests[1])
    assert [one.attempt for one in found.calls] == [2, 2]
    assert {one.document_id for one in found.calls} == {"M1-easy-0001"}


def test_a_verdict_in_yaml_as_it_is_described() -> None:
    text = "```yaml\nverdict: FAIL\nfailure_type: ambiguity\nreasons:\n  - two readings\nseverity: unclear\nregen_instructions: |\n  Say which.\n```"
    found, _ = run(say(text))
    assert found.result is not None
    assert found.result.reasons == ("two readings",)
    assert found.result.severity is Severity.UNKNOWN
    assert found.raw == text


def test_a_verifier_that_says_nothing_of_use_has_no_result() -> None:
    found, _ = run(*(call("submit_verdict", verdict=" "),) * 3)
    assert found.failure.startswith("faulty_calls: 3 times the same: submit_verdict was not run: verdict")
    found, _ = run(say("Looks fine to me."), say("Really."))
    assert found.result is None
    assert found.failure.startswith("no_tool_call")
    assert "Looks fine to me." in found.raw
