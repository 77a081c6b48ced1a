from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.evaluation.measures import exact, mcnemar, metrics, token_f1
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import Placement, RetrievedQuestion


@pytest.mark.parametrize(
    ("said", "right", "same", "f1"),
    [
        ("The Ridge station.", "ridge station", True, 1.0),
        ("12 bar", "a pressure of 12 bar", False, 2 * 2 / 6),
        ("12 bar", "13 psi", False, 0.0),
        ("", "12 bar", False, 0.0),
        ("Saint\u2010Denis \u00ab1998\u00bb", "saintdenis 1998", True, 1.0),
        ("\u6771\u4eac\u90fd", "\u6771\u4eac", False, 0.8),
        ("bar bar bar", "bar", False, 0.5),
        ("?", "?", True, 1.0),
        ("?", "!", False, 0.0),
    ],
)
def test_words_count_and_their_dress_does_not(said: str, right: str, same: bool, f1: float) -> None:
    assert exact(said, right) is same
    assert token_f1(said, right) == pytest.approx(f1)


@given(st.text(max_size=40), st.text(max_size=40))
def test_scores_are_shares_and_no_side_is_preferred(one: str, other: str) -> None:
    assert token_f1(one, other) == token_f1(other, one)
    assert 0 <= token_f1(one, other) <= 1
    assert exact(one, other) is exact(other, one)
    assert not exact(one, other) or token_f1(one, other) == 1
    assert exact(one, one)


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


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1), (1, 1, 1), (0, 5, 0.0625), (5, 0, 0.0625), (2, 10, 0.03857), (900, 1100, 8.5e-6)],
)
def test_mcnemars_exact_p_value(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=0.02)
