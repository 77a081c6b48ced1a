"""The controls: a multi-hop question needs its passages, a visual question its picture."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.state import Controlled, Judged, QAState, Recheck, Validate
from qagen_dagster.loop.questions.state_machine import transition
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.document import Section
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import (
    Candidate,
    DocumentEnd,
    Evidence,
    GenerationResult,
    RejectionReason,
    RetiredQA,
    VerdictRecord,
)
from qagen_dagster.store import Store
from tests.support.documents import context_of, view_of, visual_context
from tests.support.models import CRITERIA, FakeModel, Turn, call, say, told

QUESTION = "How many days after the CT-15 probe is calibrated must its cable be replaced?"
ANSWER = "30 days"
QUOTES = ("Calibrate the probe every 90 days.", "Replace the cable after 120 days.", "Keep the probe dry.")
BOTH_SIDES = "Calibrate the probe every 90 days and replace its cable after 120 days."
LIMITS = QALimits(target_count=1, max_consecutive_failures=9, max_attempts=1)
PASSED = VerdictRecord(
    attempt=1,
    question=QUESTION,
    proposed_answer=ANSWER,
    blind_answer=ANSWER,
    answerable=True,
    matches=True,
    non_trivial=True,
    unambiguous=True,
    relevant=True,
    explanation="All hold.",
)


def answer(text: str, *, answerable: bool = True) -> AssistantMessage:
    return call("submit_document_answer", answer=text, answerable=answerable, confidence=0.9)


class Reader:
    """A validator that answers from passages; `without` gives its reply for each passage that is hidden, by number."""

    def __init__(self, without: Mapping[int, Turn], quotes: tuple[str, ...] = QUOTES) -> None:
        self.without, self.quotes = without, quotes
        self.hidden: list[int] = []
        self.model = FakeModel(self._reply, "validator")

    def _reply(self, request: Request) -> Turn:
        if request.tools[0].name == "submit_mark":
            return call("submit_mark", right=True, explanation="The same.")
        (hidden,) = (number for number, quote in enumerate(self.quotes, 1) if quote not in told(request))
        shown = [int(number) for number in re.findall(r"Excerpt (\d+)", told(request))]
        assert shown == [*range(1, len(self.quotes))], "a gap would tell that one is left out"
        self.hidden.append(hidden)
        return self.without[hidden]


def control(
    reader: Reader,
    kind: str = "multi_hop",
    quotes: tuple[str, ...] = QUOTES,
    mode: Mode = Mode.TEXTUAL,
    verdict: VerdictRecord = PASSED,
    *,
    computation: str = "",
    lines: tuple[int, ...] = (4, 4, 4),
    question: str = QUESTION,
) -> Judged | Controlled:
    places = tuple(
        Evidence(quote=quote, start_line=line, end_line=line)
        for line, quote in zip(lines, quotes, strict=False)
    )
    candidate = Candidate(
        question=question, answer=ANSWER, evidence=places, question_type=kind, computation=computation
    )
    context = context_of() if mode is Mode.TEXTUAL else visual_context()
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=mode), context, LIMITS, "f" * 16
    )
    models = QAModels(FakeModel([]), reader.model, FakeModel([]))
    return model_checks.control(
        Validate(candidate=candidate, attempt=1), work, models, Judged(verdict=verdict)
    )


def fault(found: Judged | Controlled) -> RejectionReason | None:
    return found.reason if isinstance(found, Controlled) else None


NOT = answer("The excerpts do not say.", answerable=False)


def test_not_multi_hop_when_one_passage_is_enough() -> None:
    reader = Reader({1: NOT, 2: answer(ANSWER), 3: answer(ANSWER)})
    found = control(reader)
    assert fault(found) is RejectionReason.NOT_MULTI_HOP
    assert isinstance(found, Controlled)
    assert "1 of the quoted passages is needed" in found.detail
    assert reader.hidden == [1, 2, 3]
    assert [one.role for one in found.calls] == ["validator"] * 3


def test_a_good_twin_needs_two_passages_and_the_third_is_not_hidden() -> None:
    reader = Reader({1: NOT, 2: answer("60 days")})
    assert fault(control(reader)) is None
    assert reader.hidden == [1, 2]


def test_passages_that_repeat_each_other_are_not_several() -> None:
    found = control(Reader(dict.fromkeys((1, 2, 3), answer(ANSWER))))
    assert isinstance(found, Controlled)
    assert "each of the quoted passages alone is enough" in found.detail


def test_a_model_compares_answers_in_other_words() -> None:
    reader = Reader(dict.fromkeys((1, 2, 3), answer("one month, which is thirty days or so")))
    assert fault(control(reader)) is RejectionReason.NOT_MULTI_HOP


@pytest.mark.parametrize("kind", ["comparison", "aggregation", "synthesis"])
def test_other_types_that_need_several_passages_are_checked_too(kind: str) -> None:
    assert (
        fault(control(Reader(dict.fromkeys((1, 2, 3), answer(ANSWER))), kind))
        is RejectionReason.NOT_MULTI_HOP
    )


@pytest.mark.parametrize(
    ("kind", "quote", "reason"),
    [
        ("comparison", BOTH_SIDES, None),
        ("aggregation", BOTH_SIDES, None),
        ("multi_hop", BOTH_SIDES, RejectionReason.NOT_MULTI_HOP),
        ("synthesis", BOTH_SIDES, RejectionReason.NOT_MULTI_HOP),
        (
            "comparison",
            "The cable of the CT-15 probe is replaced 30 days after it is calibrated.",
            RejectionReason.NOT_MULTI_HOP,
        ),
    ],
)
def test_a_needless_quote_beside_one_with_both_sides_does_not_count(
    kind: str, quote: str, reason: RejectionReason | None
) -> None:
    quotes = ("The probe has a cable.", quote)
    found = control(Reader({1: answer(ANSWER), 2: NOT}, quotes), kind, quotes)
    assert fault(found) is reason


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Which opened first, the Orrin Bay ferry or the Selby ferry?", None),
        ("What opened before another line, the Orrin Bay ferry or a train?", RejectionReason.NOT_MULTI_HOP),
    ],
)
def test_one_sentence_about_both_compared_things_is_enough_beside_a_needless_quote(
    question: str, reason: RejectionReason | None
) -> None:
    quotes = ("There are two lines.", "The Orrin Bay ferry opened before the Selby ferry.")
    found = control(Reader({1: answer(ANSWER), 2: NOT}, quotes), "comparison", quotes, question=question)
    assert fault(found) is reason


COUNT = "count of Benin; Niger; Mali = 30"
STATED = ("Benin failed.", "Niger and Mali failed.", "In total 30 failed.")


@pytest.mark.parametrize(
    ("kind", "computation", "quotes", "reason"),
    [
        ("aggregation", COUNT, ("Benin failed.", "Niger and Mali failed.", "All failed."), None),
        ("comparison", "difference of 120; 90 = 30", QUOTES, None),
        ("aggregation", COUNT, STATED, RejectionReason.NOT_MULTI_HOP),
        ("aggregation", "count of Benin = 30", QUOTES, RejectionReason.NOT_MULTI_HOP),
        ("multi_hop", "difference of 120; 90 = 30", QUOTES, RejectionReason.NOT_MULTI_HOP),
    ],
)
def test_a_result_that_code_computed_and_no_quote_states_needs_no_control(
    kind: str, computation: str, quotes: tuple[str, ...], reason: RejectionReason | None
) -> None:
    """A right count is not refused because the document names its items twice. A total that a quote states is looked up."""
    reader = Reader(dict.fromkeys((1, 2, 3), answer(ANSWER)), quotes)
    assert fault(control(reader, kind, quotes, computation=computation)) is reason
    assert bool(reader.hidden) is (reason is not None)


def test_sentences_that_follow_each_other_are_passages_of_their_own() -> None:
    """In a document with one paragraph a line, all sentences of a paragraph stand on one line."""
    reader = Reader({1: answer(ANSWER), 2: NOT}, QUOTES[:2])
    assert fault(control(reader, quotes=QUOTES[:2], lines=(4, 4))) is RejectionReason.NOT_MULTI_HOP
    assert reader.hidden == [1, 2]


def test_no_call_is_made_where_nothing_is_claimed_or_nothing_can_be_hidden() -> None:
    reader = Reader({})
    rejected = PASSED.model_copy(update={"relevant": False})
    for found in (
        control(reader, "factual"),
        control(reader, quotes=QUOTES[:1]),
        control(reader, mode=Mode.VISUAL),
        control(reader, verdict=rejected),
    ):
        assert fault(found) is None
    assert reader.hidden == []


def test_a_validator_without_an_answer_proves_nothing() -> None:
    assert fault(control(Reader(dict.fromkeys((1, 2, 3), say("Hm."))))) is None


def test_the_rows_of_a_table_and_its_head_are_one_passage() -> None:
    """The month of the highest drift is still found without the row of another month, so nothing is hidden."""
    quotes = ("| Month | Drift |", "| May | 0.3 % |", "| June | 0.8 % |")
    places = tuple(Evidence(quote=one, start_line=at, end_line=at) for at, one in enumerate(quotes, 9))
    candidate = Candidate(question=QUESTION, answer=ANSWER, evidence=places, question_type="comparison")
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL), context_of(), LIMITS, "f" * 16
    )
    reader = Reader({})
    models = QAModels(FakeModel([]), reader.model, FakeModel([]))
    step = Validate(candidate=candidate, attempt=1)
    assert fault(model_checks.control(step, work, models, Judged(verdict=PASSED))) is None
    assert reader.hidden == []


def test_a_passage_is_shown_with_the_title_of_its_section() -> None:
    view = view_of(sections=(Section(title="Care of the CT-15", level=1, start_line=3),))
    places = tuple(Evidence(quote=one, start_line=at, end_line=at) for at, one in ((1, "A."), (4, "B.")))
    candidate = Candidate(question=QUESTION, answer=ANSWER, evidence=places, question_type="multi_hop")
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL),
        context_of(view),
        LIMITS,
        "f" * 16,
    )
    seen: list[str] = []

    def read(request: Request) -> Turn:
        seen.append(told(request))
        return NOT

    models = QAModels(FakeModel([]), FakeModel(read, "validator"), FakeModel([]))
    model_checks.control(Validate(candidate=candidate, attempt=1), work, models, Judged(verdict=PASSED))
    assert "section: Care of the CT-15\n4| B." in seen[0]
    assert "section:" not in seen[1]


SEEN_ANSWER = "the blue curve"
CHECKS = dict.fromkeys(CRITERIA, True)

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
        if "submit_comparisons" in offered:
            self.steps.append("compare")
            return call("submit_comparisons", explanation="all hold", **CHECKS)
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
        return _submit(self.text, self_contained=True, relevant=True)

    def _look(self, first: bool) -> AssistantMessage:
        if first and self.looks:
            return call("view_page", visual="Table 1")
        self.steps.append("blind")
        return _submit(SEEN_ANSWER)


def _submit(answer: str, *, answerable: bool = True, **more: Any) -> AssistantMessage:
    return call("submit_answers", answerable=answerable, answer=answer, unambiguous=True, **more)


def _propose(_request: Request) -> AssistantMessage:
    return call(
        "submit_qa",
        question="Which curve of Table 1 is the highest in June?",
        answer=SEEN_ANSWER,
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
    return run_document(work, models, DocumentJournal(store or _fresh(), "journals/j.json", "w"))


def _fresh() -> Store:
    return Store(f"memory://{uuid.uuid4().hex}")


def reasons(result: GenerationResult) -> list[RejectionReason]:
    return [one.rejection_reason for one in result.rejected]


def test_answerable_from_text_when_the_text_control_gives_the_proposed_answer() -> None:
    validator = Validator(SEEN_ANSWER)
    result = run(validator)
    assert reasons(result) == [RejectionReason.ANSWERABLE_FROM_TEXT]
    assert result.rejected[0].rejection_detail == f"without pictures the validator answered {SEEN_ANSWER!r}"
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
    validator = Validator(SEEN_ANSWER)
    assert len(run(validator, off).accepted) == 1
    assert validator.steps == ["blind", "compare"]


def test_a_document_without_text_needs_no_control() -> None:
    visuals = visual_context().view.visuals
    validator = Validator(SEEN_ANSWER)
    assert (
        len(run(validator, context_of(view_of("", visuals=visuals, page_count=2), Mode.VISUAL)).accepted) == 1
    )
    assert "text" not in validator.steps


def test_only_a_candidate_that_would_be_accepted_is_controlled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHECKS, "relevant", False)
    validator = Validator(SEEN_ANSWER)
    assert reasons(run(validator)) == [RejectionReason.IRRELEVANT]
    assert validator.steps == ["blind", "compare"]


def test_a_rejection_is_in_the_journal_and_is_not_paid_again() -> None:
    store, validator = _fresh(), Validator(SEEN_ANSWER)
    first = run(validator, store=store)
    assert [one.kind for one in DocumentJournal(store, "journals/j.json", "w").events] == [
        "proposed",
        "controlled",
    ]
    again = Validator(SEEN_ANSWER)
    assert run(again, store=store) == first
    assert again.steps == []


def test_a_budget_that_ends_in_the_control_leaves_the_candidate_undecided() -> None:
    store, validator = _fresh(), Validator(SEEN_ANSWER)
    validator.spent = True
    result = run(validator, store=store)
    assert (result.end, result.accepted, result.rejected) == (DocumentEnd.BUDGET_EXHAUSTED, (), ())
    assert reasons(run(Validator(SEEN_ANSWER), store=store)) == [RejectionReason.ANSWERABLE_FROM_TEXT]


def test_a_control_without_a_result_proves_nothing() -> None:
    class Silent(Validator):
        def _reply(self, request: Request) -> AssistantMessage:
            offered = {tool.name for tool in request.tools}
            text = "view_page" not in offered and "submit_answers" in offered
            return say("Hm.") if text else super()._reply(request)

    assert len(run(Silent(SEEN_ANSWER)).accepted) == 1


def test_a_question_of_an_earlier_version_is_retired_when_the_control_rejects_it() -> None:
    result = run(Validator(SEEN_ANSWER))
    candidate = Candidate(
        question="Which?", answer=SEEN_ANSWER, question_type="factual",
        evidence=(Evidence(quote="q", start_line=1, end_line=1),),
    )  # fmt: skip
    otherwise = RetiredQA(
        id="q-1", question="Which?", answer=SEEN_ANSWER, question_type="factual", source_document="d", document_id="d",
        reason=RejectionReason.EVIDENCE_NOT_FOUND, detail="", evidence=(),
    )  # fmt: skip
    state = QAState(recheck=(Recheck(id="q-1", candidate=candidate, otherwise=otherwise),))
    event = Controlled(
        verdict=result.verdicts[0], reason=RejectionReason.ANSWERABLE_FROM_TEXT, detail="from the text"
    )
    (retired,) = transition(state, event).retired
    assert (retired.reason, retired.detail) == (RejectionReason.ANSWERABLE_FROM_TEXT, "from the text")
