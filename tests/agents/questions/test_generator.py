from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.agents.questions.generator import Exhausted, GenerationFailed, Proposal, Proposed, propose
from qagen_dagster.agents.questions.prompt_values import History, QAContext
from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.messages import AssistantMessage, ToolMessage
from qagen_dagster.records.document import Outcome, Visual, VisualType
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import (
    Evidence,
    GenerationMetadata,
    QAPair,
    RejectedQA,
    RejectionReason,
)
from qagen_dagster.toolkit.excerpt import shown_label
from tests.support.documents import MANUAL, TABLE, context_of, view_of, visual_context
from tests.support.models import FakeModel, Turn, call, calls, say, told, tool_call

GOOD: dict[str, Any] = {
    "question": "How often must the CT-15 probe be  calibrated?",
    "answer": " every 90 days ",
    "evidence": [{"quote": "Calibrate the probe every 90 days.", "start_line": 4}],
}
LOST = GOOD | {"evidence": [{"quote": "Calibrate the probe every 60 days."}]}
FALSE = GOOD | {"answer": "every 60 days"}
HOP = GOOD | {"question_type": "multi_hop"}
SUM = GOOD | {
    "question": "How many days pass in three calibration intervals of the CT-15 probe?",
    "answer": "270 days",
    "computation": {"operation": "product", "items": ["90", "3"], "result": "270"},
}
WRONG_SUM = SUM | {"computation": SUM["computation"] | {"items": ["90", "4"]}}
POINTING = GOOD | {"question": "How often must the probe of this manual be calibrated?"}


def submit(values: dict[str, Any], **changed: Any) -> AssistantMessage:
    return call("submit_qa", **(values | changed))


def run(
    *turns: Turn, context: QAContext | None = None, history: History | None = None
) -> tuple[Proposal, FakeModel]:
    model = FakeModel(turns)
    return propose(context or context_of(), model, history or History(), 2), model


def test_a_proven_question_becomes_a_candidate() -> None:
    found, model = run(call("read_lines"), submit(GOOD, question_type="temporal"))
    assert isinstance(found, Proposed)
    assert found.candidate.question == "How often must the CT-15 probe be calibrated?"
    assert found.candidate.answer == "every 90 days"
    assert found.candidate.evidence == (
        Evidence(quote="Calibrate the probe every 90 days.", start_line=4, end_line=4),
    )
    assert (found.candidate.gate, found.candidate.question_type) == (None, "temporal")
    assert [one.attempt for one in found.calls] == [2, 2]
    assert {request.sample for request in model.requests} == {2}
    assert [tool.name for tool in model.requests[0].tools] == [
        "read_lines",
        "search",
        "submit_qa",
        "report_exhausted",
    ]


def test_a_model_that_sees_the_whole_document_is_promised_no_tools() -> None:
    model = FakeModel([submit(GOOD)], provider="openai")
    propose(context_of(), model, History(), 2)
    assert [tool.name for tool in model.requests[0].tools] == ["submit_qa", "report_exhausted"]
    assert "Explore it with tools, if any are offered." in told(model.requests[0])


def test_what_is_kept_as_evidence_is_the_documents_own_text() -> None:
    quote = "4| calibrate  the probe\nevery 90 days"
    found, _ = run(submit(GOOD, evidence=[{"quote": quote, "start_line": 4}]))
    assert isinstance(found, Proposed)
    assert found.candidate.evidence[0].quote == "Calibrate the probe every 90 days"


@pytest.mark.parametrize(
    ("wrong", "reason", "said"),
    [
        (LOST, RejectionReason.EVIDENCE_NOT_FOUND, "quote 1 of 1 is not in the document as one piece"),
        (FALSE, RejectionReason.ANSWER_NOT_SUPPORTED, "60 stands in no evidence quote"),
        (HOP, RejectionReason.NOT_MULTI_HOP, "one passage is the whole evidence"),
        (
            WRONG_SUM,
            RejectionReason.ANSWER_NOT_SUPPORTED,
            "the computation's '4' stands in no evidence quote",
        ),
        (POINTING, RejectionReason.NOT_SELF_CONTAINED, "the question says 'this manual'"),
    ],
)
def test_what_is_not_proven_is_told_once_and_then_final(
    wrong: dict[str, Any], reason: RejectionReason, said: str
) -> None:
    found, model = run(submit(wrong), submit(wrong))
    assert isinstance(found, Proposed)
    assert found.candidate.gate is reason
    assert said in found.candidate.gate_detail
    assert len(model.requests) == 2
    (message,) = (one for one in model.requests[1].messages if isinstance(one, ToolMessage))
    assert message.results[0].is_error
    assert said in told(model.requests[1])


def test_a_computed_answer_is_proven_by_its_computation() -> None:
    question = {"question": "How many days pass in 3 calibration intervals of the CT-15 probe?"}
    found, _ = run(submit(SUM | question))
    assert isinstance(found, Proposed)
    assert (found.candidate.gate, found.candidate.computation) == (None, "product of 90; 3 = 270")


def test_after_being_told_a_corrected_question_is_a_candidate_like_any_other() -> None:
    found, model = run(submit(LOST), submit(GOOD))
    assert isinstance(found, Proposed)
    assert found.candidate.gate is None
    assert len(model.requests) == 2


def test_one_lost_quote_among_found_ones_is_a_fault() -> None:
    evidence = [*GOOD["evidence"], {"quote": "Its battery lasts two years."}]
    found, _ = run(submit(GOOD, evidence=evidence), submit(GOOD, evidence=evidence))
    assert isinstance(found, Proposed)
    assert found.candidate.gate is RejectionReason.EVIDENCE_NOT_FOUND
    assert "quote 2 of 2" in found.candidate.gate_detail


def test_exhaustion_carries_its_reason() -> None:
    found, _ = run(call("report_exhausted", reason="Every line was asked about."))
    assert isinstance(found, Exhausted)
    assert found.reason == "Every line was asked about."


def test_exhaustion_needs_no_proof() -> None:
    found, _ = run(submit(LOST), call("report_exhausted", reason="Nothing can be proven."))
    assert isinstance(found, Exhausted)
    assert found.reason == "Nothing can be proven."


def test_a_run_without_a_result_is_a_failure_by_name() -> None:
    found, _ = run(*[say("Let me think.")] * 4)
    assert isinstance(found, GenerationFailed)
    assert found.reason == "no_tool_call: Let me think."
    assert len(found.calls) == 4


def test_a_model_that_cannot_be_had_is_no_result() -> None:
    with pytest.raises(PermanentModelError):
        run(PermanentModelError("bad key"))


def test_in_textual_mode_there_are_no_visuals_to_name() -> None:
    context = context_of(visual_context().view, Mode.TEXTUAL)
    found, _ = run(submit(GOOD, visuals=["Table 1"]), context=context)
    assert isinstance(found, Proposed)
    assert (found.candidate.gate, found.candidate.visuals) == (None, ())
    assert found.candidate.evidence[0].visual is None


def pair(number: int) -> QAPair:
    return QAPair(
        id=f"q-{number}",
        question=f"What is fact {number}?",
        answer=f"answer {number}",
        source_document="d",
        document_id="d",
        category=Mode.TEXTUAL,
        evidence=(Evidence(quote="x", start_line=number, end_line=number + 1),),
        generation_metadata=GenerationMetadata(generator_model="g", validator_model="v", attempt_number=1),
    )


def rejected(number: int) -> RejectedQA:
    return RejectedQA(
        question=f"Which thing {number}?",
        answer="a",
        rejection_reason=RejectionReason.AMBIGUOUS,
        rejection_detail="two things fit",
        evidence=(Evidence(quote="y", start_line=7, end_line=7),),
    )


def test_the_generator_learns_what_was_asked_and_what_failed() -> None:
    history = History(
        accepted=(pair(3), pair(5)),
        rejected=(
            rejected(1),
            RejectedQA(
                question="",
                answer="",
                rejection_reason=RejectionReason.GENERATION_FAILED,
                rejection_detail="max_turns",
            ),
        ),
    )
    _, model = run(submit(GOOD), history=history)
    asked = told(model.requests[0])
    for known in ("1. What is fact 3?", "answer 3", "(lines 3-4)", "2. What is fact 5?", "(lines 5-6)"):
        assert known in asked
    assert "- Which thing 1? (line 7)\n  ambiguous: two things fit" in asked
    assert "Longest stretches of lines that no question was asked about: 1-2, 8-11" in asked
    assert "max_turns" not in asked
    assert "Probe manuals" in asked
    assert "Short questions of technicians." in asked


def test_a_long_history_is_cut_to_the_latest() -> None:
    history = History(
        accepted=tuple(pair(number) for number in range(300)),
        rejected=tuple(rejected(number) for number in range(50)),
    )
    asked = told(run(submit(GOOD), history=history)[1].requests[0])
    assert "What is fact 299?" in asked
    assert "What is fact 99?" not in asked
    assert "Which thing 30?" in asked
    assert "Which thing 29?" not in asked


def test_without_a_history_it_says_so() -> None:
    asked = told(run(submit(GOOD))[1].requests[0])
    assert asked.count("(none yet)") == 2


# Visual mode.

SEEN: dict[str, Any] = {
    "question": "What was the drift of the CT-15 probe in June?",
    "answer": "0.8 %",
    "evidence": [{"quote": "| June | 0.8 % |", "start_line": 11}],
    "visuals": ["Table 1"],
}


def test_a_visual_question_names_what_must_be_looked_at() -> None:
    found, _ = run(call("view_page", page_number=2), submit(SEEN), context=visual_context())
    assert isinstance(found, Proposed)
    assert (found.candidate.gate, found.candidate.visuals) == (None, ("Table 1",))
    assert (
        found.candidate.evidence
        == (Evidence(quote="June | 0.8 %", start_line=11, end_line=11, page=2, visual="Table 1"),)
        or found.candidate.evidence[0].quote == "| June | 0.8 % |"
    )
    assert found.viewed_pages == (2,)


@pytest.mark.parametrize(
    ("visuals", "said"),
    [
        (("Table 2",), "no visual is labelled 'Table 2' (labels: Table 1)"),
        (("Table 1", "Figure 9"), "no visual is labelled 'Figure 9'"),
    ],
)
def test_unknown_labels_are_told_once_and_then_final(visuals: tuple[str, ...], said: str) -> None:
    wrong = submit(SEEN, visuals=visuals)
    found, model = run(wrong, wrong, context=visual_context())
    assert isinstance(found, Proposed)
    assert found.candidate.gate is RejectionReason.EVIDENCE_NOT_FOUND
    assert said in told(model.requests[1])


def test_a_visual_question_without_a_visual_does_not_fit() -> None:
    found, model = run(submit(SEEN, visuals=[]), submit(SEEN), context=visual_context())
    assert "submit_qa was not run: visuals" in told(model.requests[1])
    assert isinstance(found, Proposed)
    assert found.candidate.gate is None


def test_a_label_counts_as_the_tools_show_it() -> None:
    """list_visual_content replaces bars and cuts long labels; view_page takes them in any case."""
    long = Visual(label=f"Table 2 | {'very ' * 30}long", type=VisualType.TABLE, page=1)
    context = context_of(view_of(visuals=(TABLE, long), page_count=2), Mode.VISUAL)
    listing = "\n".join(str(part) for part in context.tools["list_visual_content"].call({}))
    shown = shown_label(long.label)
    assert shown in listing
    found, _ = run(submit(SEEN, visuals=[shown.upper(), "table  1"]), context=context)
    assert isinstance(found, Proposed)
    assert found.candidate.gate_detail == ""
    assert found.candidate.visuals == (long.label, "Table 1")


def test_a_picture_without_text_is_its_own_evidence() -> None:
    view = view_of("", visuals=(TABLE,), page_count=2, outcome=Outcome.NO_TEXT)
    found, _ = run(submit(SEEN, evidence=[{"quote": "June: 0.8 %"}]), context=context_of(view, Mode.VISUAL))
    assert isinstance(found, Proposed)
    assert found.candidate.gate is None
    assert found.candidate.evidence == (
        Evidence(quote="June: 0.8 %", start_line=None, end_line=None, page=2, visual="Table 1"),
    )


def test_where_there_is_text_a_visual_question_is_proven_by_it() -> None:
    wrong = submit(SEEN, evidence=[{"quote": "June: 0.9 %"}])
    found, _ = run(wrong, wrong, context=visual_context())
    assert isinstance(found, Proposed)
    assert found.candidate.gate is RejectionReason.EVIDENCE_NOT_FOUND


def test_viewed_pages_are_those_it_looked_at_once_in_order() -> None:
    turns = [
        calls(tool_call("view_page", "a", page_number=2), tool_call("view_page", "b", page_number=1)),
        call("view_page", page_number=2),
        call("view_page", page_number=77),
        call("report_exhausted", reason="Nothing there."),
    ]
    found, _ = run(*turns, context=visual_context())
    assert found.viewed_pages[:2] == (2, 1)
    by_label = [call("view_page", visual="table 1"), call("report_exhausted", reason="Nothing there.")]
    assert run(*by_label, context=visual_context())[0].viewed_pages == (2,)


def test_pages_viewed_before_are_told_in_visual_mode_only() -> None:
    history = History(viewed_pages=(7, 3, 7))
    _, visual = run(submit(SEEN), context=visual_context(), history=history)
    assert "whose pictures you do not see now: 3, 7." in told(visual.requests[0])
    _, fresh = run(submit(SEEN), context=visual_context())
    assert "whose pictures you do not see now: none yet." in told(fresh.requests[0])
    _, textual = run(submit(GOOD), history=history)
    assert "Pages viewed" not in told(textual.requests[0])


def test_the_text_is_the_documents() -> None:
    assert MANUAL.split("\n")[3] == GOOD["evidence"][0]["quote"]


def test_visuals_are_told_with_the_questions_they_have() -> None:
    seen = pair(3).model_copy(update={"content_refs": ("Table 1",)})
    _, model = run(submit(SEEN), context=visual_context(), history=History(accepted=(seen, seen)))
    asked = told(model.requests[0])
    assert "- Table 1 | type: table | page: 2 |" in asked
    assert "| questions: 2\n" in asked
    assert "1. What is fact 3? -> answer 3 [factual] (Table 1" in asked
