"""The first guess at a document of the batch strategy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.batch_guess import guess
from qagen_dagster.loop.estimate.forecast import Use
from qagen_dagster.loop.estimate.rough_guess import Task
from qagen_dagster.loop.questions.batch.state import batch_limits
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.records.corpus import (
    BatchOptions,
    CorpusConfig,
    QuestionType,
    ScenarioConfig,
    Strategy,
)
from qagen_dagster.records.ids import Mode

SERVER = ModelSpec(provider="openai", model="m")
ROLES = (Role.GENERATOR, Role.VALIDATOR, Role.DEDUPLICATOR, Role.ANSWERER)
PAPER = 65_000.0  # characters
DOCUMENT = PAPER / 4  # tokens


def guessed(
    size: float = PAPER,
    kind: QuestionType = QuestionType.FACTUAL,
    count: int = 6,
    judge: bool = False,
    **validator: object,
) -> dict[str, Use]:
    scenario = ScenarioConfig(
        name="Facts", description="Facts.", strategy=Strategy.BATCH, modes=(Mode.TEXTUAL,), batch=BatchOptions(mix={kind: count})
    )  # fmt: skip
    corpus = CorpusConfig(name="Notes", corpus_context="Notes.", scenarios={"facts": scenario})
    limits = batch_limits(scenario, None)
    models = dict.fromkeys((*ROLES, *((Role.JUDGE,) if judge else ())), SERVER)
    models[Role.VALIDATOR] = SERVER.model_copy(update=validator)
    return guess(Task(corpus, scenario, Mode.TEXTUAL, limits), limits, size, models)


def test_each_side_is_shown_the_document_once_in_a_round() -> None:
    found = guessed()
    assert found["generator"].calls == pytest.approx(1, abs=0.3)
    assert found["validator"].input_tokens < 2.2 * DOCUMENT
    assert DOCUMENT < found["generator"].input_tokens < 1.6 * DOCUMENT


def test_a_validator_that_does_not_see_the_whole_document_answers_one_question_at_a_time() -> None:
    few, many = guessed(), guessed(opening_characters=20_000)
    assert many["validator"].calls > few["validator"].calls + 12


def test_hidden_passages_are_counted_for_types_that_need_several() -> None:
    """Fewer for comparisons: where code computes the result, nothing is hidden."""
    plain, hops = guessed(), guessed(kind=QuestionType.SYNTHESIS)
    assert hops["validator"].calls == pytest.approx(plain["validator"].calls + 6 * 2.5)
    compared = guessed(kind=QuestionType.COMPARISON)["validator"].calls
    assert plain["validator"].calls < compared < plain["validator"].calls + 6


def test_the_answerer_of_a_count_sees_the_whole_document() -> None:
    near, whole = guessed(kind=QuestionType.COMPARISON), guessed(kind=QuestionType.AGGREGATION)
    assert whole["answerer"].input_tokens > near["answerer"].input_tokens + DOCUMENT / 2


def test_a_judge_is_counted_where_there_is_one() -> None:
    assert "judge" not in guessed()
    assert 3 < guessed(judge=True)["judge"].calls < 9


@given(st.floats(0, 50_000), st.floats(0, 50_000), st.integers(1, 60))
def test_it_never_falls_with_size(size: float, more: float, count: int) -> None:
    greater = guessed(size + more, count=count)
    for role, use in guessed(size, count=count).items():
        assert all(a <= b * (1 + 1e-9) + 1e-6 for a, b in zip(use, greater[role], strict=True)), role
