"""Measures rankings: recall, reciprocal rank and discounted gain, of documents and of evidence.

Sources: Voorhees, TREC-8 question answering track, 1999 (reciprocal rank). Järvelin & Kekäläinen, ACM TOIS 2002 (discounted gain: here a
gain is 1 or a grade, the discount is log2(1 + rank), and the sum is divided by the sum for the best possible order).
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import RELEVANT, Placement, RetrievedQuestion

CUTS = (1, 5, 10)  # numbers of first results among which recall is measured
GAIN_CUT = 10  # number of first results that count for the discounted gain
NAMES = {Ranking.WORDS: "bm25", Ranking.MEANING: "embedding", Ranking.BOTH: "fused"}
UNTITLED = "untitled_"  # prefix of metrics for which the titles of documents are removed from the questions


def metrics(questions: Sequence[RetrievedQuestion]) -> dict[str, float]:
    """The means over the questions that were searched, named `<ranking>_<document or evidence>_<measure>`. If any question quotes its
    document's title, `titled_share` and the means with titles removed are added."""
    searched = [question for question in questions if question.placements]
    found = _means([(one.relevant, one.placements) for one in searched])
    titled = [one for one in searched if one.untitled]
    if titled:
        found["titled_share"] = round(len(titled) / len(searched), 4)
        without = _means([(one.relevant, one.untitled_placements or one.placements) for one in searched])
        found |= {f"{UNTITLED}{name}": value for name, value in without.items()}
    return found


def _means(searched: Sequence[tuple[int, Sequence[Placement]]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for ranking, name in NAMES.items():
        mine = [
            (relevant, place) for relevant, places in searched for place in places if place.ranking is ranking
        ]
        documents = [_measures([place.document], [place.document], 1) for _, place in mine]
        evidence = [_measures(place.evidence, place.chunks, relevant) for relevant, place in mine if relevant]
        for level, scores in (("document", documents), ("evidence", evidence)):
            for measure in scores[0] if scores else ():
                found[f"{name}_{level}_{measure}"] = round(fmean(score[measure] for score in scores), 4)
    return found


def _measures(wanted: Sequence[int | None], ranked: Iterable[int | None], relevant: int) -> dict[str, float]:
    """The measures of one question. `wanted` has the rank of each thing to find, and `ranked` has the ranks of relevant results. `relevant`
    is the number of relevant results that exist."""
    at = {f"recall_at_{cut}": recall(wanted, cut) for cut in CUTS}
    return at | {
        "mrr": reciprocal_rank(wanted),
        f"ndcg_at_{GAIN_CUT}": _gain(ranked) / _gain(range(1, relevant + 1)),
    }


def recall(places: Sequence[int | None], cut: int) -> float:
    """The share of `places` that are at most `cut`. None stands for a thing that was not found. `places` must not be empty."""
    return sum(place is not None and place <= cut for place in places) / len(places)


def reciprocal_rank(places: Iterable[int | None]) -> float:
    """One divided by the best place; 0 if there is no place."""
    first = min((place for place in places if place is not None), default=None)
    return 0.0 if first is None else 1 / first


def graded_measures(grades: Sequence[int | None], known: Iterable[int]) -> dict[str, float]:
    """The measures of results with these grades, best result first. `known` has the grades of all judged passages; one must be above 0. An
    unjudged result (None) counts as not relevant. Measures with the prefix `condensed_` leave unjudged results out (Sakai, SIGIR 2007)."""
    rankings = {
        "graded": [grade or 0 for grade in grades],
        "condensed": [grade for grade in grades if grade is not None],
    }
    first, ideal = grades[:GAIN_CUT], _discounted(sorted(known, reverse=True))
    judged = {f"judged_at_{GAIN_CUT}": sum(one is not None for one in first) / len(first)} if first else {}
    gains = {f"{name}_ndcg_at_{GAIN_CUT}": min(1, _discounted(one) / ideal) for name, one in rankings.items()}
    relevant = {
        name: [at for at, one in enumerate(some, 1) if one >= RELEVANT] for name, some in rankings.items()
    }
    return judged | gains | {f"{name}_mrr": reciprocal_rank(places) for name, places in relevant.items()}


def _discounted(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(1 + place) for place, grade in enumerate(grades[:GAIN_CUT], 1))


def _gain(places: Iterable[int | None]) -> float:
    return sum(1 / math.log2(1 + place) for place in places if place is not None and place <= GAIN_CUT)


def placed(placements: Iterable[Placement], ranking: Ranking) -> Placement | None:
    """The placement in one ranking; None if there is none."""
    return next((placement for placement in placements if placement.ranking is ranking), None)
