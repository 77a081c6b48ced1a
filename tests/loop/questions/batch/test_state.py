from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.grade_by_code import tally
from qagen_dagster.loop.questions.batch.state import batch_limits, fault_of
from qagen_dagster.records.corpus import Complexity, QuestionType, ScenarioConfig
from qagen_dagster.records.grading import AnswerGrade, Method, SentenceGrade, SentenceStatus


def scenario(**more: object) -> ScenarioConfig:
    said = {"name": "n", "description": "d", "modes": ["textual"], "strategy": "batch"}
    return ScenarioConfig.model_validate(said | more)


@given(st.integers(1, 60), st.sampled_from(Complexity), st.text(min_size=1, max_size=20))
def test_a_target_is_spread_evenly(target: int, complexity: Complexity, document: str) -> None:
    limits = batch_limits(scenario(batch={"complexity": complexity}, target_count=target), None)
    counts = dict(limits.wanted(document))
    assert sum(counts.values()) == target == limits.target_count
    assert set(counts) <= set(complexity.question_types)
    full = [counts.get(kind, 0) for kind in complexity.question_types]
    assert max(full) - min(full) <= 1


@given(st.integers(1, 40), st.text(min_size=1, max_size=20))
def test_a_higher_target_wants_no_less_of_any_type(target: int, document: str) -> None:
    fewer, more = (dict(batch_limits(scenario(), count).wanted(document)) for count in (target, target + 1))
    assert all(more.get(kind, 0) >= count for kind, count in fewer.items())


def test_over_a_corpus_every_type_comes_about_as_often() -> None:
    limits = batch_limits(scenario(target_count=5), None)
    total = Counter(kind for number in range(400) for kind, _ in limits.wanted(f"paper-{number}.pdf"))
    assert set(total) == set(Complexity.ADVANCED.question_types)
    assert max(total.values()) < 1.4 * min(total.values())


def test_a_mix_decides_whatever_target_is_asked_for() -> None:
    limits = batch_limits(scenario(batch={"mix": {"multi_hop": 3, "causal": 2}}, target_count=9), 12)
    assert limits.target_count == 5
    assert limits.wanted("any") == ((QuestionType.MULTI_HOP, 3), (QuestionType.CAUSAL, 2))
    assert limits.max_attempts == 20


def test_declared_types_take_the_place_of_a_preset_and_the_run_may_wish_a_target() -> None:
    limits = batch_limits(scenario(batch={"question_types": ["temporal", "temporal", "causal"]}), 4)
    assert dict(limits.wanted("any")) == {QuestionType.TEMPORAL: 2, QuestionType.CAUSAL: 2}
    assert batch_limits(scenario(grading={"method": "keyword"}), None).method is Method.KEYWORD


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
