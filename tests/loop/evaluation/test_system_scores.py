"""The main measures of each evaluation have intervals that count documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop.evaluation.score import given_output, score_systems
from qagen_dagster.loop.evaluation.system_scores import family, mean_of, report_intervals
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.loop.questions.publication.published_set import PublishedSet
from qagen_dagster.publishing.score_markdown import own_questions, score_markdown
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import (
    BaselineAnswer,
    ClosedBookAnswer,
    EvaluatedQuestion,
    Placement,
    RetrievedQuestion,
    ScoreReport,
)
from qagen_dagster.records.questions.results import GenerationMetadata
from tests.support.scored import mixed_set

TEN = [(place, f"{place % 5}.txt") for place in range(10)]


def _named(place: int, document: str) -> dict[str, Any]:
    return {"question_id": f"q-{place}", "document_id": document, "question": "Who?", "answer": "Ida Holm"}


def _placed(rank: int | None) -> tuple[Placement, ...]:
    return (Placement(ranking=Ranking.BOTH, document=rank, chunks=(), evidence=(rank,)),)


CASES: dict[str, tuple[list[EvaluatedQuestion], dict[str, float]]] = {
    "closed book": (
        [ClosedBookAnswer(**_named(*one), leaked=None if one[0] == 9 else one[0] < 3) for one in TEN],
        {"leaked_share": 3 / 9},
    ),
    "answers": (
        [BaselineAnswer(**_named(*one), exact=one[0] < 4, f1=0.5) for one in TEN],
        {"exact_match": 0.4, "token_f1": 0.5},
    ),
    "retrieval": (
        [
            RetrievedQuestion(
                **_named(*one),
                relevant=1,
                placements=_placed(1 if one[0] < 6 else 9),
                untitled="Who?" if one[0] == 0 else "",
                untitled_placements=_placed(None) if one[0] == 0 else (),
            )
            for one in TEN
        ],
        {
            "fused_document_recall_at_5": 0.6,
            "untitled_fused_document_recall_at_5": 0.5,
            "fused_evidence_recall_at_5": 0.6,
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_main_measures_have_intervals(case: str) -> None:
    questions, wanted = CASES[case]
    found = report_intervals(questions)
    assert {name: one.value for name, one in found.items()} == pytest.approx(wanted, abs=1e-4)
    for one in found.values():
        assert one.low < one.value < one.high
        assert one.documents == 5


def test_more_questions_about_the_same_documents_do_not_narrow_an_interval_that_documents_decide() -> None:
    def interval(each: int) -> tuple[float, float]:
        questions = [
            ClosedBookAnswer(**_named(place, f"{place % 8}.txt"), leaked=place % 8 < 4)
            for place in range(8 * each)
        ]
        found = mean_of(questions, lambda one: one.leaked)
        assert found is not None
        return found.low, found.high

    assert interval(10) == pytest.approx(interval(2), abs=0.01)
    assert mean_of([ClosedBookAnswer(**_named(0, "a"))], lambda one: one.leaked) is None


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
