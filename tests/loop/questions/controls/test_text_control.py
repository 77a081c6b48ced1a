"""A visual question needs a picture: what the validator answers without pictures is rejected."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions.events import Controlled, Recheck
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.journal import open_journal
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.state import QALimits, QAState
from qagen_dagster.loop.questions.state_machine import transition
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import (
    Candidate,
    DocumentEnd,
    Evidence,
    GenerationResult,
    RejectionReason,
    RetiredQA,
)
from qagen_dagster.store import Store
from tests.support.documents import context_of, view_of, visual_context
from tests.support.models import CRITERIA, FakeModel, call, say

ANSWER = "the blue curve"
CHECKS = dict.fromkeys(CRITERIA, True)
LIMITS = QALimits(target_count=1, max_consecutive_failures=9, max_attempts=1)
BUDGET = "the budget is used up"


class Validator:
    """A validator that looks at a picture or not, and finds `text` without pictures."""

    def __init__(self, text: str | None, *, looks: bool = True, right: bool = False) -> None:
        self.text, self.looks, self.right = text, looks, right
        self.steps: list[str] = []
        self.spent = False
        self.model = FakeModel(self._reply, "validator")

    def _reply(self, request: Request) -> AssistantMessage:
        offered = {tool.name for tool in request.tools}
        if "submit_comparison" in offered:
            self.steps.append("compare")
            return call("submit_comparison", explanation="all hold", **CHECKS)
        if "submit_mark" in offered:
            self.steps.append("mark")
            return call("submit_mark", explanation="as I read it", right=self.right)
        if "view_page" in offered:
            return self._look(len(request.messages) == 1)
        self.steps.append("text")
        assert "list_visual_content" not in offered
        if self.spent:
            raise BudgetExhaustedError(BUDGET)
        if self.text is None:
            return _submit("", answerable=False)
        return _submit(self.text, non_trivial=True, self_contained=True, relevant=True)

    def _look(self, first: bool) -> AssistantMessage:
        if first and self.looks:
            return call("view_page", visual="Table 1")
        self.steps.append("blind")
        return _submit(ANSWER)


def _submit(answer: str, *, answerable: bool = True, **more: Any) -> AssistantMessage:
    return call("submit_answer", answerable=answerable, answer=answer, unambiguous=True, **more)


def _propose(_request: Request) -> AssistantMessage:
    return call(
        "submit_qa",
        question="Which curve of Table 1 is the highest in June?",
        answer=ANSWER,
        evidence=[{"quote": "Drift of the probe", "start_line": 8}],
        visuals=["Table 1"],
    )


def run(
    validator: Validator, context: QAContext | None = None, store: Store | None = None
) -> GenerationResult:
    context = context or visual_context()
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=context.mode), context, LIMITS, "f" * 16
    )
    models = QAModels(FakeModel(_propose), validator.model, FakeModel([]), overlap=False)
    return run_document(work, models, open_journal(store or _fresh(), "journals/j.json", "w"))


def _fresh() -> Store:
    return Store(f"memory://{uuid.uuid4().hex}")


def reasons(result: GenerationResult) -> list[RejectionReason]:
    return [one.rejection_reason for one in result.rejected]


def test_answerable_from_text_when_the_text_control_gives_the_proposed_answer() -> None:
    validator = Validator(ANSWER)
    result = run(validator)
    assert reasons(result) == [RejectionReason.ANSWERABLE_FROM_TEXT]
    assert result.rejected[0].rejection_detail == f"without pictures the validator answered {ANSWER!r}"
    assert validator.steps == ["blind", "compare", "text"]
    assert len(result.verdicts) == 1
    assert result.stats.validation_pass_rate == 0


@pytest.mark.parametrize("text", [None, "the red curve of 17 %"], ids=["no answer", "another answer"])
def test_accepted_when_the_text_does_not_give_the_answer(text: str | None) -> None:
    result = run(Validator(text))
    assert (len(result.accepted), result.rejected) == (1, ())


@pytest.mark.parametrize("right", [True, False])
def test_a_model_compares_only_what_code_cannot_decide(right: bool) -> None:
    validator = Validator("the one that climbs steeply", right=right)
    result = run(validator)
    assert reasons(result) == ([RejectionReason.ANSWERABLE_FROM_TEXT] if right else [])
    assert validator.steps == ["blind", "compare", "text", "mark"]
    assert [one.role for one in result.calls if one.role == "validator"] == ["validator"] * 5


def test_no_call_is_made_when_the_blind_answer_needed_no_picture() -> None:
    validator = Validator(None, looks=False)
    assert reasons(run(validator)) == [RejectionReason.ANSWERABLE_FROM_TEXT]
    assert validator.steps == ["blind", "compare"]


def test_a_scenario_can_turn_the_control_off() -> None:
    context = visual_context()
    off = replace(context, scenario=context.scenario.model_copy(update={"text_control": False}))
    validator = Validator(ANSWER)
    assert len(run(validator, off).accepted) == 1
    assert validator.steps == ["blind", "compare"]


def test_a_document_without_text_needs_no_control() -> None:
    visuals = visual_context().view.visuals
    validator = Validator(ANSWER)
    assert (
        len(run(validator, context_of(view_of("", visuals=visuals, page_count=2), Mode.VISUAL)).accepted) == 1
    )
    assert "text" not in validator.steps


def test_only_a_candidate_that_would_be_accepted_is_controlled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHECKS, "relevant", False)
    validator = Validator(ANSWER)
    assert reasons(run(validator)) == [RejectionReason.IRRELEVANT]
    assert validator.steps == ["blind", "compare"]


def test_a_rejection_is_in_the_journal_and_is_not_paid_again() -> None:
    store, validator = _fresh(), Validator(ANSWER)
    first = run(validator, store=store)
    assert [one.kind for one in open_journal(store, "journals/j.json", "w").events] == [
        "proposed",
        "controlled",
    ]
    again = Validator(ANSWER)
    assert run(again, store=store) == first
    assert again.steps == []


def test_a_budget_that_ends_in_the_control_leaves_the_candidate_undecided() -> None:
    store, validator = _fresh(), Validator(ANSWER)
    validator.spent = True
    result = run(validator, store=store)
    assert (result.end, result.accepted, result.rejected) == (DocumentEnd.BUDGET_EXHAUSTED, (), ())
    assert reasons(run(Validator(ANSWER), store=store)) == [RejectionReason.ANSWERABLE_FROM_TEXT]


def test_a_control_without_a_result_proves_nothing() -> None:
    class Silent(Validator):
        def _reply(self, request: Request) -> AssistantMessage:
            offered = {tool.name for tool in request.tools}
            text = "view_page" not in offered and "submit_answer" in offered
            return say("Hm.") if text else super()._reply(request)

    assert len(run(Silent(ANSWER)).accepted) == 1


def test_a_question_of_an_earlier_version_is_retired_when_the_control_rejects_it() -> None:
    result = run(Validator(ANSWER))
    candidate = Candidate(
        question="Which?", answer=ANSWER, question_type="factual",
        evidence=(Evidence(quote="q", start_line=1, end_line=1),),
    )  # fmt: skip
    otherwise = RetiredQA(
        id="q-1", question="Which?", answer=ANSWER, question_type="factual", source_document="d", document_id="d",
        reason=RejectionReason.EVIDENCE_NOT_FOUND, detail="", evidence=(),
    )  # fmt: skip
    state = QAState(recheck=(Recheck(id="q-1", candidate=candidate, otherwise=otherwise),))
    event = Controlled(
        verdict=result.verdicts[0], reason=RejectionReason.ANSWERABLE_FROM_TEXT, detail="from the text"
    )
    (retired,) = transition(state, event).retired
    assert (retired.reason, retired.detail) == (RejectionReason.ANSWERABLE_FROM_TEXT, "from the text")
