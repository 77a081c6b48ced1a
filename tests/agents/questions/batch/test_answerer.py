from __future__ import annotations

import pytest

from qagen_dagster.agents.questions.batch.answerer import (
    NO_QUOTE,
    Answered,
    Answers,
    Asked,
    answer,
    answer_all,
)
from qagen_dagster.agents.questions.batch.one_reply import Task
from qagen_dagster.agents.questions.batch.shown_text import Reading
from qagen_dagster.models.messages import AssistantMessage
from qagen_dagster.models.wires.workarounds import shared_text
from qagen_dagster.records.corpus_options import QuestionType
from tests.support.documents import context_of
from tests.support.models import FakeModel, Turn, call, say, told

LINE = "Calibrate the probe every 90 days."
GOOD = call("submit_grounded_answers", answer="Every 90 days.", evidence=[{"quote": LINE}])
NOWHERE = call(
    "submit_grounded_answers", answer="Every 90 days.", evidence=[{"quote": "Boil it every 90 days."}]
)


def answered(*turns: Turn, rejected: tuple[tuple[str, str], ...] = ()) -> tuple[Answered, FakeModel]:
    context, model = context_of(), FakeModel(turns)
    asked = Asked("How often is the probe calibrated?", QuestionType.FACTUAL, rejected)
    task = Task([()], attempt=3, sample=3000)
    return answer(context, model, Reading(context.view), asked, task), model


def test_the_quotes_are_the_documents_own() -> None:
    found, model = answered(
        call("submit_grounded_answers", answer=" Every 90 days. ", evidence=[{"quote": LINE.lower()}])
    )
    assert found.candidate is not None
    (place,) = found.candidate.evidence
    assert (place.quote, place.start_line) == (LINE, 4)
    assert (found.candidate.answer, found.candidate.gate) == ("Every 90 days.", None)
    assert [(one.role, one.attempt) for one in found.calls] == [("answerer", 3)]
    assert "Question (factual):\nHow often is the probe calibrated?" in told(model.requests[0])


def test_a_quote_that_is_nowhere_is_told_once() -> None:
    found, model = answered(NOWHERE, GOOD)
    assert found.candidate is not None
    assert found.candidate.gate is None
    assert "is not in the document as one piece" in told(model.requests[1])
    twice, _ = answered(NOWHERE, NOWHERE)
    assert twice.candidate is not None
    assert twice.candidate.gate == "evidence_not_found"


def test_an_answer_without_quotes_is_not_proven() -> None:
    bare = call("submit_grounded_answers", answer="Every 90 days.")
    found, _ = answered(bare, bare)
    assert found.candidate is not None
    assert (found.candidate.gate, found.candidate.gate_detail) == ("evidence_not_found", NO_QUOTE)


@pytest.mark.parametrize(
    "reply",
    [
        call("submit_grounded_answers", answer="Insufficient information in the document."),
        call(
            "submit_grounded_answers",
            answer='"insufficient  information" - nothing is said of it.',
            evidence=[{"quote": LINE}],
        ),
    ],
)
def test_the_honest_way_out_needs_no_quotes_and_no_second_try(reply: AssistantMessage) -> None:
    found, model = answered(reply)
    assert found.candidate is not None
    assert found.candidate.gate == "unanswerable"
    assert len(model.requests) == 1


def test_what_was_rejected_is_told_with_the_reason() -> None:
    _, model = answered(GOOD, rejected=(("Every 80 days.", "line 4 says 90"),))
    assert "- Every 80 days.\n  line 4 says 90" in told(model.requests[0])


def test_plain_text_is_read_where_no_tool_is_called() -> None:
    text = f'Answer: Every 90 days.\nSupporting evidence: "{LINE}"'
    found, _ = answered(say(text), say(text))
    assert found.candidate is not None
    assert (found.candidate.gate, found.candidate.evidence[0].quote) == (None, LINE)
    silent, _ = answered(say("Hm."), say("Hm."))
    assert (silent.candidate, silent.failure) == (None, "no_tool_call: Hm.")


def together(*turns: Turn, provider: str = "scripted") -> tuple[Answers, FakeModel]:
    context, model = context_of(), FakeModel(turns, provider=provider)
    asked = [
        Asked("How often is it calibrated?", QuestionType.FACTUAL),
        Asked("Who built it?", QuestionType.CAUSAL),
    ]
    task = Task([()], attempt=3, sample=3000)
    return answer_all(context, model, Reading(context.view), asked, task), model


def answers(**by_number: str) -> AssistantMessage:
    given = [
        {"number": int(number[1:]), "answer": "Every 90 days.", "evidence": [{"quote": quote}]}
        for number, quote in by_number.items()
    ]
    return call("submit_grounded_answers", answers=given)


def test_several_questions_are_answered_from_one_showing_of_the_document() -> None:
    found, model = together(answers(_2=LINE, _1=LINE))
    assert [one and (one.question, one.gate) for one in found.candidates] == [
        ("How often is it calibrated?", None),
        ("Who built it?", None),
    ]
    (request,) = model.requests
    assert "\n1. [factual] How often is it calibrated?\n2. [causal] Who built it?\n" in told(request)
    assert told(request).count(f"| {LINE}") == 1


def test_only_the_answers_that_fail_are_told_and_asked_again() -> None:
    found, model = together(answers(_1=LINE, _2="Nowhere in it."), answers(_2=LINE))
    assert [one and one.gate for one in found.candidates] == [None, None]
    refusal = told(model.requests[1]).partition("Not accepted: ")[2]
    assert "answer 2: quote 1 of 1 is not in the document" in refusal
    assert "answer 1" not in refusal


def test_a_question_that_was_left_out_has_no_answer() -> None:
    found, _ = together(answers(_2=LINE))
    assert [one is None for one in found.candidates] == [True, False]
    silent, _ = together(say("Hm."), say("Hm."))
    assert silent.candidates == (None, None)


@pytest.mark.parametrize(("provider", "is_numbered"), [("scripted", True), ("openai", False)])
def test_a_model_that_is_paid_for_is_shown_most_lines_without_their_numbers(
    provider: str, is_numbered: bool
) -> None:
    _, model = together(answers(_2=LINE, _1=LINE), provider=provider)
    (request,) = model.requests
    assert (f"| {LINE}\n" in told(request)) is is_numbered
    assert (f"\n{LINE}\n" in told(request)) is not is_numbered
    assert "\n1| " in told(request)


def test_all_answers_begin_with_the_same_text() -> None:
    """The document is a part of its own before the prompt, so providers cache it for single and joint answers."""
    _, single = answered(GOOD)
    _, joint = together(answers(_1=LINE, _2=LINE))
    (one,), (other,) = single.requests, joint.requests
    assert one.system == other.system
    assert shared_text(one) == shared_text(other)
    shown = shared_text(one)
    assert shown is not None
    assert f"| {LINE}" in shown.text
