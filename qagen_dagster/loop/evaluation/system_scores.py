"""Measures how good answers and rankings are: word overlap, right or wrong, recall and ranks, shares with 95 % intervals.

Sources: Rajpurkar et al., SQuAD, 2016 (exact match and token F1: case, punctuation and English articles do not count; in
scripts without spaces between words each character is a token, as in MLQA, Lewis et al. 2020). Voorhees, TREC-8 question
answering track, 1999 (reciprocal rank). Järvelin & Kekäläinen, ACM TOIS 2002 (discounted gain, here binary:
log2(1 + rank), relative to the best possible order). McNemar, Psychometrika 1947 (paired shares; here the exact binomial
test). `english/answers.py` compares the facts of two answers.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from qagen_dagster.agents.evaluation import closed_book
from qagen_dagster.english.answer_types import wrong_type
from qagen_dagster.english.answers import Match, match
from qagen_dagster.loop.statistics import wilson
from qagen_dagster.models.base import Model
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import (
    Comparison,
    Decided,
    Measure,
    Placement,
    RetrievedQuestion,
    ScoredAnswer,
    Scores,
    SystemScores,
)
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.run import Outcome

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII = frozenset(string.punctuation)
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


def exact(given: str, right: str) -> bool:
    """Whether both answers have the same words in the same order. Two answers without words are compared as strings."""
    mine, wanted = words(given), words(right)
    return mine == wanted if mine or wanted else given.strip() == right.strip()


def token_f1(given: str, right: str) -> float:
    """The harmonic mean of precision and recall over words, 0 to 1."""
    mine, wanted = Counter(words(given)), Counter(words(right))
    if not mine or not wanted:
        return float(exact(given, right))
    common = (mine & wanted).total()
    return 2 * common / (mine.total() + wanted.total())


def words(text: str) -> list[str]:
    """The words of a text that count in comparisons."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join("" if _is_punctuation(char) else char for char in plain)
    return _UNSPACED.sub(r" \1 ", _ARTICLES.sub(" ", bare)).split()


def _is_punctuation(char: str) -> bool:
    return char in _ASCII or unicodedata.category(char).startswith("P")


_UNKNOWN = frozenset(
    {
        "", "unknown", "not known", "i don't know", "i do not know", "don't know", "n/a", "none", "no answer",
        "cannot be determined", "cannot be known", "not enough information",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Marked:
    """Whether an answer is right, and what decided it."""

    right: bool
    decided: Decided
    explanation: str


def says_nothing(answer: str) -> bool:
    """Whether the text is empty, or says that the answer is not known."""
    return normalise(answer).rstrip(".!") in _UNKNOWN


def mark_answer(question: str, reference: str, given: str, model: Model | None, role: str) -> Outcome[Marked]:
    """Compare `given` with the reference answer. If code cannot decide, `model` does. The caller records the calls of `model`.

    Raises ModelError.
    """
    if says_nothing(given):
        return Outcome(Marked(False, Decided.UNKNOWN, "no answer was given"))
    found = match(given, reference)
    if found is Match.SAME:
        return Outcome(Marked(True, Decided.MATCH, "the same words, numbers and names"))
    if found is Match.CONFLICT:
        return Outcome(Marked(False, Decided.MATCH, "another number, date or name, or the opposite"))
    if other := wrong_type(question, reference, given):
        return Outcome(Marked(False, Decided.MATCH, f"the wrong type of answer: {other}"))
    if model is None:
        return Outcome(None, "code cannot decide, and the profile has no judge")
    marked = closed_book.mark(model, role, question, reference, given)
    if marked.result is None:
        return Outcome(None, f"not compared: {marked.failure}")
    return Outcome(Marked(marked.result.right, Decided.MODEL, marked.result.explanation))


CUTS = (1, 5, 10)
GAIN_CUT = 10
NAMES = {Ranking.WORDS: "bm25", Ranking.MEANING: "embedding", Ranking.BOTH: "fused"}


UNTITLED = "untitled_"  # begins the names of metrics for questions whose document titles are removed


def metrics(questions: Sequence[RetrievedQuestion]) -> dict[str, float]:
    """The means over the questions that were searched, named `<ranking>_<document or evidence>_<measure>`.

    If any question quotes its document's title, `titled_share` and the means with titles removed are added.
    """
    searched = [one for one in questions if one.placements]
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
                found[f"{name}_{level}_{measure}"] = round(fmean(one[measure] for one in scores), 4)
    return found


def _measures(wanted: Sequence[int | None], ranked: Iterable[int | None], relevant: int) -> dict[str, float]:
    """The measures of one question. `wanted` has the rank of each thing to find, `ranked` the ranks of relevant results.

    `relevant` is the number of relevant results that exist.
    """
    at = {f"recall_at_{cut}": recall(wanted, cut) for cut in CUTS}
    return at | {
        "mrr": reciprocal_rank(wanted),
        f"ndcg_at_{GAIN_CUT}": _gain(ranked) / _gain(range(1, relevant + 1)),
    }


def recall(places: Sequence[int | None], cut: int) -> float:
    """The share of `places` that are at most `cut`. None is a thing that was not found."""
    return sum(place is not None and place <= cut for place in places) / len(places)


def reciprocal_rank(places: Iterable[int | None]) -> float:
    """One divided by the best place; 0 if there is none."""
    first = min((place for place in places if place is not None), default=None)
    return 0.0 if first is None else 1 / first


def _gain(places: Iterable[int | None]) -> float:
    return sum(1 / math.log2(1 + place) for place in places if place is not None and place <= GAIN_CUT)


def placed(placements: Iterable[Placement], ranking: Ranking) -> Placement | None:
    """The placement in one ranking; None if there is none."""
    return next((one for one in placements if one.ranking is ranking), None)


CORRECT, FOUND_CUT = "correct", 5
FOUND = f"document_recall_at_{FOUND_CUT}"
_GROUPS: Mapping[str, Callable[[ScoredAnswer], str]] = {
    "type": lambda one: one.question_type or "none",
    "mode": lambda one: one.mode.value,
    "hops": lambda one: "unknown" if one.hops is None else str(one.hops),
    "document": lambda one: one.document_id,
}


def mcnemar(first: int, second: int) -> float:
    """The two-sided p-value if `first` questions were answered right only by one system, and `second` only by the other."""
    tail = sum(math.comb(first + second, count) for count in range(min(first, second) + 1))
    return min(1.0, 2 * tail / 2 ** (first + second))


def scores(answers: Sequence[ScoredAnswer], *, answered: bool, retrieved: bool) -> Scores:
    """The scores of a system. `answered` and `retrieved` say whether it gave any answers and any passages."""
    measures: dict[str, Measure | None] = {}
    counts: dict[str, int] = {}
    if answered:
        silent = sum(one.decided is Decided.UNKNOWN for one in answers)
        right = sum(one.right is True for one in answers)
        wrong = sum(one.right is False for one in answers) - silent
        undecided = sum(one.right is None for one in answers)
        counts = {"right": right, "wrong": wrong, "unanswered": silent, "undecided": undecided}
        measures[CORRECT] = _mean_with_interval(
            (one.right for one in answers if one.right is not None), len(answers)
        )
    if retrieved:
        places = {
            "document": [(one.document_rank,) for one in answers],
            "evidence": [one.evidence_ranks for one in answers if one.evidence_ranks],
        }
        for level, ranks in places.items():
            for cut in CUTS:
                name, found = f"{level}_recall_at_{cut}", (recall(one, cut) for one in ranks)
                measures[name] = _mean_with_interval(found, len(answers))
            found = (reciprocal_rank(one) for one in ranks)
            measures[f"{level}_mrr"] = _mean_with_interval(found, len(answers))
    known = {name: one for name, one in measures.items() if one is not None}
    return Scores(questions=len(answers), counts=counts, measures=known)


def grouped(
    answers: Sequence[ScoredAnswer], *, answered: bool, retrieved: bool
) -> dict[str, dict[str, Scores]]:
    """The scores by type, mode, hops and document."""
    found: dict[str, dict[str, Scores]] = {}
    for by, name in _GROUPS.items():
        parts: dict[str, list[ScoredAnswer]] = {}
        for one in answers:
            parts.setdefault(name(one), []).append(one)
        found[by] = {
            part: scores(parts[part], answered=answered, retrieved=retrieved) for part in sorted(parts)
        }
    return found


def compare_systems(first: SystemScores, second: SystemScores) -> tuple[Comparison, ...]:
    """Compare two systems by correctness and, if they gave passages, by whether the document is among the first FOUND_CUT."""
    both = set(first.overall.measures) & set(second.overall.measures)
    outcomes: Mapping[str, Callable[[ScoredAnswer], bool | None]] = {
        CORRECT: lambda one: one.right,
        FOUND: lambda one: recall((one.document_rank,), FOUND_CUT) == 1,
    }
    return tuple(_compared_systems(name, of, first, second) for name, of in outcomes.items() if name in both)


def _compared_systems(
    name: str, of: Callable[[ScoredAnswer], bool | None], first: SystemScores, second: SystemScores
) -> Comparison:
    pairs = [
        (one.question_id, of(one), of(other))
        for one, other in zip(first.answers, second.answers, strict=True)
    ]
    known = [(id_, mine, theirs) for id_, mine, theirs in pairs if mine is not None and theirs is not None]
    only_first = tuple(id_ for id_, mine, theirs in known if mine and not theirs)
    only_second = tuple(id_ for id_, mine, theirs in known if theirs and not mine)
    both = sum(mine and theirs for _, mine, theirs in known)
    return Comparison(
        measure=name,
        both=both,
        neither=len(known) - both - len(only_first) - len(only_second),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(len(only_first), len(only_second)),
        left_out=len(pairs) - len(known),
    )


def bounds(total: float, measured: int, questions: int) -> tuple[float, float]:
    """What the mean would be if all questions that were not measured were wrong (0), and if they were right (1)."""
    return round(total / questions, 4), round((total + questions - measured) / questions, 4)


def share_with_bounds(name: str, values: Sequence[float], questions: int) -> dict[str, float]:
    """The mean of values under `name`, and its bounds over all questions under `<name>_lower` and `<name>_upper`."""
    if not values:
        return {}
    lower, upper = bounds(sum(values), len(values), questions)
    return {name: round(fmean(values), 4), f"{name}_lower": lower, f"{name}_upper": upper}


def _mean_with_interval(values: Iterable[float], questions: int) -> Measure | None:
    """The mean of values from 0 to 1, out of `questions`; None without values."""
    found = [float(value) for value in values]
    if not found:
        return None
    low, high = wilson(sum(found), len(found))
    lower, upper = bounds(sum(found), len(found), questions)
    return Measure(
        value=round(fmean(found), 4),
        low=round(low, 4),
        high=round(high, 4),
        questions=len(found),
        lower=lower,
        upper=upper,
        not_measured=questions - len(found),
    )
