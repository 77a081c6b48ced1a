from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.grounding.fitting import Fitted, fit, kinds_alike
from benchmarks.grounding.sets import Item
from benchmarks.grounding.table import NOT_ASKED, Table, tabulate
from qagen_dagster.grounding.calibration import calibration
from qagen_dagster.grounding.features import SIGNS
from qagen_dagster.grounding.methods.semantic import grade
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.vectors.minilm import encode

DOCUMENT = (
    "Many patients with chronic back pain took part in the study.\n"
    "Some of them were given an exercise programme, the others rested in bed.\n"
    "After 12 weeks those who moved walked further and slept better.\n"
    "Pain scores fell in every group, but more where people exercised.\n"
    "Nobody left before the end."
)
ANSWERS = (
    "Nobody left before the end.",
    "After 13 weeks those who moved walked further and slept better.",
    "Physical activity seems to be a more effective treatment of persistent backache than rest.",
    "Many old stories say that cheese comes from the moon and wolves guard it.",
    "Those who rested in bed slept better. Nobody left before the end.",
    "Nobody left before the end. Exercise lasted. Further trials are needed.",
    "Nobody left before the end. Wolves guard cheese.",
    "Physical activity does not seem to be a more effective treatment of persistent backache than rest.",
    "12 weeks",
    "Oslo",
)


def made(rows: np.ndarray, right: np.ndarray, name: str = "a") -> Table:
    """A table of answers of one sentence each."""
    count = len(rows)
    items = [Item(name, name, bool(one), "", str(place), "") for place, one in enumerate(right)]
    no = np.zeros(count, dtype=bool)
    return Table(items, rows, np.arange(count), no, no, no, np.full(count, NOT_ASKED))


def test_weights_keep_the_sign_that_their_feature_must_have() -> None:
    weights = calibration().weights
    assert list(weights) == list(SIGNS)
    assert all(weight * SIGNS[name] > 0 for name, weight in weights.items())


ODDS, COSINE = st.floats(-30, 0), st.floats(0, 1)


@given(ODDS, ODDS, COSINE, COSINE)
def test_a_conclusion_is_barely_supported_and_more_by_better_words_and_a_larger_cosine(
    one: float, other: float, near: float, nearer: float
) -> None:
    model = calibration()
    least, most = sorted((one, other))
    near, nearer = sorted((near, nearer))
    assert model.threshold <= model.conclusion(least, near) <= model.conclusion(most, nearer)
    assert model.conclusion(most, nearer) <= model.threshold + 0.01
    assert model.conclusion(-2, 0.4) < model.conclusion(-2, 0.9)


@given(ODDS, ODDS)
def test_what_says_too_little_is_refused_by_a_hair_and_less_so_with_better_words(
    one: float, other: float
) -> None:
    model = calibration()
    least, most = sorted((one, other))
    assert model.threshold - 0.01 <= model.undecided(least) <= model.undecided(most) < model.threshold


def test_the_product_decides_as_the_benchmark_reports(tmp_path: Path) -> None:
    model = calibration()
    assert model.threshold == 0.5
    fitted = Fitted(
        np.array([model.weights[name] for name in SIGNS]), model.bias, model.cosine, model.closeness
    )
    items = [
        Item("a", "a", True, question, answer, DOCUMENT)
        for answer in ANSWERS
        for question in ("", "How long did they train?")
    ]
    odds = fitted.answers(tabulate(items, tmp_path))
    source = Source(DOCUMENT, encode)
    graded = [grade(item.answer, source, question=item.question) for item in items]
    assert (odds > 0).tolist() == [one.is_grounded for one in graded]
    scores = [min(1.0 if one.score is None else one.score for one in answer.sentences) for answer in graded]
    order = np.argsort(odds)
    assert np.all(np.diff(np.array(scores)[order]) > -1e-9)
    assert min(scores) < 0.2 < 0.49 < sorted(scores)[len(scores) // 2] < 1.0 == max(scores)


def test_weights_come_from_within_sets_and_keep_their_sign() -> None:
    chance = np.random.default_rng(3)
    rows = np.zeros((400, len(SIGNS)))
    right = np.tile([True, False], 200)
    coverage, absent = list(SIGNS).index("coverage"), list(SIGNS).index("absent")
    rows[:, coverage] = right + chance.normal(scale=0.3, size=400)
    rows[:200, coverage] += 5.0  # how the two sets differ: it tells nothing of right and wrong
    rows[:, absent] = right + chance.normal(scale=0.3, size=400)  # speaks for answers, as it must not
    one = made(rows, right)
    items = [replace(item, name="b" if place < 200 else "c") for place, item in enumerate(one.items)]
    fitted = fit(replace(one, items=items), np.ones(400, dtype=bool))
    alone = fit(one, np.ones(400, dtype=bool))
    assert fitted.weights[absent] == alone.weights[absent] == 0.0
    assert fitted.weights[coverage] > 3 * alone.weights[coverage] > 0


def test_a_rare_kind_of_wrong_answer_counts_as_much_as_a_frequent_one() -> None:
    kinds = np.array(["", "", "often", "often", "often", "rare"])
    right = kinds == ""
    accepted = np.array([True, False, False, False, False, True])
    assert kinds_alike(accepted, right, kinds) == (0.5 + (1.0 + 0.0) / 2) / 2


def test_what_orders_conclusions_best_is_found() -> None:
    chance = np.random.default_rng(5)
    right = np.tile([True, False], 200)
    rows = np.zeros((400, len(SIGNS)))
    rows[:, list(SIGNS).index("coverage")] = np.r_[right[:200], chance.random(200) / 9]
    cosines = np.r_[np.full(200, NOT_ASKED), 0.25 + 0.3 * right[200:] + 0.45 * chance.random(200)]
    assert fit(replace(made(rows, right), cosines=cosines), np.ones(400, dtype=bool)).closeness > 0
    assert fit(made(rows, right), np.ones(400, dtype=bool)).closeness == 0, "no conclusion, nothing to order"
