from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.questions.validator import Judged, judge, rejection
from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason, VerdictRecord
from tests.support.documents import context_of, visual_context
from tests.support.models import CRITERIA, FakeModel, Turn, call, say, told

SECRET_ANSWER = "every ninety-one fortnights"
SECRET_QUOTE = "Its cable is 12 m long and must not be shortened."
CANDIDATE = Candidate(
    question="How often must the CT-15 probe be calibrated?",
    answer=SECRET_ANSWER,
    evidence=(Evidence(quote=SECRET_QUOTE, start_line=7, end_line=7, page=733),),
    question_type="temporal-secret",
    visuals=("Secret table",),
    gate_detail="secret detail",
)
BLIND: dict[str, Any] = {
    "answerable": True,
    "answer": "each quarter",
    "unambiguous": True,
    "evidence": [{"quote": "as I read it", "start_line": 4}],
    "note": "a note of mine",
}
SAME: dict[str, Any] = dict.fromkeys(CRITERIA, True) | {"explanation": "Both say so."}


def blind(**changed: Any) -> AssistantMessage:
    return call("submit_answers", **(BLIND | changed))


def compare(**changed: Any) -> AssistantMessage:
    return call("submit_comparisons", **(SAME | changed))


def run(*turns: Turn, context: QAContext | None = None, rule: str = "") -> tuple[Judged, FakeModel]:
    model = FakeModel(turns)
    return judge(context or context_of(), model, CANDIDATE, 5, rule), model


def verdict_of(found: Judged) -> VerdictRecord:
    assert found.verdict is not None
    assert found.failure == ""
    return found.verdict


def is_blind(request: Request) -> bool:
    return "submit_answers" in {tool.name for tool in request.tools}


def test_a_right_answer_passes_all_checks() -> None:
    found, model = run(blind(), compare())
    verdict = verdict_of(found)
    assert rejection(verdict) is None
    assert (verdict.attempt, verdict.blind_answer, verdict.proposed_answer) == (
        5,
        "each quarter",
        SECRET_ANSWER,
    )
    assert [(one.role, one.attempt) for one in found.calls] == [("validator", 5)] * 2
    assert [request.sample for request in model.requests] == [5, 5]


@pytest.mark.parametrize("context", [context_of(), visual_context()], ids=["textual", "visual"])
def test_the_blind_step_never_sees_what_it_should_find_out(context: QAContext) -> None:
    """Whatever it does: reading on, being nudged, being corrected."""
    turns = [
        call("read_lines", start_line=1, end_line=2),
        call("search", pattern="argon", context_lines=0),
        say("Hm."),
        call("submit_answers", answer="x"),
        blind(),
        compare(),
    ]
    found, model = run(*turns, context=context)
    verdict_of(found)
    seen = [request.canonical() for request in model.requests if is_blind(request)]
    assert len(seen) == 5
    for secret in (SECRET_ANSWER, SECRET_QUOTE, "temporal-secret", "Secret table", "secret detail", "733"):
        assert all(secret not in request for request in seen)
    assert all(CANDIDATE.question in request for request in seen)


def test_the_comparison_sees_both_sides_and_the_purpose() -> None:
    _, model = run(blind(), compare())
    seen = told(model.requests[1])
    wanted = (
        CANDIDATE.question,
        SECRET_ANSWER,
        SECRET_QUOTE,
        "each quarter",
        "as I read it",
        "a note of mine",
        "Probe manuals",
        "Short questions of technicians.",
        "Mode: textual",
    )
    assert [one for one in wanted if one not in seen] == []
    assert [tool.name for tool in model.requests[1].tools] == ["submit_comparisons"]


@pytest.mark.parametrize(
    "turn",
    [
        blind(answerable=False, answer="", note="It does not say."),
        blind(answerable=True, answer=" ", note="It does not say."),
    ],
)
def test_no_answer_is_a_verdict_without_a_comparison(turn: AssistantMessage) -> None:
    found, model = run(turn)
    assert rejection(verdict_of(found)) == (RejectionReason.UNANSWERABLE, "It does not say.")
    assert len(model.requests) == 1


def test_no_answer_without_a_note_still_says_why() -> None:
    found, _ = run(blind(answerable=False, note=""))
    assert rejection(verdict_of(found)) == (
        RejectionReason.UNANSWERABLE,
        "the validator found no answer in the document",
    )


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        ("supported", RejectionReason.ANSWER_NOT_SUPPORTED),
        ("matches", RejectionReason.WRONG_ANSWER),
        ("premise_holds", RejectionReason.FALSE_PREMISE),
        ("self_contained", RejectionReason.NOT_SELF_CONTAINED),
        ("unambiguous", RejectionReason.AMBIGUOUS),
        ("relevant", RejectionReason.IRRELEVANT),
    ],
)
def test_each_check_can_fail(failed: str, reason: RejectionReason) -> None:
    found, _ = run(blind(), compare(**{failed: False}))
    fault = rejection(verdict_of(found))
    assert fault is not None
    assert fault[0] is reason
    assert "Both say so." in fault[1]


def test_a_doubt_of_the_blind_reader_counts_only_when_the_answers_differ() -> None:
    doubtful = blind(unambiguous=False)
    same, _ = run(doubtful, compare())
    assert rejection(verdict_of(same)) is None
    differs, _ = run(doubtful, compare(matches=False))
    fault = rejection(verdict_of(differs))
    assert fault is not None
    assert fault[0] is RejectionReason.AMBIGUOUS


def test_a_reader_that_gives_up_is_a_failure_by_name() -> None:
    found, _ = run(*[say("Let me see.")] * 4)
    assert (found.verdict, found.failure) == (None, "no_tool_call: Let me see.")
    assert len(found.calls) == 4
    compared, _ = run(blind(), *[say("They agree.")] * 4)
    assert (compared.verdict, compared.failure) == (None, "comparison: no_tool_call: They agree.")
    assert len(compared.calls) == 5


def test_a_model_that_cannot_be_had_is_no_verdict() -> None:
    with pytest.raises(PermanentModelError):
        run(blind(), PermanentModelError("bad key"))


HOP = "multi_hop: one fact leads to another. It fails the type if no clue is looked up."


def test_a_question_that_is_not_of_its_type_is_not_wanted() -> None:
    typed = CANDIDATE.model_copy(update={"question_type": "multi_hop"})
    model = FakeModel([blind(), compare(of_type=False, explanation="One line answers it.")])
    found = judge(context_of(), model, typed, 5, HOP)
    fault = rejection(verdict_of(found))
    assert fault == (RejectionReason.IRRELEVANT, "it is no multi_hop question: One line answers it.")
    seen = told(model.requests[1])
    assert all(words in seen for words in (HOP, SECRET_QUOTE))
    assert "multi_hop" not in model.requests[0].canonical()


@pytest.mark.parametrize("said", [{"of_type": True}, {}], ids=["kept", "nothing said"])
def test_a_question_of_its_type_passes(said: dict[str, bool]) -> None:
    found, _ = run(blind(), compare(**said), rule=HOP)
    assert rejection(verdict_of(found)) is None


def test_without_a_rule_the_type_does_not_matter() -> None:
    found, model = run(blind(), compare(of_type=False))
    assert rejection(verdict_of(found)) is None
    assert "Types of questions:\n(none)\n" in told(model.requests[1])


ORDER = (
    "premise_holds",
    "answerable",
    "self_contained",
    "unambiguous",
    "matches",
    "supported",
    "non_trivial",
    "relevant",
)
REASONS = (
    "false_premise",
    "unanswerable",
    "not_self_contained",
    "ambiguous",
    "wrong_answer",
    "answer_not_supported",
    "trivial",
    "irrelevant",
)


@pytest.mark.parametrize("failed", [some for size in (1, 2, 8) for some in combinations(ORDER, size)])
def test_of_several_faults_the_one_that_explains_most_is_the_reason(failed: tuple[str, ...]) -> None:
    verdict = VerdictRecord(
        attempt=1,
        question="q",
        proposed_answer="a",
        blind_answer="b" * 500,
        explanation="why",
        **{check: check not in failed for check in ORDER},
    )
    fault = rejection(verdict)
    assert fault is not None
    assert fault[0].value == REASONS[min(ORDER.index(one) for one in failed)]
    assert len(fault[1]) < 400


def test_quotes_that_both_gave_are_shown_once() -> None:
    both = [
        {"quote": SECRET_QUOTE.replace(" ", "  "), "start_line": 7},
        {"quote": "mine alone", "start_line": 2},
    ]
    seen = told(run(blind(evidence=both), compare())[1].requests[1])
    assert seen.count("cable is 12 m") + seen.count("cable  is  12  m") == 1
    assert "mine alone" in seen
    seen = told(run(blind(evidence=both[:1]), compare())[1].requests[1])
    assert "(all of it stands above)" in seen


@pytest.mark.parametrize("rule", ["", HOP], ids=["any type", "a type"])
@pytest.mark.parametrize(("answer", "passes"), [("1998", True), ("in 1998", True), ("1989", False)])
def test_the_embedded_reader_understands_these_prompts(answer: str, passes: bool, rule: str) -> None:
    """It reads the labels of the prompts: other words for them make it deaf."""
    candidate = CANDIDATE.model_copy(
        update={
            "question": 'According to "Service manual of the CT-15 probe", when was the probe first built?',
            "answer": answer,
            "evidence": (
                Evidence(quote="The probe was first built in 1998 by Ida Holm.", start_line=6, end_line=6),
            ),
        }
    )
    reader = LocalModel(EmbeddedProvider(ModelSpec(provider="embedded", model="reader")))
    verdict = verdict_of(judge(context_of(), reader, candidate, 1, rule))
    assert verdict.answerable
    assert (verdict.blind_answer, verdict.matches) == ("1998", passes)


JUDGED = {
    "answer": SECRET_ANSWER,
    "self_contained": True,
    "relevant": True,
    "evidence": [{"quote": SECRET_QUOTE, "start_line": 7}],
}


def alone(model: FakeModel, rule: str = "", context: QAContext | None = None) -> Judged:
    """The judgement of a candidate whose answer is the one that the tests of equal answers give."""
    return judge(context or context_of(), model, CANDIDATE, 5, rule)


def test_no_model_compares_equal_answers_to_a_question_without_fault() -> None:
    model = FakeModel([blind(**JUDGED)])
    verdict = verdict_of(alone(model))
    assert rejection(verdict) is None
    assert (verdict.blind_answer, len(model.requests)) == (SECRET_ANSWER, 1)


@pytest.mark.parametrize(
    "said",
    [
        {},
        JUDGED | {"relevant": False},
        JUDGED | {"self_contained": False},
        JUDGED | {"unambiguous": False},
        JUDGED | {"premise_holds": False},
        JUDGED | {"evidence": [{"quote": "another line that it needs"}]},
        JUDGED | {"evidence": []},
    ],
    ids=["not judged", "relevant", "self_contained", "unambiguous", "premise", "supported", "no quote"],
)
def test_a_model_compares_where_the_blind_step_has_a_doubt(said: dict[str, Any]) -> None:
    model = FakeModel([blind(**said), compare(relevant=False)])
    fault = rejection(verdict_of(alone(model)))
    assert fault is not None
    assert fault[0] is RejectionReason.IRRELEVANT


def test_a_model_compares_different_answers_types_and_what_was_seen() -> None:
    different, _ = run(blind(**JUDGED | {"answer": "each quarter"}), compare())
    assert verdict_of(different).explanation == "Both say so."
    typed = alone(FakeModel([blind(**JUDGED), compare(of_type=True)]), HOP)
    assert verdict_of(typed).explanation == "Both say so."
    seen = alone(FakeModel([blind(answer=SECRET_ANSWER), compare()]), context=visual_context())
    assert verdict_of(seen).explanation == "Both say so."


def test_the_blind_step_judges_by_the_purpose_in_textual_mode() -> None:
    _, model = run(blind(), compare())
    assert "Short questions of technicians." in told(model.requests[0])
    (tool,) = (tool for tool in model.requests[0].tools if tool.name == "submit_answers")
    assert {"self_contained", "relevant"} <= set(
        tool.parameters["properties"]["answers"]["items"]["required"]
    )


NUMBERS = CANDIDATE.model_copy(update={"answer": "60 days"})


@pytest.mark.parametrize(
    ("context", "computation", "reason"),
    [
        (context_of(), "", RejectionReason.WRONG_ANSWER),
        (context_of(), "sum of 30; 30 = 60", None),
        (visual_context(), "", None),
    ],
    ids=["textual", "computed by code", "visual"],
)
def test_other_numbers_are_refused_by_code_where_the_text_has_them(
    context: QAContext, computation: str, reason: RejectionReason | None
) -> None:
    own = set[str]() if context.mode is Mode.TEXTUAL else {"self_contained", "relevant"}
    said = {name: value for name, value in JUDGED.items() if name not in own}
    model = FakeModel([blind(**said | {"answer": "90 days"}), compare()])
    verdict = verdict_of(judge(context, model, NUMBERS.model_copy(update={"computation": computation}), 5))
    fault = rejection(verdict)
    assert (len(model.requests), fault and fault[0]) == (1 if reason else 2, reason)
    if reason:
        assert verdict.explanation.startswith("code compared the two answers: ")
    if computation:
        assert f"Computed by code from these: {computation}" in told(model.requests[1])
