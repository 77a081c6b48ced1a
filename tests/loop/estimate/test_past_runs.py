"""Which finished documents a forecast goes by: the most alike first, the others only while those are few."""

from __future__ import annotations

import pytest

from qagen_dagster.catalog.past_runs import PastDocument, PastSet, PastUse
from qagen_dagster.loop.estimate.forecast import Example, Use
from qagen_dagster.loop.estimate.past_runs import ENOUGH, Past, choose, set_rate, size_of, use_of
from qagen_dagster.loop.questions.combination import CombinationPlan, RunOptions, plan
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import CallSummary, DocumentEnd
from tests.loop.conftest import COMBINATION, PlayedWorkspace

HERE, SISTER, AWAY = COMBINATION.key, "probes/exam/textual", "moths/facts/textual"


@pytest.fixture
def planned(workspace: PlayedWorkspace) -> CombinationPlan:
    return plan(workspace, COMBINATION, RunOptions())


def use(role: str = "generator", model: str = "scripted:writer", calls: int = 4) -> PastUse:
    return PastUse(
        role=role, model=model, calls=calls, input_tokens=100 * calls, cached_tokens=0, output_tokens=10 * calls,
        reasoning_tokens=0, seconds=0.5 * calls,
    )  # fmt: skip


def document(where: str = HERE, name: str = "d", *uses: PastUse, end: str = "target_reached") -> PastDocument:
    return PastDocument(
        combination=where, document_id=name, end=DocumentEnd(end), target_count=2, accepted=2, characters=1_000,
        pages=0, visuals=3, uses=uses or (use(),),
    )  # fmt: skip


def test_the_more_alike_comes_first_and_weighs_more(planned: CombinationPlan) -> None:
    found = choose(planned, {}, Past((document(AWAY, "b"), document(SISTER, "a"), document(HERE, "c"))))
    assert found.told == (
        "from past documents: 1 of this combination with the same models, 1 of this corpus with the same models, "
        "1 of other corpora with the same models"
    )
    assert [one.weight for one in found.examples] == [1, 0.25, 0.0625]
    assert [one.doubt for one in found.examples] == sorted(one.doubt for one in found.examples)


def test_enough_alike_documents_leave_the_others_out(planned: CombinationPlan) -> None:
    own = tuple(document(HERE, f"d{n}") for n in range(ENOUGH))
    assert choose(planned, {}, Past((*own, document(SISTER)))).counts == {0: ENOUGH}


def test_many_that_are_less_alike_do_not_outvote_few_that_are_more(planned: CombinationPlan) -> None:
    many = tuple(document(AWAY, f"d{n}", use(model="scripted:other")) for n in range(500))
    found = choose(planned, {}, Past((document(HERE, "own"), *many)))
    assert sum(one.weight for one in found.examples if one.doubt > 0.1) == pytest.approx(ENOUGH / 4)


def test_the_combination_itself_is_read_from_the_store_not_twice(planned: CombinationPlan) -> None:
    fresh = Example(1_000, 2, 2, False, {"generator": Use(calls=9)})
    found = choose(planned, {"d": fresh}, Past((document(HERE, "d"),)))
    assert [one.uses["generator"].calls for one in found.examples] == [9]


def test_other_kinds_of_models_are_no_examples(planned: CombinationPlan) -> None:
    server = document(HERE, "a", use(model="openai:gpt"))
    rules = document(HERE, "b", use(), use("validator", "embedded:reader"))
    found = choose(planned, {}, Past((server, rules)))
    assert (found.examples, found.told) == ((), "no past runs: a rough guess")


def test_the_deduplicator_decides_nothing(planned: CombinationPlan) -> None:
    found = choose(planned, {}, Past((document(HERE, "a", use(), use("deduplicator", "openai:gpt")),)))
    assert found.counts == {0: 1}


def test_who_ran_dry_would_not_have_taken_more(planned: CombinationPlan) -> None:
    (dry,) = choose(planned, {}, Past((document(end="exhausted_reported"),))).examples
    (rich,) = choose(planned, {}, Past((document(end="max_attempts"),))).examples
    assert (dry.scaled_to(4), rich.scaled_to(4)) == (1, 2)


def test_rate_of_comparisons_across_documents(planned: CombinationPlan) -> None:
    own = PastSet(combination=HERE, accepted=10, use=use("deduplicator", "scripted:matcher", 5))
    quiet = PastSet(combination=AWAY, accepted=10, use=None)
    assert set_rate(planned, Past()) is None
    assert set_rate(planned, Past(sets=(quiet,))) == (0.005, None)
    known = set_rate(planned, Past(sets=(own, quiet)))
    assert known is not None
    rate, one = known
    assert rate == pytest.approx(0.055)
    assert one is not None
    assert (one.calls, one.input_tokens) == (1, 100)
    other = own.model_copy(update={"use": use("deduplicator", "openai:gpt", 5)})
    assert set_rate(planned, Past(sets=(other,))) is None


def test_sizes() -> None:
    assert size_of(Mode.TEXTUAL, characters=900, pages=3, lines=20, visuals=4) == 900
    assert size_of(Mode.VISUAL, characters=900, pages=3, lines=20, visuals=4) == 2_900
    assert size_of(Mode.VISUAL, characters=0, pages=3, lines=0, visuals=1) == 6_500


def test_uses_count_a_request_once() -> None:
    def call(key: str, role: str = "generator") -> CallSummary:
        return CallSummary(
            request_key=key, role=role, model="m", document_id="d", attempt=1, input_tokens=7, output_tokens=3
        )

    found = use_of([call("a"), call("a"), call("b"), call("c", "validator"), call(""), call("")])
    assert {role: (one.calls, one.input_tokens) for role, one in found.items()} == {
        "generator": (4, 28), "validator": (1, 7),
    }  # fmt: skip
