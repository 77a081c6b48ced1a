"""The model of the agent loop without any past run: an order of magnitude that grows as it must."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.forecast import Use
from qagen_dagster.loop.estimate.rough_guess import Task, expected_questions, guess
from qagen_dagster.loop.questions.state import QALimits
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.records.corpus import CorpusConfig, ScenarioConfig
from qagen_dagster.records.ids import Mode

SCENARIO = ScenarioConfig(name="Facts", description="Single facts.")
CORPUS = CorpusConfig(name="Notes", corpus_context="Notes on stations.", scenarios={"facts": SCENARIO})
SERVER = dict.fromkeys(Role, ModelSpec(provider="openai", model="m"))
LOCAL = dict.fromkeys(Role, ModelSpec(provider="embedded", model="rules"))


def task(target: int = 5, mode: Mode = Mode.TEXTUAL) -> Task:
    limits = QALimits(target_count=target, max_consecutive_failures=5, max_attempts=max(10, 4 * target))
    return Task(CORPUS, SCENARIO, mode, limits)


@given(st.floats(0, 1e7), st.floats(0, 1e7), st.integers(1, 100), st.sampled_from(Mode))
def test_it_never_falls_with_size_or_target(size: float, more: float, target: int, mode: Mode) -> None:
    base = guess(task(target, mode), size, SERVER)
    for greater in (
        guess(task(target, mode), size + more, SERVER),
        guess(task(target + 1, mode), size, SERVER),
    ):
        for role, use in base.items():
            assert all(a <= b * (1 + 1e-9) + 1e-6 for a, b in zip(use, greater[role], strict=True))


def test_a_document_that_reaches_its_target_is_about_what_such_runs_take() -> None:
    found = guess(task(), 20_000, SERVER)
    assert {role: round(use.calls) for role, use in found.items()} == {
        "generator": 21, "validator": 20, "deduplicator": 4,
    }  # fmt: skip
    assert 2_000 < found["generator"].input_tokens / found["generator"].calls < 12_000
    assert found["deduplicator"].input_tokens / found["deduplicator"].calls < 1_500
    assert found["generator"].seconds > 60


def test_a_document_with_nothing_in_it_is_looked_at_once() -> None:
    found = guess(task(), 0, SERVER)
    assert (found["generator"].calls, found["validator"].calls, found["deduplicator"].calls) == (3, 0, 0)
    assert expected_questions(1_000, 5) == 4
    assert expected_questions(10_000, 5) == 5


def test_pictures_take_more_and_rules_take_fewer_turns() -> None:
    text, looks, rules = (
        guess(task(), 20_000, SERVER), guess(task(mode=Mode.VISUAL), 20_000, SERVER), guess(task(), 20_000, LOCAL),
    )  # fmt: skip
    assert looks["generator"].input_tokens > text["generator"].input_tokens + 1_500
    assert rules["generator"].calls < text["generator"].calls
    assert rules["generator"].seconds < text["generator"].seconds / 10


def test_the_text_control_is_counted_for_visual_questions_of_models_on_a_server() -> None:
    def validator(mode: Mode, models: dict[Role, ModelSpec], *, control: bool) -> Use:
        scenario = SCENARIO.model_copy(update={"text_control": control})
        return guess(replace(task(mode=mode), scenario=scenario), 20_000, models)["validator"]

    more = (
        validator(Mode.VISUAL, SERVER, control=True).calls
        - validator(Mode.VISUAL, SERVER, control=False).calls
    )
    assert more == pytest.approx(5 * 2.5)  # per accepted question: two turns, and half a comparison
    for mode, models in ((Mode.TEXTUAL, SERVER), (Mode.VISUAL, LOCAL)):
        assert validator(mode, models, control=True) == validator(mode, models, control=False)
