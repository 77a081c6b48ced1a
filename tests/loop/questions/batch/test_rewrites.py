"""Questions of a batch that are asked for again or corrected once, and what its answerer and judge are shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from qagen_dagster.grounding import judge as grounding_judge
from qagen_dagster.grounding.source import Source
from qagen_dagster.loop.grading.grade_answers import AnswerToGrade, Grader, quoted_lines
from qagen_dagster.loop.questions.batch.run_document import DocumentRun
from qagen_dagster.loop.questions.batch.state import BatchState, Draft, GradeQuestion, QuestionGraded
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.document import Metadata
from qagen_dagster.records.grading import Method
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.results import RejectionReason
from tests.support.batches.play import LINES, BatchPlay, Fate, Round, question
from tests.support.batches.run import COMBINATION, fresh, limits_of, run
from tests.support.documents import context_of, view_of
from tests.support.models import FakeModel, call, told

WHY = QuestionType.CAUSAL


@dataclass(frozen=True)
class Bound:
    """A model under another specification."""

    model: Model
    spec: ModelSpec

    def respond(self, request: Request) -> Response:
        return self.model.respond(request)


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
    asked = [request for _, request in play.log if "The rejected question:" in request]
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
    filler = (f"Chapter {number} is about the keepers of lighthouse {number}." for number in range(2_500))
    better = "Every how many days is the probe calibrated? Which words hold good 2?"
    play = BatchPlay([[("causal", Fate.GOOD), ("causal", Fate.GOOD)]], rewrites=lambda _: better)
    limits = limits_of({WHY: 1}, min_question_confidence=0.5, question_regenerations=1)
    assert run(play, limits=limits, text="\n".join((*LINES, *filler))).accepted
    rewritten = next(request for _, request in play.log if "The rejected question:" in request)
    answered = [request for role, request in play.log if role == "answerer"][-1]
    for request in (rewritten, answered):
        assert "Only parts of the document" in request
        assert LINES[2] in request


@pytest.mark.parametrize(
    ("answerer", "execution", "whole"),
    [("generator", "direct", True), ("another", "direct", False), ("generator", "batch", False)],
)
def test_a_later_answer_is_shown_the_whole_document_only_if_the_provider_has_cached_it(
    answerer: str, execution: str, *, whole: bool
) -> None:
    filler = (f"Chapter {number} is about the keepers of lighthouse {number}." for number in range(1_500))
    play = BatchPlay([[("causal", Fate.LATE), ("causal", Fate.GOOD)]])
    models = play.models
    assert models.answerer is not None
    spec = models.generator.spec.model_copy(update={"model": answerer, "execution": execution})
    play.models = replace(models, answerer=Bound(models.answerer, spec))
    run(play, limits=limits_of({WHY: 2}), text="\n".join((*LINES, *filler)))
    answered = [request for role, request in play.log if role == "answerer"]
    assert ["The whole document" in request for request in answered] == [True, True, whole]


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


LONG = "\n".join(
    (*LINES, *(f"Chapter {number} is about the keepers of lighthouse {number}." for number in range(1_500)))
)
PIECE: list[Round] = [[("causal", Fate.MENDED), ("causal", Fate.GOOD), ("causal", Fate.WRONG)]]


def test_a_refused_answer_is_corrected_graded_and_judged_again() -> None:
    seen: list[str] = []

    def before(role: str, request: Request) -> None:
        if role == "answerer":
            seen.append(told(request))

    play = BatchPlay(PIECE, before)
    result = run(play, limits=limits_of({WHY: 2}))
    assert [(one.question, one.answer) for one in result.accepted] == [
        (question(Fate.MENDED, 1), LINES[3]),
        (question(Fate.GOOD, 2), LINES[3]),
    ]
    assert result.rejected == ()
    assert [(one.attempt, one.passed) for one in result.verdicts] == [(1, True), (2, True)]
    mended = question_id(COMBINATION, result.document_id, question(Fate.MENDED, 1), LINES[3])
    assert result.grades[mended].is_grounded
    assert f"- {LINES[2]}\n  another reader of the document came to another answer" in seen[1]
    assert play.asked("answerer") == 2


@pytest.mark.parametrize(("kind", "whole"), [("causal", False), ("aggregation", True)])
def test_a_refused_answer_is_asked_for_again_from_passages_but_a_count_from_the_whole_document(
    kind: str, whole: bool
) -> None:
    play = BatchPlay([[(kind, Fate.MENDED), (kind, Fate.GOOD)]])
    assert len(run(play, limits=limits_of({QuestionType(kind): 2}), text=LONG).accepted) == 2
    first, again = (request for role, request in play.log if role == "answerer")
    assert f"The whole document, lines 1-{len(LONG.splitlines())}." in first
    assert ("The whole document" in again) is whole
    assert LINES[2] in again
    assert (len(again) < len(first) / 2) is not whole


def test_the_same_answer_again_corrects_nothing() -> None:
    play = BatchPlay([[("causal", Fate.WRONG)]])
    result = run(play, limits=limits_of({WHY: 1}))
    assert [one.rejection_reason for one in result.rejected][:1] == [RejectionReason.WRONG_ANSWER]
    assert (play.asked("answerer"), play.asked("validator")) == (2, 2), "it is not judged again"


def test_killed_anywhere_it_is_mended_once_and_the_blind_answer_holds() -> None:
    class Killed(Exception):
        pass

    whole = BatchPlay(PIECE)
    expected = run(whole, limits=limits_of({WHY: 3}))
    assert len(expected.accepted) == 2
    for at in range(len(whole.log)):
        count, store = iter(range(1_000)), fresh()

        def before(_role: str, _request: Request) -> None:
            if next(count) == at:  # noqa: B023
                raise Killed

        with pytest.raises(Killed):
            run(BatchPlay(PIECE, before), store, limits_of({WHY: 3}))
        assert run(BatchPlay(PIECE), store, limits_of({WHY: 3})) == expected


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
    monkeypatch.setattr(grounding_judge, "SHORT", 0)
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
    together, *alone = [request for role, request in play.log if role == "answerer"]
    assert [question(fate, at) in together for at, fate in enumerate(kinds, 1)] == [True] * 5
    assert all(question(Fate.LATE, 2) in one or question(Fate.SILENT, 3) in one for one in alone)
