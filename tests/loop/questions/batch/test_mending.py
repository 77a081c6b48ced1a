"""An answer of a batch that the validator refused may be corrected once."""

from __future__ import annotations

import pytest

from qagen_dagster.models.messages import Request
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.results import RejectionReason
from tests.support.batches.play import LINES, BatchPlay, Fate, Round, question
from tests.support.batches.run import COMBINATION, fresh, limits_of, run
from tests.support.models import told

WHY = QuestionType.CAUSAL
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
