from __future__ import annotations

import math

import pytest

from qagen_dagster.loop.evaluation.ranking_measures import metrics
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import Placement, RetrievedQuestion


def asked(
    document: int | None, chunks: tuple[int, ...], evidence: tuple[int | None, ...], relevant: int
) -> RetrievedQuestion:
    place = Placement(ranking=Ranking.BOTH, document=document, chunks=chunks, evidence=evidence)
    return RetrievedQuestion(
        question_id="q", document_id="d", question="?", answer="!", relevant=relevant, placements=(place,)
    )


def test_places_are_worth_what_the_sources_say() -> None:
    found = metrics([asked(1, (2, 7), (2, 7), 2), asked(4, (), (None,), 1), asked(None, (), (None, None), 3)])
    assert {name: value for name, value in found.items() if "document" in name} == {
        "fused_document_recall_at_1": round(1 / 3, 4),
        "fused_document_recall_at_5": round(2 / 3, 4),
        "fused_document_recall_at_10": round(2 / 3, 4),
        "fused_document_mrr": round((1 + 1 / 4) / 3, 4),
        "fused_document_ndcg_at_10": round((1 + 1 / math.log2(5)) / 3, 4),
    }
    gain = (1 / math.log2(3) + 1 / math.log2(8)) / (1 + 1 / math.log2(3))
    assert found["fused_evidence_recall_at_1"] == 0
    assert found["fused_evidence_recall_at_5"] == round(0.5 / 3, 4)
    assert found["fused_evidence_recall_at_10"] == round(1 / 3, 4)
    assert found["fused_evidence_mrr"] == round(0.5 / 3, 4)
    assert found["fused_evidence_ndcg_at_10"] == round(gain / 3, 4)


@pytest.mark.parametrize(("place", "gain"), [(10, 1 / math.log2(11)), (11, 0.0)])
def test_gain_ends_at_ten(place: int, gain: float) -> None:
    assert metrics([asked(place, (place,), (place,), 1)])["fused_evidence_ndcg_at_10"] == round(gain, 4)


def test_a_question_without_evidence_in_the_text_counts_for_its_document_alone() -> None:
    found = metrics([asked(1, (), (), 0), asked(1, (1,), (1,), 1)])
    assert (found["fused_document_recall_at_1"], found["fused_evidence_recall_at_1"]) == (1, 1)
    assert metrics([asked(1, (), (), 0)]).keys() == {
        f"fused_document_{name}"
        for name in ("recall_at_1", "recall_at_5", "recall_at_10", "mrr", "ndcg_at_10")
    }


def test_nothing_asked_has_no_numbers() -> None:
    assert metrics([]) == {}


def test_questions_that_quote_their_title_are_also_measured_without_it() -> None:
    quoting = asked(1, (1,), (1,), 1)
    other = Placement(ranking=Ranking.BOTH, document=7, chunks=(), evidence=(None,))
    titled = quoting.model_copy(update={"untitled": "How long is it?", "untitled_placements": (other,)})
    found = metrics([titled, quoting])
    assert found["titled_share"] == 0.5
    assert found["fused_document_recall_at_5"] == 1
    assert found["untitled_fused_document_recall_at_5"] == 0.5
    assert found["untitled_fused_document_recall_at_10"] == 1
