"""Questions without an answer: proved by a search in the whole corpus, refused if any document answers them."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.loop.questions.no_answer.stage import distrust, without_stages
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.questions.results import RejectedQA, RejectionReason
from tests.loop.conftest import PlayedWorkspace, put_documents
from tests.loop.questions.no_answer.harbour import (
    KNOWN,
    TEXTS,
    Keeper,
    accepted,
    add,
    false_premise,
    result,
    unanswerable,
    underspecified,
)

UNANSWERABLE, FALSE, UNDER = NoAnswerKind
pytestmark = pytest.mark.usefixtures("harbours")


@pytest.fixture
def harbours(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, TEXTS)


def test_an_unanswerable_question_keeps_what_was_searched(workspace: PlayedWorkspace) -> None:
    found = add(workspace, Keeper([[unanswerable("funnel")]]), {UNANSWERABLE: 1})
    (pair,) = (one for one in found.accepted if one.no_answer is not None)
    assert (pair.question_type, pair.answer) == (
        "unanswerable",
        "The documents do not give the weight of the funnel of Bar.",
    )
    assert pair.no_answer is not None
    assert pair.no_answer.documents == 2
    assert [one.document_id for one in pair.no_answer.searched] == [None, "bar.txt", "cor.txt"]
    assert pair.no_answer.searched[2].lines[0].end_line == 3
    assert not any(one.answered for one in pair.no_answer.searched)
    assert [one.quote for one in pair.evidence] == ["The boiler of Bar weighs 700 kg."]
    assert (found.stats.target_count, found.stats.accepted_count, found.no_answer_target) == (3, 3, 1)


@pytest.mark.parametrize(
    ("thing", "where"),
    [("davit", "the documents together"), ("anchor", "")],
    ids=["another document answers", "a question that is there already"],
)
def test_a_question_that_the_corpus_answers_is_refused(
    workspace: PlayedWorkspace, thing: str, where: str
) -> None:
    """The weight of the davit of Bar is in the document about Cor."""
    keeper = Keeper([[unanswerable(thing)], [unanswerable("funnel")]])
    found = add(workspace, keeper, {UNANSWERABLE: 1})
    assert found.rejected[0].rejection_reason in (RejectionReason.ANSWERABLE, RejectionReason.DUPLICATE)
    assert where in found.rejected[0].rejection_detail
    assert found.accepted[-1].question == "How heavy is the funnel of Bar?"
    assert found.shortfalls == ()


@pytest.mark.parametrize(
    ("weight", "changed", "reason"),
    [
        (99, {}, None),
        (40, {}, RejectionReason.ANSWER_NOT_SUPPORTED),
        (40, {"answer": "The anchor of Old Bar weighs 25 kg.", "evidence": [{"quote": "The anchor of Old Bar weighs 25 kg."}]}, RejectionReason.ANSWERABLE),
    ],
    ids=["denied", "the correction says what the question says", "true beside a correction of another thing"],
)  # fmt: skip
def test_a_false_premise_must_be_denied_by_the_document(
    workspace: PlayedWorkspace, weight: int, changed: dict[str, Any], reason: RejectionReason | None
) -> None:
    keeper = Keeper([[false_premise(weight) | changed]])
    found = add(workspace, keeper, {FALSE: 1})
    assert [one.question_type for one in found.accepted[2:]] == ([] if reason else ["false_premise"])
    assert [one.rejection_reason for one in found.rejected] == ([reason] if reason else [])
    sent = [one for one in keeper.asked if "weighs" in one]
    assert bool(sent) is (reason is not RejectionReason.ANSWER_NOT_SUPPORTED), "code asks no model"


def test_a_question_whose_words_stand_in_one_sentence_is_refused_by_code(workspace: PlayedWorkspace) -> None:
    """The sentence is in another document, and the validator would overlook it."""
    text = f"{TEXTS['cor.txt']}\n\nIn the heavy funnel of Bar, which weighs 12 kg, birds nest."
    put_documents(workspace, TEXTS | {"cor.txt": text})
    keeper = Keeper([[unanswerable("funnel")]], "honest")
    found = add(workspace, keeper, {UNANSWERABLE: 1})
    (lost,) = found.rejected
    assert lost.rejection_reason is RejectionReason.ANSWERABLE
    assert "cor.txt has a sentence with all its words: 'In the heavy funnel" in lost.rejection_detail
    assert not any("funnel" in one for one in keeper.asked)


def test_a_correction_must_stand_in_its_quotes(workspace: PlayedWorkspace) -> None:
    draft = false_premise(99) | {"answer": "The anchor of Bar weighs 41 kg."}
    found = add(workspace, Keeper([[draft]]), {FALSE: 1})
    assert found.rejected[0].rejection_reason is RejectionReason.ANSWER_NOT_SUPPORTED


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (("40 kg", "25 kg"), None),
        (("40 kg", "40 kg"), RejectionReason.ANSWER_NOT_SUPPORTED),
        (("25 kg", "40 kg"), RejectionReason.ANSWER_NOT_SUPPORTED),
    ],
)
def test_each_reading_of_an_underspecified_question_has_its_answer(
    workspace: PlayedWorkspace, answers: tuple[str, str], reason: RejectionReason | None
) -> None:
    found = add(workspace, Keeper([[underspecified(*answers)]]), {UNDER: 1})
    assert [one.rejection_reason for one in found.rejected] == ([] if reason is None else [reason])
    if reason is None:
        (pair,) = found.accepted[2:]
        assert pair.no_answer is not None
        assert [(one.answer, one.start_line) for one in pair.no_answer.readings] == [
            ("40 kg", 2),
            ("25 kg", 5),
        ]


def test_a_lenient_validator_proves_nothing_and_is_told_from_an_honest_one(
    workspace: PlayedWorkspace,
) -> None:
    """It finds no answer to anything, so without a test it would accept the weight that another document gives."""
    keeper = Keeper([[unanswerable("davit")]], "lenient")
    found = add(workspace, keeper, {UNANSWERABLE: 1})
    assert found.accepted == result().accepted
    (short,) = found.shortfalls
    assert "the validator found no answer to 2 of 2 questions that the document answers" in short.reason
    assert (short.question_type, short.wanted, short.accepted) == ("unanswerable", 1, 0)


def test_an_eager_validator_accepts_none(workspace: PlayedWorkspace) -> None:
    found = add(workspace, Keeper([[unanswerable("funnel")]], "eager"), {UNANSWERABLE: 1})
    assert {one.rejection_reason for one in found.rejected} == {RejectionReason.ANSWERABLE}
    assert "rejected: 1 answerable" in found.shortfalls[0].reason


def test_without_an_accepted_question_the_validator_cannot_be_tested(workspace: PlayedWorkspace) -> None:
    keeper = Keeper([[unanswerable("funnel")]])
    found = add(workspace, keeper, {UNANSWERABLE: 1}, result(accepted()))
    assert (found.accepted, keeper.asked) == ((), [])
    assert "no question on which the validator could be tested" in found.shortfalls[0].reason


def test_a_question_that_a_model_knows_tests_the_validator_too(workspace: PlayedWorkspace) -> None:
    for reason, asked in ((RejectionReason.TRIVIAL, 2), (RejectionReason.DUPLICATE, 0)):
        rejected = tuple(
            RejectedQA(
                question=one.question,
                answer=one.answer,
                evidence=one.evidence,
                document_id=one.document_id,
                attempt_number=1,
                rejection_reason=reason,
                rejection_detail="",
            )
            for one in KNOWN
        )
        before = result(()).model_copy(update={"rejected": rejected})
        keeper = Keeper([[unanswerable("funnel")]])
        found = add(workspace, keeper, {UNANSWERABLE: 1}, before, key=f"journals/{reason.value}.json")
        assert (found.controls, len(found.accepted)) == ((asked, asked), asked // 2)


def test_it_resumes_from_its_journal_and_gives_back_what_was_there_before(workspace: PlayedWorkspace) -> None:
    wanted = {UNANSWERABLE: 1}
    found = add(workspace, Keeper([[unanswerable("funnel")]]), wanted)
    again = Keeper([])
    assert add(workspace, again, wanted) == found
    assert again.asked == []
    assert without_stages(found).model_copy(update={"calls": ()}) == result()


def test_earlier_questions_are_proved_again_before_new_ones_are_asked_for(workspace: PlayedWorkspace) -> None:
    """The document about Cor now gives the weight of the funnel."""
    wanted = {UNANSWERABLE: 1}
    found = add(workspace, Keeper([[unanswerable("funnel")]]), wanted)
    earlier = found.accepted[2:]
    kept = add(workspace, Keeper([]), wanted, earlier=earlier, key="journals/k.json")
    assert [one.id for one in kept.accepted[2:]] == [one.id for one in earlier]
    put_documents(workspace, TEXTS | {"cor.txt": f"{TEXTS['cor.txt']}\nThe funnel of Bar weighs 12 kg."})
    keeper = Keeper([[unanswerable("rudder")]])
    lost = add(workspace, keeper, wanted, earlier=earlier, key="journals/l.json")
    assert [one.question for one in lost.accepted[2:]] == ["How heavy is the rudder of Bar?"]
    assert lost.rejected[0].rejection_reason is RejectionReason.ANSWERABLE


@pytest.mark.parametrize(
    ("controls", "trusted"),
    [([], True), ([(3, 3), (3, 3), (3, 2)], True), ([(3, 2), (3, 2), (2, 1)], False), ([(0, 0)], True)],
)
def test_a_validator_that_overlooks_many_answers_is_distrusted_over_all_documents(
    controls: list[tuple[int, int]], trusted: bool
) -> None:
    assert (distrust(controls) == "") is trusted


def test_the_result_says_on_how_many_questions_the_validator_was_tested(workspace: PlayedWorkspace) -> None:
    found = add(workspace, Keeper([[unanswerable("funnel")]]), {UNANSWERABLE: 1})
    assert found.controls == (2, 2)


def test_a_document_without_a_name_of_the_question_is_not_asked_alone(workspace: PlayedWorkspace) -> None:
    """It was shown with the others, and the validator found nothing there."""
    put_documents(workspace, TEXTS | {"dorn.txt": "The harbour of Dorn\nThe anchor of Dorn weighs 12 kg."})
    found = add(workspace, Keeper([[unanswerable("funnel")]]), {UNANSWERABLE: 1})
    (pair,) = (one for one in found.accepted if one.no_answer is not None)
    assert pair.no_answer is not None
    assert [one.document_id for one in pair.no_answer.searched] == [None, "bar.txt", "cor.txt"]
