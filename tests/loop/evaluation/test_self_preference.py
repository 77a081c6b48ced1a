"""Questions by a model of the system's family are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.evaluation.score import given_output, score_systems
from qagen_dagster.loop.evaluation.self_preference import family
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.loop.questions.publication.published_set import PublishedSet
from qagen_dagster.publishing.score_markdown import own_questions, score_markdown
from qagen_dagster.records.evaluation import ScoreReport
from qagen_dagster.records.questions.results import GenerationMetadata
from tests.support.scored import mixed_set


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai:gpt-6-sol", "gpt"),
        ("o3-mini", "gpt"),
        ("openai:o1", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("anthropic:claude-5", "claude"),
        ("us.anthropic.claude-3-haiku", "claude"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("openai_compatible:llama3.1:8b", "llama"),
        ("mistralai/Mixtral-8x7B", "mistral"),
        ("qwen2.5:7b", "qwen"),
        ("embedded:rules", "embedded"),
        ("embedded:reader", "embedded"),
        ("dolphin-2", "dolphin"),
        ("openai:zephyr-7b", "zephyr"),
        ("people", "people"),
        ("", ""),
    ],
)
def test_a_model_has_a_family(model: str, name: str) -> None:
    assert family(model) == name


def written_by(published: PublishedSet, *writers: str) -> PublishedSet:
    """The set with these writers in turn."""
    made = [
        GenerationMetadata(generator_model=name, validator_model="v", attempt_number=1) for name in writers
    ]
    questions = tuple(
        one.model_copy(update={"generation_metadata": made[at % len(made)]})
        for at, one in enumerate(published)
    )
    return PublishedSet(published.combination, "c", published.timestamp, questions, published.store)


def scored(tmp_path: Path, models: tuple[str, ...], right: tuple[set[int], ...]) -> ScoreReport:
    """Systems that answer the questions with these numbers rightly, of a set that gpt and claude wrote in turn."""
    found = written_by(mixed_set(tmp_path, 8, 0), "openai:gpt-6", "anthropic:claude-5")
    known = [one.id for one in found]
    outputs = [
        given_output(f"s{place}", [{"id": f"q-{at}", "answer": f"{at if at in good else 99} m"} for at in range(1, 9)], known)
        .model_copy(update={"model": model})
        for place, (model, good) in enumerate(zip(models, right, strict=True))
    ]  # fmt: skip
    return score_systems([found], outputs, CommandJudge())


def test_one_system_gets_its_figure_without_the_questions_of_its_family(tmp_path: Path) -> None:
    report = scored(tmp_path, ("gpt-4o",), ({1, 3, 5, 7, 2},))
    own = report.systems[0].own
    assert own is not None
    assert (own.family, own.questions, own.measure, own.own.value) == ("gpt", 4, "correct", 1.0)
    assert own.others is not None
    assert (own.others.value, own.preference) == (0.25, None)
    (line,) = own_questions(report.systems)
    assert "wrote 4 of 8 questions" in line
    assert "wrote 4 of 8 questions" in score_markdown(report)


def test_several_systems_get_their_self_preference(tmp_path: Path) -> None:
    report = scored(tmp_path, ("gpt-4o", "claude-5"), ({1, 3, 5, 7}, {2, 4, 6, 8}))
    assert [one.own and (*one.own.ranks, one.own.preference) for one in report.systems] == [
        (1, 2, -1),
        (1, 2, -1),
    ]  # fmt: skip
    assert "self-preference -1" in next(own_questions(report.systems))


@pytest.mark.parametrize("model", ["", "grok-4"])
def test_other_systems_are_not_warned_of(tmp_path: Path, model: str) -> None:
    report = scored(tmp_path, (model,), ({1},))
    assert report.systems[0].own is None
    assert list(own_questions(report.systems)) == []
