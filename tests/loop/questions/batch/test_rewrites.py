"""What becomes of questions that are asked for again: repeats, refusals, empty replies."""

from __future__ import annotations

import pytest

from qagen_dagster.loop.questions.batch.events import Draft, QuestionGraded
from qagen_dagster.loop.questions.batch.run_document import DocumentRun
from qagen_dagster.loop.questions.batch.state import BatchState, GradeQuestion
from qagen_dagster.loop.questions.inputs import DocumentWork
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.document import Metadata
from tests.support.batches.play import LINES, BatchPlay, Fate, question
from tests.support.batches.run import COMBINATION, limits_of, run
from tests.support.documents import context_of, view_of

WHY = QuestionType.CAUSAL


def test_a_rewritten_question_that_repeats_another_is_not_taken() -> None:
    play = BatchPlay(
        [[("causal", Fate.GOOD), ("causal", Fate.GOOD)]], rewrites=lambda _: question(Fate.GOOD, 2)
    )
    limits = limits_of({WHY: 2}, min_question_confidence=1.0, question_regenerations=1)
    assert [one.question for one in run(play, limits=limits).accepted] == [
        question(Fate.GOOD, 1),
        question(Fate.GOOD, 2),
    ]


def test_another_wording_of_the_rejected_question_is_no_repeat_and_what_was_refused_is_told() -> None:
    first, second = question(Fate.GOOD, 1), question(Fate.GOOD, 2)
    again = "which words hold good 1"
    better = "Every how many days is the probe calibrated? Which words hold good 1?"
    offered = iter((first, second, again, better))
    play = BatchPlay([[("causal", Fate.GOOD), ("causal", Fate.GOOD)]], rewrites=lambda _: next(offered, ""))
    limits = limits_of({WHY: 2}, min_question_confidence=1.0, question_regenerations=4)
    run(play, limits=limits)
    asked = [request for _, request in play.log if "submit_rewrite" in request]
    assert "it is the rejected question again" in asked[1]
    assert f"it repeats '{second}'" in asked[2]
    assert again in asked[3]
    assert f"it repeats '{first}'" not in asked[3]
    assert any(better in request for role, request in play.log if role == "answerer")


def test_a_question_too_far_from_the_document_is_asked_for_again_and_an_empty_reply_keeps_it() -> None:
    told: list[str] = []

    def rewrite(rejected: str) -> str:
        told.append(rejected)
        return (
            "" if len(told) == 1 else "Every how many days is the probe calibrated? Which words hold good 2?"
        )

    play = BatchPlay([[("causal", Fate.GOOD)]], rewrites=rewrite)
    result = run(play, limits=limits_of({WHY: 1}, min_question_confidence=0.5))
    assert told == [question(Fate.GOOD, 1)] * 2
    assert len(result.accepted) == 1
    never = BatchPlay([[("causal", Fate.GOOD)]])
    kept = run(never, limits=limits_of({WHY: 1}, min_question_confidence=1.0))
    assert [one.question for one in kept.accepted] == [question(Fate.GOOD, 1)]
    assert never.asked("generator") == 3


def test_a_question_is_rewritten_and_answered_from_passages_that_share_its_words() -> None:
    filler = (f"Chapter {number} is about the keepers of lighthouse {number}." for number in range(1_500))
    better = "Every how many days is the probe calibrated? Which words hold good 2?"
    play = BatchPlay([[("causal", Fate.GOOD), ("causal", Fate.GOOD)]], rewrites=lambda _: better)
    limits = limits_of({WHY: 1}, min_question_confidence=0.5, question_regenerations=1)
    assert run(play, limits=limits, text="\n".join((*LINES, *filler))).accepted
    rewritten = next(request for _, request in play.log if "submit_rewrite" in request)
    answered = [request for role, request in play.log if role == "answerer"][-1]
    for request in (rewritten, answered):
        assert "Only parts of the document" in request
        assert LINES[2] in request


@pytest.mark.parametrize(("year", "may_be_named"), [("2013", True), ("2014", False)])
def test_a_question_may_name_the_date_of_its_document(year: str, may_be_named: bool) -> None:
    view = view_of(metadata=Metadata(date="2013-04-30"))
    work = DocumentWork(COMBINATION, context_of(view), limits_of({WHY: 1}), fingerprint="f" * 16)
    asked = f"Every how many days was the probe of {year} calibrated?"
    draft = Draft(number=1, question=asked, question_type=WHY)
    document_run = DocumentRun(work, limits_of({WHY: 1}), BatchPlay([]).models)
    graded = document_run.perform(GradeQuestion(draft=draft, question=asked), BatchState())
    assert isinstance(graded, QuestionGraded)
    assert graded.grade.is_grounded is may_be_named
