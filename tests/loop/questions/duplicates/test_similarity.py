from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.dedupe.pairs import Pair, pairs
from qagen_dagster.agents.questions.deduplicator import Compared
from qagen_dagster.english.answers import Match, match
from qagen_dagster.loop.questions.duplicates import similarity as duplicates
from qagen_dagster.loop.questions.duplicates.similarity import (
    CROSSED_THRESHOLD,
    EQUAL_WORDS,
    GREY_FROM,
    MAX_COMPARED,
    MERGE_THRESHOLD,
    Encode,
    Known,
    Link,
    decide,
    links,
    links_among,
    vetoed,
)
from qagen_dagster.loop.questions.duplicates.word_rules import crossing
from qagen_dagster.models.embedders import shared
from tests.support.models import FakeModel, Turn, call, say, told


def alike(cosine: float) -> dict[str, NDArray[np.float32]]:
    """Two directions that are so alike."""
    return {
        "one": np.array([1, 0], dtype=np.float32),
        "other": np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32),
    }


class Encoder:
    """The first question it sees points one way, all others another."""

    def __init__(self, cosine: float) -> None:
        self.ways, self.first, self.seen = alike(cosine), "", list[str]()

    def __call__(self, questions: Sequence[str]) -> NDArray[np.float32]:
        self.seen += questions
        self.first = self.first or questions[0]
        return np.stack([self.ways["one" if one == self.first else "other"] for one in questions])


def run(
    new: Known, accepted: Sequence[Known], *turns: Turn, cosine: float = 0.9
) -> tuple[Compared, FakeModel]:
    model = FakeModel(turns)
    found = links(new, accepted, Encoder(cosine))
    return decide(model, new, accepted, found, document_id="d", attempt=1), model


def duplicate(number: int) -> Turn:
    return call("submit_duplicate_verdict", verdict="duplicate", duplicate_of=number, explanation="same")


RANGE = Known("What is the range?", "3 m")
BUILT = Known("Who built the probe?", "Ida Holm")
MADE = Known("Who made the probe?", "Ida Holm")


def test_the_same_words_need_neither_model_nor_similarity() -> None:
    encoder = Encoder(0.9)
    new, accepted = Known("What is  the RANGE?", "4 m"), [BUILT, RANGE]
    near = links(new, accepted, encoder)
    found = decide(FakeModel(()), new, accepted, near, document_id="d", attempt=1)
    assert found == Compared(duplicate_of=1, detail="the same words", score=1.0, step="exact")
    assert encoder.seen == []


def test_where_the_guard_speaks_no_model_is_asked() -> None:
    sold = [Known(f"What was sold in {year}?", "pipes") for year in (2022, 2023)]
    found, model = run(Known("What was sold in 2024?", "pipes"), sold, cosine=0.99)
    assert (found.duplicate_of, found.score, found.step, model.requests) == (None, None, "", [])
    assert "word rules" in found.detail


def test_with_the_same_content_and_answer_similarity_merges() -> None:
    new = Known("By whom was the probe built?", "Holm, Ida")
    found, model = run(new, [RANGE, BUILT], cosine=MERGE_THRESHOLD + 0.01)
    assert (found.duplicate_of, found.step, model.requests) == (1, "similarity", [])
    assert found.score == pytest.approx(MERGE_THRESHOLD + 0.01)
    assert found.detail == "the same content words and the same answer, similarity 0.81"


@pytest.mark.parametrize(
    ("question", "answer", "cosine"),
    [
        ("By whom was the probe built?", "Ida Holm", MERGE_THRESHOLD - 0.01),  # not so alike
        ("By whom was the probe built?", "Ida Holm, Nils Berg and Per Lund", 0.99),  # not quite the answer
        ("Who made the probe?", "Ida Holm", 0.99),  # another word
    ],
)
def test_between_the_bounds_the_model_decides(question: str, answer: str, cosine: float) -> None:
    found, model = run(Known(question, answer), [BUILT], duplicate(1), cosine=cosine)
    assert (found.duplicate_of, found.detail, found.step) == (0, "same", "model")
    assert found.score == pytest.approx(cosine)
    assert (len(model.requests), len(found.calls)) == (1, 1)


def test_an_answer_that_many_questions_have_merges_nothing() -> None:
    unique = call("submit_duplicate_verdict", verdict="unique", explanation="new")
    found, model = run(
        Known("By whom was it built?", "yes"), [Known("Who built it?", "yes")], unique, cosine=0.99
    )
    assert (found.duplicate_of, found.detail, found.step) == (None, "new", "model")
    assert found.score == pytest.approx(0.99)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("answer", "bar"),
    [
        ("Ida Holm", GREY_FROM[Match.SAME]),
        ("Ida Holm of the Selby Quay works", GREY_FROM[Match.CLOSE]),
        ("the clockmaker who lived beside the old market hall", GREY_FROM[Match.APART]),
    ],
)
def test_the_less_the_answers_agree_the_more_alike_the_questions_must_be(answer: str, bar: float) -> None:
    new = Known("Which person constructed that probe?", answer)
    above, below = (links(new, [BUILT], Encoder(cosine)) for cosine in (bar + 0.01, bar - 0.01))
    assert [(link.index, link.merged) for link in above] == [(0, "")]
    assert below == []


def test_the_other_side_of_a_fact_need_not_sound_alike() -> None:
    one, other = Known("Who wrote the Chronicle?", "Anselm"), Known("What did Anselm write?", "the Chronicle")
    assert links(one, [other], Encoder(CROSSED_THRESHOLD + 0.01)) == [
        Link(0, pytest.approx(CROSSED_THRESHOLD + 0.01))
    ]
    assert links(one, [other], Encoder(CROSSED_THRESHOLD - 0.01)) == []


def test_the_model_sees_only_what_may_be_meant_and_its_number_is_translated() -> None:
    accepted = [
        Known("Who built the probe of 2022?", "Ida Holm"),
        Known("Who built the probe of 1998?", "Ida Holm"),
        Known("Who built the probe of 2023?", "Ida Holm"),
        Known("Who sold the probe of 1998?", "Ida Holm"),
    ]
    found, model = run(Known("Who made the probe of 1998?", "Ida Holm"), accepted, duplicate(2))
    assert (found.duplicate_of, found.detail) == (3, "same")
    asked = told(model.requests[0])
    assert (
        "1. Who built the probe of 1998? [answer: Ida Holm]\n2. Who sold the probe of 1998? [answer: Ida Holm]"
        in asked
    )
    assert "2022" not in asked


def test_of_many_only_the_most_alike_are_shown() -> None:
    accepted = [
        Known(f"Which {'abcdefgh'[n % 8]}{'klmnopqr'[n // 8]} thing is kept?", "a bell") for n in range(64)
    ]
    accepted[60] = Known("Who built the big probe?", "a bell")

    def encode(questions: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([alike(0.7)["one" if "probe" in one else "other"] for one in questions])

    model = FakeModel((duplicate(MAX_COMPARED),))
    new = Known("Who designed the big probe?", "a bell")
    found = decide(model, new, accepted, links(new, accepted, encode), document_id="d", attempt=1)
    assert (found.duplicate_of, found.score) == (60, 1.0)
    assert told(model.requests[0]).count("[answer: a bell]") == MAX_COMPARED


def test_without_a_verdict_the_question_stays() -> None:
    found, _ = run(MADE, [BUILT], *[say("?")] * 4)
    assert found.duplicate_of is None
    assert len(found.calls) == 4


def test_each_question_is_encoded_once_however_often_it_is_compared() -> None:
    encoder = Encoder(0.3)
    for _ in range(3):
        links(MADE, [BUILT], encoder)
    assert sorted(encoder.seen) == [BUILT.question, MADE.question]


def test_nothing_to_compare_with_is_unique() -> None:
    found, model = run(MADE, [])
    assert (found.duplicate_of, found.step, model.requests) == (None, "", [])
    assert links_among([], Encoder(1)) == []


def test_links_among_are_to_earlier_questions_the_surest_first() -> None:
    known = [
        BUILT,
        MADE,
        Known("Who built the probe in 1998?", "Nils Berg"),
        Known("who built the PROBE?", "Ida Holm"),
    ]
    found = links_among(known, Encoder(0.7))
    assert [[link.index for link in some] for some in found] == [[], [0], [], [0, 1]]
    assert [link.merged for link in found[3]] == ["the same words", ""]


@given(
    st.lists(
        st.sampled_from([RANGE, BUILT, MADE, Known("By whom was the probe built?", "Ida Holm")]), max_size=9
    )
)
def test_links_among_are_those_of_each_with_the_ones_before(known: list[Known]) -> None:
    def encode(questions: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([alike(0.9)["one" if "made" in one else "other"] for one in questions])

    for index, found in enumerate(links_among(known, encode)):
        assert {(link.index, link.merged) for link in found} == {
            (link.index, link.merged) for link in links(known[index], known[:index], encode)
        }


_SAID = st.sampled_from(["Ida Holm", "Nils Berg", "1998", "12 km", "12 m", "the probe", "yes", "Ida"])
_ASKED = st.builds(
    "{} {} the {} {}?".format,
    st.sampled_from(["Who", "When", "How"]),
    st.sampled_from(["built", "was", "did Ida Holm build"]),
    st.sampled_from(["probe", "gauge"]),
    st.sampled_from(["", "in 1998", "of Nils Berg"]),
)


def one_by_one(known: Sequence[Known], encode: Encode, most: int) -> list[list[Link]]:
    """What `links_among` finds, with every pair sorted."""
    vectors = encode([one.question for one in known])
    found: list[list[Link]] = []
    for index, new in enumerate(known):
        scores = vectors[:index] @ vectors[index]
        near: list[Link] = []
        for at in map(int, np.argsort(-scores, kind="stable")[:most]):
            grey = GREY_FROM.get(match(new.answer, known[at].answer), EQUAL_WORDS)
            crosses = crossing(new).crosses(crossing(known[at]))
            if scores[at] >= CROSSED_THRESHOLD and (scores[at] >= grey or crosses):
                near += [replace(link, index=at) for link in links(new, [known[at]], encode)]
        found.append(sorted(near, key=lambda link: (not link.merged, -(link.score or 2.0), link.index)))
    return found


@given(st.lists(st.builds(Known, _ASKED, _SAID), max_size=14), st.integers(0, 99), st.integers(1, 5))
def test_links_among_are_those_of_a_search_that_sorts_every_pair(
    known: list[Known], seed: int, most: int
) -> None:
    def encode(questions: Sequence[str]) -> NDArray[np.float32]:
        """Multiples of a quarter, so that all sums are exact and many are equal."""
        ways = [np.random.default_rng([seed, *one.encode()]).integers(0, 4, 3) / 4 for one in questions]
        return np.array(ways, dtype=np.float32).reshape(-1, 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "MAX_EXAMINED", most)
        patch.setattr(duplicates, "BLOCK", 3)
        assert links_among(known, encode) == one_by_one(known, encode, most)


def test_progress_is_told_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "BLOCK", 2)
    told_of: list[tuple[int, int]] = []
    links_among(
        [BUILT, MADE, RANGE, BUILT, MADE], Encoder(0.7), lambda done, total: told_of.append((done, total))
    )
    assert told_of == [(2, 5), (4, 5)]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_guard_of_questions_alone_takes_no_side(new: str, old: str) -> None:
    assert vetoed(new, old) == vetoed(old, new)
    assert not vetoed(new, new)


PAIRS = pairs()


@pytest.fixture(scope="module")
def ended() -> dict[str, list[tuple[Pair, str]]]:
    """What becomes of the pairs of the trap set without a model, by split."""
    found: dict[str, list[tuple[Pair, str]]] = {}
    for pair in PAIRS:
        there, back = (
            links(one, [other], shared().encode)
            for one, other in ((pair.one, pair.other), (pair.other, pair.one))
        )
        assert [bool(link.merged) for link in there] == [bool(link.merged) for link in back]
        end = "unique" if not there else "merged" if there[0].merged else "grey"
        found.setdefault(pair.split, []).append((pair, end))
    return found


def test_the_trap_set_is_large_and_varied() -> None:
    assert len(PAIRS) >= 240
    assert sum(pair.same for pair in PAIRS) >= 100
    assert len({pair.domain for pair in PAIRS}) >= 8
    assert len({pair.kind for pair in PAIRS if not pair.same}) >= 8
    by_split = [{pair.domain for pair in PAIRS if pair.split == split} for split in ("tuning", "held_out")]
    assert not by_split[0] & by_split[1]
    sides = {(pair.one, pair.other) for pair in PAIRS}
    assert len(sides) == len(PAIRS)
    assert all(pair.one != pair.other for pair in PAIRS)


@pytest.mark.parametrize("split", ["tuning", "held_out"])
def test_traps_are_not_merged_and_paraphrases_are_found(
    ended: dict[str, list[tuple[Pair, str]]], split: str
) -> None:
    different = [end for pair, end in ended[split] if not pair.same]
    same = [end for pair, end in ended[split] if pair.same]
    assert different.count("merged") == 0
    assert different.count("grey") <= 0.1 * len(different)
    assert same.count("unique") <= 0.1 * len(same)
    assert same.count("merged") >= 0.15 * len(same)
