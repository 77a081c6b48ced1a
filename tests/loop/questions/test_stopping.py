from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.loop.questions.stopping import batch_limits, limits_of, loop_limits, room_notes, staged_of
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import (
    Complexity,
    NoAnswerKind,
    QuestionType,
    ScenarioConfig,
    Span,
    Strategy,
)
from qagen_dagster.records.grading import Method
from qagen_dagster.records.ids import Mode


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


def test_a_scenario_that_asks_for_more_than_a_model_may_write_is_told() -> None:
    def notes(tokens: int, strategy: Strategy, target: int) -> list[str]:
        roles = {
            role: ModelSpec(provider="openai", model=role.value, max_output_tokens=tokens) for role in Role
        }
        return room_notes(scenario(strategy=strategy, target_count=target), Profile(roles=roles))

    assert notes(4096, Strategy.BATCH, 20) == []
    assert notes(1024, Strategy.AGENT, 20) == []
    assert [note.split(" may")[0] for note in notes(1024, Strategy.BATCH, 10)] == [
        "the generator",
        "the answerer",
        "the validator",
    ]
    assert "max_output_tokens: 1600" in notes(1024, Strategy.BATCH, 10)[0]
    assert "raise its max_output_tokens" in notes(200, Strategy.AGENT, 10)[0]


def with_mix(**shares: float) -> ScenarioConfig:
    return ScenarioConfig.model_validate({"name": "n", "description": "d", "mix": shares})


@given(st.integers(1, 40), st.text(min_size=1, max_size=20))
def test_questions_without_an_answer_are_a_part_of_the_target(target: int, document: str) -> None:
    scenario = with_mix(unanswerable=0.3, false_premise=0.2)
    counts = staged_of(scenario, Mode.TEXTUAL, target, document)
    assert sum(counts.values()) <= min(target - 1, -(-target // 2))
    limits = limits_of(scenario, target)
    assert loop_limits(limits, sum(counts.values())).target_count + sum(counts.values()) == target
    assert staged_of(scenario, Mode.VISUAL, target, document) == {}


def test_over_a_corpus_the_shares_of_the_mix_hold() -> None:
    scenario = with_mix(unanswerable=0.1, false_premise=0.05, underspecified=0.04)
    found = Counter[NoAnswerKind]()
    for number in range(1_000):
        found.update(staged_of(scenario, Mode.TEXTUAL, 5, f"paper-{number}.pdf"))
    for kind, share in (("unanswerable", 0.1), ("false_premise", 0.05), ("underspecified", 0.04)):
        assert abs(found[NoAnswerKind(kind)] - 5_000 * share) < 60


def test_a_share_across_documents_is_a_part_of_the_target_of_textual_mode() -> None:
    counts = staged_of(with_mix(across=0.4, unanswerable=0.2), Mode.TEXTUAL, 5, "paper.pdf")
    assert counts == {NoAnswerKind.UNANSWERABLE: 1, Span.ACROSS: 2}
    assert staged_of(with_mix(across=0.4), Mode.VISUAL, 5, "paper.pdf") == {}


@pytest.mark.parametrize(
    "mix",
    [{}, {"unanswerable": 0.4, "false_premise": 0.2}, {"unknown": 0.1}, {"across": 0.6, "unanswerable": 0.4}],
)
def test_a_mix_that_cannot_be_is_refused(mix: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        with_mix(**mix)
