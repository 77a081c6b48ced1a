"""Estimates of single documents: from the table, and from finished documents."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.configuration.profiles import QUESTION_ROLES, Role
from qagen_dagster.loop.estimate.amounts import METRICS, TABLE, Use
from qagen_dagster.loop.estimate.document_estimate import (
    ENOUGH,
    FROM_FEW,
    FROM_OTHERS,
    FROM_OWN,
    Document,
    DocumentEstimator,
    Example,
    document_of,
    kind_of,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.document import IndexEntry, Outcome
from qagen_dagster.records.ids import Mode

SERVER = ModelSpec(provider="openai", model="m")
LOCAL = ModelSpec(provider="embedded", model="rules")
BATCH_ROLES = (*QUESTION_ROLES, Role.ANSWERER, Role.JUDGE)
PAPER = 65_000.0  # characters
ROLES = [role.value for role in QUESTION_ROLES]


def agent(
    own: list[Example] | None = None,
    others: list[Example] | None = None,
    mode: Mode = Mode.TEXTUAL,
    spec: ModelSpec = SERVER,
) -> DocumentEstimator:
    models = dict.fromkeys(QUESTION_ROLES, spec)
    return DocumentEstimator(TABLE[Strategy.AGENT, mode], models, own or (), others or ())


def batch(**validator: object) -> DocumentEstimator:
    models = dict.fromkeys(BATCH_ROLES, SERVER)
    models[Role.VALIDATOR] = SERVER.model_copy(update=validator)
    return DocumentEstimator(TABLE[Strategy.BATCH, Mode.TEXTUAL], models)


def document(size: float = 20_000, target: int = 5) -> Document:
    return Document(size, size, target)


def example(calls: float = 20, size: float = 20_000, target: int = 5, accepted: int = 5) -> Example:
    return Example(size, size, target, accepted, {"generator": Use(calls=calls, input_tokens=1000 * calls)})


sizes = st.floats(0, 1e6)
amounts = st.floats(0, 1e6)
examples = st.lists(
    st.builds(
        Example,
        size=sizes,
        subjects=sizes,
        target=st.integers(1, 50),
        accepted=st.integers(0, 50),
        uses=st.dictionaries(st.sampled_from(ROLES), st.builds(Use, *[amounts] * len(METRICS)), min_size=1),
    ),
    max_size=8,
)


@given(examples, examples, sizes, sizes, sizes, st.integers(1, 50), st.sampled_from(Mode))
def test_estimates_never_fall_with_size_or_target(
    own: list[Example],
    others: list[Example],
    size: float,
    subjects: float,
    more: float,
    target: int,
    mode: Mode,
) -> None:
    found = agent(own, others, mode)
    base = Document(size, subjects, target)
    for greater in (
        replace(base, size=size + more),
        replace(base, subjects=subjects + more),
        replace(base, target=target + 1),
    ):
        assert found.accepted(base) <= found.accepted(greater) * (1 + 1e-9) + 1e-6
        for role, use in found.uses(base).items():
            larger = found.uses(greater)[role]
            assert all(a <= b * (1 + 1e-9) + 1e-6 for a, b in zip(use, larger, strict=True)), role


@given(examples, examples)
def test_ranges_are_ordered_and_finite(own: list[Example], others: list[Example]) -> None:
    around = agent(own, others).around
    assert 0 <= around.low < around.expected == 1 < around.high < math.inf


def test_the_table_gives_what_usual_documents_take() -> None:
    found = agent().uses(document())
    assert {role: round(use.calls) for role, use in found.items()} == {
        "generator": 18, "validator": 22, "deduplicator": 3,
    }  # fmt: skip
    assert 2_000 < found["generator"].input_tokens / found["generator"].calls < 12_000
    assert found["deduplicator"].input_tokens / found["deduplicator"].calls < 1_500
    assert found["generator"].seconds > 60
    assert 0 < found["generator"].cached_tokens < found["generator"].input_tokens


def test_a_document_with_nothing_in_it_is_looked_at_once() -> None:
    found = agent().uses(document(0))
    assert [found[role].calls for role in ROLES] == [1, 0, 0]
    assert document(1_000).questions == 4
    assert document(10_000).questions == 5


def test_pictures_take_more_and_models_in_this_process_take_no_time() -> None:
    text, looks, local = (
        one.uses(document())["generator"] for one in (agent(), agent(mode=Mode.VISUAL), agent(spec=LOCAL))
    )
    assert looks.input_tokens > text.input_tokens + 1_500
    assert local.seconds < text.seconds / 10


def test_the_batch_strategy_shows_the_document_once_to_each_side() -> None:
    found = batch().uses(document(PAPER, 6))
    tokens = PAPER / 4
    assert found["generator"].calls == 1
    assert tokens < found["generator"].input_tokens < 1.6 * tokens
    assert tokens < found["validator"].input_tokens < 2.2 * tokens
    assert 3 < found["judge"].calls < 9


def test_a_batch_validator_that_is_not_shown_the_whole_document_reads_for_each_question() -> None:
    whole, part = (
        one.uses(document(PAPER, 6))["validator"] for one in (batch(), batch(opening_characters=20_000))
    )
    assert part.input_tokens > 1.4 * whole.input_tokens


def test_documents_like_the_finished_ones_take_as_much() -> None:
    found = agent([example() for _ in range(10)])
    assert found.uses(document())["generator"].calls == pytest.approx(20)
    assert found.uses(document())["validator"] == Use()  # was never asked
    assert found.accepted(document()) == pytest.approx(5)
    more = found.uses(document(target=10))["generator"].calls
    assert 30 < more < 41
    longer = found.uses(document(40_000))["generator"]
    assert longer.calls == pytest.approx(20)
    assert longer.input_tokens > 25_000


def test_own_documents_come_before_others() -> None:
    own, others = [example(10)] * ENOUGH, [example(90)] * 50
    assert agent(own, others).uses(document())["generator"].calls == pytest.approx(10)
    few = agent(own[:1], others)
    assert few.basis == "from past documents: 1 of this combination, 50 of other combinations"
    assert few.uses(document())["generator"].calls > 80
    assert agent().basis == "no past runs: a rough guess"
    assert (agent().guessed, few.guessed) == (True, False)


def test_the_range_is_the_spread_of_documents_but_not_too_narrow() -> None:
    alike = [example() for _ in range(20)]
    for found, factor in (
        (agent(), FROM_FEW),
        (agent(alike[:2]), FROM_FEW),
        (agent(alike[:2], alike), FROM_OTHERS),
        (agent(alike), FROM_OWN),
    ):
        assert (found.around.low, found.around.high) == pytest.approx((1 / factor, factor))
    uneven = agent([example(calls) for calls in (1, 1, 20, 20, 20, 20, 60, 60)]).around
    assert uneven.low < 0.1
    assert 2 < uneven.high < 3


def test_questions_without_an_answer_take_the_calls_of_their_proofs() -> None:
    """A proof asks the validator up to seven times, and each document tests the validator first."""
    base, mixed = Document(20_000, 20_000, 10), Document(20_000, 20_000, 10, staged=2)
    plain, proved = agent().uses(base), agent().uses(mixed)
    per_answer = (plain["validator"].calls) / 10
    assert proved["validator"].calls == pytest.approx(8 * per_answer + 3 + 2 * 8.5)
    assert proved["generator"].calls == pytest.approx(plain["generator"].calls - 2 * 3.5 + 1.5)
    assert mixed.questions == base.questions


def entry(characters: int, pages: int, lines: int) -> IndexEntry:
    return IndexEntry(
        id="d", source="d", format="text", outcome=Outcome.PARSED, source_sha256="", char_count=characters,
        page_count=pages, line_count=lines,
    )  # fmt: skip


def test_text_is_asked_about_in_one_mode_and_visuals_in_the_other() -> None:
    text, looks = (document_of(entry(900, 3, 20), mode, 4, 5) for mode in (Mode.TEXTUAL, Mode.VISUAL))
    assert (text.size, text.subjects, text.target) == (900, 900, 5)
    assert (looks.size, looks.subjects) == (900, 2_000)


def test_a_document_without_text_has_the_size_of_its_pages() -> None:
    assert document_of(entry(0, 3, 20), Mode.VISUAL, 1, 5).size == 6_000
    assert document_of(entry(0, 0, 20), Mode.TEXTUAL, 0, 5).size == 1_000


def test_models_on_servers_are_of_one_kind() -> None:
    assert kind_of("openai:gpt") == kind_of("anthropic:claude")
    assert len({kind_of(name) for name in ("openai:gpt", "embedded:rules", "scripted:writer")}) == 3
