"""What the answerer and the judge of a batch are shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from qagen_dagster.grounding import judge as grounding_judge
from qagen_dagster.grounding.source import Source
from qagen_dagster.loop.grading.grade_answers import AnswerToGrade, Grader, quoted_lines
from qagen_dagster.loop.questions.batch import run_document as run_document_module
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.grading import Method
from tests.support.batches.play import BatchPlay, Fate, question
from tests.support.batches.run import limits_of, run
from tests.support.documents import context_of
from tests.support.models import FakeModel, call, told

HOP = QuestionType.MULTI_HOP


def test_a_judge_may_override_and_its_calls_are_accounted_for() -> None:
    play = BatchPlay([[("multi_hop", Fate.FALSE)]])
    supports = call("submit_verdict", verdict="SUPPORTED", confidence=0.95, reason="Line 2.")
    play.models = replace(play.models, judge=FakeModel(lambda _: supports, "judge"))
    result = run(play, limits=limits_of({HOP: 1}))
    (pair,) = result.accepted
    assert result.grades[pair.id].is_grounded
    assert [one.attempt for one in result.calls if one.role == "judge"] == [1]


def test_the_judge_of_a_long_document_sees_what_the_answer_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding_judge, "BESIDE_QUOTES", 100)
    play = BatchPlay([[("multi_hop", Fate.FALSE)]])
    judge = FakeModel(
        lambda _: call("submit_verdict", verdict="SUPPORTED", confidence=0.95, reason="."), "judge"
    )
    play.models = replace(play.models, judge=judge)
    (pair,) = run(play, limits=limits_of({HOP: 1})).accepted
    (asked,) = judge.requests
    assert "passages that were quoted for it" in told(asked)
    assert all(one.quote in told(asked) for one in pair.evidence)
    again = AnswerToGrade(
        pair.id,
        pair.question,
        pair.answer,
        pair.generation_metadata.attempt_number,
        quoted=quoted_lines(pair.evidence),
    )
    Grader(Method.HYBRID, judge).grade(Source("\n".join(context_of().view.lines)), pair.document_id, again)
    assert judge.requests[1:] == [asked], "the report finds the verdict in the ledger"


def test_the_document_is_shown_once_for_all_answers_of_a_round() -> None:
    """Answers that fail are asked for again alone, and so are questions that got none."""
    kinds = [Fate.GOOD, Fate.LATE, Fate.SILENT, Fate.GOOD, Fate.GOOD]
    play = BatchPlay([[("multi_hop", fate) for fate in kinds]])
    result = run(play, limits=limits_of({HOP: 5}))
    assert len(result.accepted) == 4
    answering = [json.loads(request)["tools"][0]["name"] for role, request in play.log if role == "answerer"]
    assert answering[0] == "submit_grounded_answers"
    assert set(answering[1:]) == {"submit_grounded_answer"}
    alone = [request for role, request in play.log if role == "answerer"][1:]
    assert all(question(Fate.LATE, 2) in one or question(Fate.SILENT, 3) in one for one in alone)


@pytest.mark.parametrize(("kind", "near"), [(HOP, True), (QuestionType.AGGREGATION, False)])
def test_the_answerer_sees_what_is_near_the_lines_that_the_generator_names(
    kind: QuestionType, near: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count needs the whole document. What a few passages do not answer is asked again alone."""
    monkeypatch.setattr(run_document_module, "PASSAGE", 10)
    play = BatchPlay([[(kind.value, Fate.GOOD), (kind.value, Fate.HONEST)]], server=True, lines=(4,))
    result = run(play, limits=limits_of({kind: 2}))
    assert len(result.accepted) == 1
    shown = [json.loads(request) for role, request in play.log if role == "answerer"]
    assert [one["tools"][0]["name"] for one in shown] == [
        "submit_grounded_answers",
        *(["submit_grounded_answer"] if near else []),
    ]
    text = json.dumps(shown[0]["messages"])
    assert "5| Never open the cell" in text
    assert ("| The probe measures" in text) is not near
