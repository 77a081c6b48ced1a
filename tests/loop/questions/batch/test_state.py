from __future__ import annotations

import pytest

from qagen_dagster.grounding.grade_by_code import grade_by_code, tally
from qagen_dagster.grounding.source import Source
from qagen_dagster.loop.questions.batch.state import fault_of
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus


@pytest.mark.parametrize(
    ("grounded", "confidence", "whole", "alone"),
    [
        (None, None, True, True),
        (True, 0.9, True, True),
        (False, 0.9, False, True),
        (False, 0.2, False, False),
        (True, 0.6, False, False),
    ],
)
def test_an_answer_must_be_grounded_as_a_whole_and_a_question_need_not(
    grounded: bool | None, confidence: float | None, whole: bool, alone: bool
) -> None:
    grade = AnswerGrade(is_grounded=grounded, confidence=confidence, method="m", issues=("far off",))
    assert (fault_of(grade, 0.7) is None, fault_of(grade, 0.7, whole=False) is None) == (whole, alone)


def test_an_undecided_answer_is_asked_for_again_only_if_the_document_lacks_most_of_it() -> None:
    def fault(*scores: float) -> str | None:
        parts = [
            SentenceGrade(sentence="S.", status=SentenceStatus.NOT_MEASURED, score=one) for one in scores
        ]
        return fault_of(tally(parts, "semantic"), 0.7)

    assert fault(0.5, 0.66) is None
    assert fault(0.5, 0.4) == "Undecided (0.50): 'S.'; Undecided (0.40): 'S.'"


def test_a_refusal_names_the_rule_that_decided() -> None:
    """0.75 is enough where 0.70 is wanted: what refuses is that one sentence of four is not grounded."""
    good, bad = SentenceStatus.SUPPORTED, SentenceStatus.CONTRADICTED
    grade = tally([SentenceGrade(sentence="s", status=status) for status in (good, good, good, bad)], "m")
    assert grade.confidence == 0.75
    told = fault_of(grade, 0.7) or ""
    assert told.endswith("(every sentence must be grounded)")
    assert fault_of(grade, 0.8) == told
    unsure = tally([SentenceGrade(sentence="s", status=good)], "m").model_copy(update={"confidence": 0.6})
    assert (fault_of(unsure, 0.7) or "").endswith("(confidence 0.60 is below 0.70)")


def test_an_undecided_answer_that_code_has_computed_is_no_fault() -> None:
    doubtful = SentenceGrade(sentence="s", status=SentenceStatus.NOT_MEASURED, score=0.4)
    grade = tally([doubtful], "m")
    assert fault_of(grade, 0.7)
    assert fault_of(grade, 0.7, computed=True) is None


TEXT = """The officer testified that the regulations required a list of everything seized from the vehicle.
When asked if he had followed them, he said that he had not. The inventory that was shown to the jury
did not list the gun. We hold that the search was no inventory search."""


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("The inventory shown to the jury did not list the gun, and the officer had not followed the regulations.", False),
        ("The regulations required a list, which did not list the gun.", False),
        ("The officer had likewise not followed the regulations.", False),
        ("Napoleon had not followed the regulations.", True),
        ("Hikers abandoned tents near glaciers although rangers warned them repeatedly.", True),
    ],
)  # fmt: skip
def test_an_undecided_answer_is_doubtful_only_if_the_document_lacks_its_words(
    answer: str, refused: bool
) -> None:
    grade = grade_by_code(answer, Source(TEXT), question="Why was it no inventory search?")
    assert (grade.is_grounded, fault_of(grade, 0.7) is not None) == (None, refused)
