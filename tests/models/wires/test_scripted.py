from __future__ import annotations

import pytest

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.models.messages import (
    Message,
    Request,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.scripted import ScriptedProvider
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.batch import SubmitGroundedAnswers, SubmitQuestions, SubmitRewrite
from qagen_dagster.records.questions.submissions import (
    BlindAnswer,
    Comparison,
    DuplicateVerdict,
    EvidenceQuote,
    ReportExhausted,
    SubmitQA,
)
from qagen_dagster.toolkit.tool import schema_of
from tests.models.conftest import READ

LINES = (
    "Short line.",
    "The tallest lighthouse on the coast stands near the village of Fenby.",
    "",
    "Its keeper counted many thousand migrating swallows during the autumn.",
    "The end of it.",
)
PAGE = 3  # lines per answer of read_lines, so that reading on is needed


def terminal(name: str, record: type[Record]) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters=schema_of(record))


def read_lines(start_line: int) -> str:
    shown = list(enumerate(LINES, 1))[start_line - 1 : start_line - 1 + PAGE]
    return "\n".join(f"{number}| {line}" for number, line in shown) or "There is no such line."


def play(start: str, *terminals: ToolSpec) -> tuple[ToolCall, list[Message]]:
    """Run the conversation until a terminal tool is called."""
    model = LocalModel(ScriptedProvider(ModelSpec(provider="scripted", model="cloze")))
    messages: list[Message] = [UserMessage(content=(Text(text=start),))]
    for _ in range(10):
        response = model.respond(Request(system="s", messages=tuple(messages), tools=(READ, *terminals)))
        (call,) = response.message.tool_calls
        assert response.stop is Stop.TOOLS
        if call.name != "read_lines":
            return call, messages
        text = Text(text=read_lines(call.arguments["start_line"]))
        answer = ToolResult(call_id=call.id, name=call.name, content=(text,))
        messages += [response.message, ToolMessage(results=(answer,))]
    raise AssertionError("the script never came to an end")


GENERATE = (terminal("submit_qa", SubmitQA), terminal("report_exhausted", ReportExhausted))


def test_it_asks_each_line_once_then_reports_exhaustion() -> None:
    asked: list[SubmitQA] = []
    for _ in range(2):
        call, _ = play("Asked before:\n" + "\n".join(qa.question for qa in asked), *GENERATE)
        asked.append(SubmitQA.model_validate(call.arguments))
    assert [qa.answer for qa in asked] == ["lighthouse", "migrating"]
    assert [qa.evidence for qa in asked] == [
        (EvidenceQuote(quote=LINES[1], start_line=2),),
        (EvidenceQuote(quote=LINES[3], start_line=4),),
    ]
    call, _ = play("Asked before:\n" + "\n".join(qa.question for qa in asked), *GENERATE)
    assert call.name == "report_exhausted"
    ReportExhausted.model_validate(call.arguments)


def test_the_validator_finds_what_the_generator_asked() -> None:
    call, _ = play("Begin.", *GENERATE)
    candidate = SubmitQA.model_validate(call.arguments)
    answered, _ = play(f"Answer: {candidate.question}", terminal("submit_answers", BlindAnswer))
    answer = BlindAnswer.model_validate(answered.arguments)
    assert (answer.answerable, answer.answer, answer.evidence) == (True, candidate.answer, candidate.evidence)


def test_the_validator_says_so_when_it_finds_nothing() -> None:
    call, _ = play("Answer: Who was it?", terminal("submit_answers", BlindAnswer))
    assert not BlindAnswer.model_validate(call.arguments).answerable


def test_the_other_roles_agree() -> None:
    call, _ = play("Compare.", terminal("submit_comparisons", Comparison))
    assert Comparison.model_validate(call.arguments).matches
    call, _ = play("Compare.", terminal("submit_duplicate_verdict", DuplicateVerdict))
    assert DuplicateVerdict.model_validate(call.arguments).verdict == "unique"


def test_without_a_part_it_says_so() -> None:
    model = LocalModel(ScriptedProvider(ModelSpec(provider="scripted", model="cloze")))
    response = model.respond(Request(system="", messages=(UserMessage(content=(Text(text="Hi"),)),)))
    assert (response.stop, response.message.tool_calls) == (Stop.END, ())


def test_a_foreign_body_is_malformed() -> None:
    provider = ScriptedProvider(ModelSpec(provider="scripted", model="cloze"))
    with pytest.raises(MalformedResponseError):
        provider.read({"choices": []})


SHOWN = (
    "<document_excerpt>\n"
    + "\n".join(f"{n}| {line}" for n, line in enumerate(LINES, 1))
    + "\n</document_excerpt>"
)


def test_it_writes_as_many_questions_as_are_asked_for_and_says_what_it_lacks() -> None:
    wanted = "Questions to write, by type:\n- causal: 1\n- multi_hop: 2"
    call, _ = play(f"{SHOWN}\n\n{wanted}", terminal("submit_questions", SubmitQuestions))
    found = SubmitQuestions.model_validate(call.arguments)
    assert [one.question_type.value for one in found.questions] == ["causal", "multi_hop"]
    assert [one.question_type.value for one in found.not_possible] == ["multi_hop"]
    known = found.questions[0].question
    call, _ = play(f"{SHOWN}\n\n{wanted}\n{known}", terminal("submit_questions", SubmitQuestions))
    assert known not in [one.question for one in SubmitQuestions.model_validate(call.arguments).questions]


def test_it_answers_what_it_is_shown_or_says_that_it_cannot() -> None:
    call, _ = play(
        SHOWN + "\n\nQuestions to write, by type:\n- causal: 1", terminal("submit_questions", SubmitQuestions)
    )
    question = SubmitQuestions.model_validate(call.arguments).questions[0].question
    call, _ = play(f"{SHOWN}\n{question}", terminal("submit_grounded_answers", SubmitGroundedAnswers))
    (answer,) = SubmitGroundedAnswers.model_validate(call.arguments).answers
    assert (answer.answer, [one.quote for one in answer.evidence]) == (LINES[1], [LINES[1]])
    call, _ = play(f"{SHOWN}\nWho was it?", terminal("submit_grounded_answers", SubmitGroundedAnswers))
    (answer,) = SubmitGroundedAnswers.model_validate(call.arguments).answers
    assert answer.answer.startswith("Insufficient information")
    call, _ = play(f"{SHOWN}\nWho was it?", terminal("submit_rewrite", SubmitRewrite))
    assert SubmitRewrite.model_validate(call.arguments).question == ""
