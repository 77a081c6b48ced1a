from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qagen_dagster.agents.qa.deduplicator import DuplicateFinding
from qagen_dagster.loop.dedupe import GREY_FROM, MOST_COMPARED, Known, compare, grey_pairs, vetoed
from tests.support.models import FakeModel, Turn, call, say, told

DIFFERENT = {
    "year": ("What was the revenue in 2022?", "What was the revenue in 2023?"),
    "number": ("How long is the 12 m cable?", "How long is the 15 m cable?"),
    "decimal": ("What holds at 0.5 bar?", "What holds at 0.05 bar?"),
    "a number more": ("Which alarm sounds?", "Which alarm sounds at 90 °C?"),
    "person": ("Where was Ida Holm born?", "Where was Nils Berg born?"),
    "place": ("When did the mill at Selby burn?", "When did the mill at Ripon burn?"),
    "model": ("What does the CT-15 weigh?", "What does the TG-40 weigh?"),
    "not": ("Which valves are closed?", "Which valves are not closed?"),
    "without": ("What is the range with the float?", "What is the range without the float?"),
    "contraction": ("Which valve does close in frost?", "Which valve doesn't close in frost?"),
    "curly contraction": ("Which valve can close?", "Which valve can\u2019t close?"),
    "minimum": ("What is the minimum load?", "What is the maximum load?"),
    "min": ("What is the min load?", "What is the max load?"),
    "number word": ("Who cast the two bells?", "Who cast the three bells?"),
    "lowest and max": ("What is the lowest load?", "What is the max load?"),
    "direction": ("What happens before the rinse?", "What happens after the rinse?"),
    "superlative": ("Which is the oldest bell?", "Which is the youngest bell?"),
    "at the start": ("First alarm: what does it mean?", "Last alarm: what does it mean?"),
}
MAYBE_SAME = {
    "voice": ("Who built the probe?", "By whom was the probe built?"),
    "synonym": ("How heavy is the CT-15?", "What does the CT-15 weigh?"),
    "case": ("what is the range?", "What is the RANGE?"),
    "space": ("What  is the range ?", "What is the range ?"),
    "same number": ("How long is the 1,200 mm rod?", "What length has the rod of 1,200 mm?"),
    "thousands": ("How long is the 1,200 mm rod?", "How long is the 1200 mm rod?"),
    "number word": ("Who cast the 3 bells?", "Who cast the three bells?"),
    "the word one": ("Which one is closed?", "Which is closed?"),
    "two words for least": ("What is the lowest load?", "What is the min load?"),
    "name told once": ("When was the Selby mill built?", "When was the mill built?"),
    "both opposites": ("What are the minimum and maximum load?", "What is the maximum and minimum load?"),
    "both negated": ("Which valves are not closed?", "Which valves never close?"),
    "opening name": ("Ida Holm built what?", "What did Ida Holm build?"),
}


@pytest.mark.parametrize(("new", "old"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_cannot_be_the_same_question(new: str, old: str) -> None:
    assert vetoed(new, old)
    assert vetoed(old, new)


@pytest.mark.parametrize(("new", "old"), MAYBE_SAME.values(), ids=MAYBE_SAME)
def test_what_may_be_the_same_question(new: str, old: str) -> None:
    assert not vetoed(new, old)
    assert not vetoed(old, new)


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_guard_takes_no_side(new: str, old: str) -> None:
    assert vetoed(new, old) == vetoed(old, new)
    assert not vetoed(new, new)


def run(new: str, accepted: Sequence[str], *turns: Turn) -> tuple[DuplicateFinding, FakeModel]:
    model = FakeModel(turns)
    known = [Known(question, "x") for question in accepted]
    return compare(model, Known(new, "x"), known, document_id="d", attempt=1), model


def duplicate(number: int) -> Turn:
    return call("submit_duplicate_verdict", verdict="duplicate", duplicate_of=number, explanation="same")


def test_the_same_words_need_no_model() -> None:
    found, model = run("What is  the RANGE?", ["Who built it?", "What is the range?"])
    assert (found.index, found.detail, found.calls) == (1, "the same words", ())
    assert model.requests == []


def test_where_the_guard_speaks_no_model_is_asked() -> None:
    found, model = run("What was sold in 2024?", ["What was sold in 2022?", "What was sold in 2023?"])
    assert (found.index, model.requests) == (None, [])
    assert "differ" in found.detail


def test_the_model_sees_only_what_the_guard_lets_through_and_its_number_is_translated() -> None:
    accepted = [
        "What was made in 2022?",
        "Who built the probe?",
        "What was made in 2023?",
        "Who sold the probe?",
    ]
    found, model = run("Who made the probe?", accepted, duplicate(2))
    assert (found.index, found.detail) == (3, "same")
    assert "1. Who built the probe? [answer: x]\n2. Who sold the probe? [answer: x]" in told(
        model.requests[0]
    )
    assert "2022" not in told(model.requests[0])
    assert len(found.calls) == 1


def test_of_many_only_the_most_alike_are_shown() -> None:
    accepted = [f"Which {'abcdefgh'[n % 8]}{'klmnopqr'[n // 8]} thing is kept?" for n in range(64)]
    accepted[60] = "Who built the new probe?"
    found, model = run("Who built the old probe?", accepted, duplicate(MOST_COMPARED))
    assert found.index == 60
    assert told(model.requests[0]).count("[answer: x]") == MOST_COMPARED


def test_without_a_verdict_the_question_stays() -> None:
    found, _ = run("Who made the probe?", ["Who built the probe?"], *[say("?")] * 4)
    assert found.index is None
    assert len(found.calls) == 4


AXES = {"Who built the probe?": 0.0, "Who made the probe?": 0.5, "How deep is the lake?": 1.5}


def encode(questions: Sequence[str]) -> NDArray[np.float32]:
    angles = np.array([AXES.get(question, 0.2) for question in questions], dtype=np.float32)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_grey_pairs_are_earlier_questions_that_are_near_and_not_vetoed() -> None:
    questions = [
        "Who built the probe?",
        "How deep is the lake?",
        "Who made the probe?",
        "Who built the probe in 1998?",
    ]
    assert grey_pairs(questions, encode) == [[], [], [0], []]
    assert grey_pairs([], encode) == []


def test_grey_pairs_come_nearest_first_and_are_bounded() -> None:
    def line(questions: Sequence[str]) -> NDArray[np.float32]:
        angles = np.arange(len(questions), dtype=np.float32) * 0.01
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    found = grey_pairs([f"which {letter * 3}?" for letter in "abcdefgh"], line)
    assert found[7] == [6, 5, 4, 3, 2, 1, 0]
    many = grey_pairs([f"which {'a' * n}?" for n in range(1, 60)], line)
    assert len(many[58]) == MOST_COMPARED


def test_at_the_threshold_a_pair_is_grey() -> None:
    def at(cosine: float) -> NDArray[np.float32]:
        return np.array([[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]], dtype=np.float32)

    questions = ["Who built it?", "Who made it?"]
    assert grey_pairs(questions, lambda _: at(GREY_FROM + 0.001)) == [[], [0]]
    assert grey_pairs(questions, lambda _: at(GREY_FROM - 0.001)) == [[], []]
