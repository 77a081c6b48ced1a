"""The main measures of each evaluation have intervals that count documents."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.loop.evaluation.intervals import mean_of, report_intervals
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import (
    BaselineAnswer,
    ClosedBookAnswer,
    EvaluatedQuestion,
    Placement,
    RetrievedQuestion,
)

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
