"""Estimates of real runs: what is done costs nothing, unknown prices stay unknown, and past runs foretell the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.ingest.parsing import build_manifests, parse_corpus
from qagen_dagster.loop.catalog import rebuild_catalog
from qagen_dagster.loop.estimate.amounts import NOTHING, Amounts, Range, Use, use_of
from qagen_dagster.loop.estimate.combinations import CombinationEstimate, budget_ends, estimate, run_time
from qagen_dagster.loop.questions.imported import keep_log
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.call_cost import usd
from qagen_dagster.models.messages import Usage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.imported import LoggedQuestion
from qagen_dagster.records.questions.results import CallSummary, CandidateSet, DocumentEnd, GenerationResult
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import waterworks
from tests.support.project import Project
from tests.support.shards import run_shard
from tests.support.wire_server import WireServer

HERE = Combination.from_key("water/facts/textual")
LOOKED = Combination.from_key("water/facts/visual")
NOW = "2026-01-02T03:04:05+00:00"
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}", {price}}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}", {price}}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}", {price}}}
"""
PRICE = "usd_per_million_input: 10, usd_per_million_cached: 1, usd_per_million_output: 30"
AMOUNTS = Use(calls=100, input_tokens=1e5, output_tokens=1e4, seconds=200)
DOUBLE = Range(low=0.5, expected=1, high=2)  # from half to twice the expected amounts


def far_apart(texts: Sequence[str]) -> np.ndarray:
    """No two questions are alike: nothing is compared across documents."""
    return np.eye(len(texts), 1000, dtype=np.float32)


def read(space: Workspace, *corpora: str) -> None:
    for key in corpora:
        corpus = space.corpus(key)
        index = parse_corpus(corpus, space.store, space.parsers(), space.settings).index
        build_manifests(corpus, index, space.store, space.parsers(), space.settings)


def work(
    space: Workspace,
    where: Combination,
    ids: Sequence[str] | None = None,
    *,
    options: RunOptions | None = None,
) -> list[CallSummary]:
    """Work documents as a run does, and return their calls."""
    planned = plan(space, where, options or RunOptions())
    chosen = [one for one in planned.documents if ids is None or one.id in ids]
    outcome = run_shard(space, planned, [one.id for one in chosen], "run")
    assert not outcome.failed
    return [
        call for one in chosen for call in space.store.read(planned.result_key(one), GenerationResult).calls
    ]


def finish(space: Workspace, where: Combination, options: RunOptions | None = None) -> None:
    collect(space, plan(space, where, options or RunOptions()), run_id="run", started=NOW, ended=NOW)
    validate_set(space, where, far_apart)
    rebuild_catalog(space.store)


def one(
    space: Workspace, where: Combination = HERE, options: RunOptions | None = None
) -> CombinationEstimate:
    (found,) = estimate(space, [where], options or RunOptions()).combinations
    return found


def off(found: Range | None, actual: float) -> float:
    """How far the expected value is off, relative."""
    assert found is not None
    return abs(found.expected / actual - 1)


def paid(calls: Sequence[CallSummary]) -> float:
    once = {call.request_key: call.usd for call in calls}
    return sum(price for price in once.values() if price is not None)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.make(tmp_path / "project")
    texts = {
        f"{name}.txt": waterworks.notes(name, waterworks.VALVES[:count])
        for name, count in zip(
            ("ridge", "quay", "lock", "mill", "weir", "ford", "pond", "dam"),
            (1, 6, 2, 5, 3, 6, 4, 2),
            strict=True,
        )
    }
    made.corpus(
        "water", waterworks.corpus(4, "textual, visual"), {**texts, "sheet.pdf": waterworks.sheet("sheet")}
    )
    return made


@pytest.fixture
def server(project: Project) -> Iterator[WireServer]:
    with WireServer(waterworks.answer) as running:
        url = running.url("openai_compatible")
        project.profile("priced", PROFILE.format(url=url, price=PRICE))
        project.profile("unpriced", PROFILE.format(url=url, price="temperature: 0"))
        yield running


def test_without_past_runs_it_is_a_wide_guess(project: Project) -> None:
    space = Workspace(project.settings())
    with pytest.raises(StoreError, match="has not been parsed"):
        one(space)
    read(space, "water")
    found = one(space)
    assert (found.guessed, found.basis) == (True, "no past runs: a rough guess")
    assert (found.documents, found.to_do, found.done, found.without_work) == (9, 9, 0, 0)
    assert 0 < found.calls.low < found.calls.expected / 2 < found.calls.expected < found.calls.high / 2
    assert found.usd == Range(low=0, expected=0, high=0)  # models in this process cost nothing
    looked = one(space, LOOKED)
    assert (looked.to_do, looked.without_work) == (1, 8)  # only the sheet has something to look at


def test_a_first_guess_at_the_batch_strategy_knows_its_answerer(project: Project, server: WireServer) -> None:
    config = project.settings().corpora / "water" / "corpus.yaml"
    config.write_text(waterworks.corpus().replace("target_count", "strategy: batch, target_count"))
    space = Workspace(project.settings())
    read(space, "water")
    found = one(space, options=RunOptions(profile="priced"))
    assert (found.guessed, found.basis) == (True, "no past runs: a rough guess")
    assert [role.role for role in found.roles] == ["generator", "validator", "deduplicator", "answerer"]


@pytest.mark.parametrize(("more", "calls"), [("", 4), (", pool_depth: 50, feedback_rounds: 2", 20), ("", 0)])
def test_the_judge_of_labels_is_estimated_if_it_is_wanted(
    project: Project, server: WireServer, more: str, calls: int
) -> None:
    url = server.url("openai_compatible")
    judge = f'  judge: {{provider: openai_compatible, model: judge, base_url: "{url}", {PRICE}}}\n'
    project.profile("judged", PROFILE.format(url=url, price=PRICE) + judge)
    if calls:
        config = project.settings().corpora / "water" / "corpus.yaml"
        options = f"evaluation: {{judge_labels: true{more}}}, target_count"
        config.write_text(waterworks.corpus(4).replace("target_count", options))
    space = Workspace(project.settings())
    read(space, "water")
    found = one(space, options=RunOptions(profile="judged"))
    (*others, last) = found.roles
    assert [role.role for role in others][:2] == ["generator", "validator"]
    assert (last.role == "judge of labels") is bool(calls)
    if calls:
        assert last.calls.expected == pytest.approx(calls * found.accepted.expected)
        assert last.usd is not None
        assert last.usd.expected > 0


def test_a_panel_that_answered_before_is_estimated(project: Project, server: WireServer) -> None:
    """Each model that can answer does so from the corpus, from the document, and without either."""
    project.profile("own", PROFILE.format(url=server.url("openai_compatible"), price=PRICE))
    space = Workspace(project.settings())
    read(space, "water")
    assert not any(
        role.role.startswith("panel") for role in one(space, options=RunOptions(profile="own")).roles
    )
    combination = Combination.from_key(one(space, options=RunOptions(profile="own")).combination)
    space.store.write_bytes(EvaluationReport.key(combination, Kind.PANEL), b"{}")
    found = one(space, options=RunOptions(profile="own"))
    panel = [role for role in found.roles if role.role.startswith("panel")]
    calls = [reader.calls.expected for reader in panel]
    assert calls == [pytest.approx(3 * found.accepted.expected)] * len(panel) != []
    assert all(reader.usd is not None and reader.usd.expected > 0 for reader in panel)


def test_half_a_run_foretells_the_rest_in_calls_tokens_and_money(
    project: Project, server: WireServer
) -> None:
    space = Workspace(project.settings(profile="priced"))
    read(space, "water")
    work(space, HERE, ["ridge.txt", "quay.txt", "mill.txt", "weir.txt"])
    found = one(space)
    assert found.basis == "from past documents: 4 of this combination"
    assert (found.done, found.to_do, found.begun) == (4, 5, 0)
    calls = work(space, HERE)
    rest = [
        call for call in calls if call.document_id not in ("ridge.txt", "quay.txt", "mill.txt", "weir.txt")
    ]
    assert off(found.calls, len(rest)) < 0.3
    assert off(found.input_tokens, sum(call.input_tokens for call in rest)) < 0.3
    assert off(found.output_tokens, sum(call.output_tokens for call in rest)) < 0.3
    assert off(found.usd, paid(rest)) < 0.3
    assert found.usd is not None
    assert found.usd.low < paid(rest) < found.usd.high
    assert found.cached_tokens.expected == pytest.approx(0.4 * found.input_tokens.expected, rel=0.2)
    done = one(space)
    assert (done.to_do, done.calls.high, done.usd, done.basis) == (
        0, 0, Range(low=0, expected=0, high=0), "nothing to do",
    )  # fmt: skip


def test_batches_are_estimated_at_their_price(project: Project, server: WireServer) -> None:
    space = Workspace(project.settings(profile="priced"))
    read(space, "water")
    work(space, HERE, ["ridge.txt", "quay.txt", "mill.txt", "weir.txt"])
    finish(space, HERE)
    batch = (
        "provider: openai, api_key_env: K, execution: batch, batch_discount: 0.75, batch_window_seconds: 0"
    )
    head, *tail = (project.profiles / "priced.yaml").read_text().splitlines(keepends=True)
    text = "".join(
        [head, tail[0], *(line.replace("provider: openai_compatible", batch) for line in tail[1:])]
    )
    project.profile("by_batch", text)
    project.profile("directly", text.replace("execution: batch", "execution: direct"))
    cheap, full = (
        {role.role: role for role in one(space, options=RunOptions(profile=name)).roles}
        for name in ("by_batch", "directly")
    )
    usd = {role: (cheap[role].usd, full[role].usd) for role in cheap}
    assert usd["generator"][0] == usd["generator"][1]
    twins, judges = usd["deduplicator"], usd["validator"]
    assert twins[0] is not None
    assert twins[1] is not None
    assert twins[1].expected > 0
    assert twins[0].expected == pytest.approx(0.25 * twins[1].expected)
    assert judges[0] is not None
    assert judges[1] is not None
    share = cheap["validator"].by_batch
    assert 0 < share < 1
    assert judges[0].expected == pytest.approx((1 - 0.75 * share) * judges[1].expected)


def test_a_judge_that_was_never_asked_takes_nothing(project: Project, server: WireServer) -> None:
    text = (project.profiles / "priced.yaml").read_text()
    url = server.url("openai_compatible")
    project.profile(
        "judged",
        text + f'  judge: {{provider: openai_compatible, model: sage, base_url: "{url}", {PRICE}}}\n',
    )
    space = Workspace(project.settings(profile="judged"))
    read(space, "water")
    assert [role.role for role in one(space).roles] == ["generator", "validator", "deduplicator"]
    work(space, HERE)
    finish(space, HERE)
    after = one(space, options=RunOptions(target_count=6))
    assert not after.guessed
    assert [role.role for role in after.roles] == ["generator", "validator", "deduplicator"]


def test_a_budget_that_will_end_the_run_is_told(project: Project, server: WireServer) -> None:
    text = (project.profiles / "priced.yaml").read_text()
    project.profile("tight", text + "budget: {partition: {max_calls: 3}, document: {max_usd: 0.0001}}\n")
    space = Workspace(project.settings(profile="tight"))
    read(space, "water")
    found = estimate(space, [HERE], RunOptions(max_usd=0.001)).budgets
    assert [(end.scope, end.combination, end.limit, end.of) for end in found] == [
        ("run", None, "max_usd", 9),
        ("partition", "water/facts/textual", "max_calls", 9),
        ("document", "water/facts/textual", "max_usd", 9),
    ]
    assert all(end.documents.expected < 1 for end in found)
    assert estimate(space, [HERE], RunOptions(profile="priced")).budgets == ()


def test_an_unknown_price_is_never_nothing(project: Project, server: WireServer) -> None:
    space = Workspace(project.settings(profile="unpriced"))
    read(space, "water")
    found = estimate(space, [HERE, LOOKED], RunOptions())
    models = ("openai_compatible:asker", "openai_compatible:judge", "openai_compatible:twin")
    assert (found.total.usd, found.unknown_prices) == (None, models)
    work(space, HERE)
    after = estimate(space, [HERE], RunOptions())
    assert (after.total.usd, after.unknown_prices) == (Range(low=0, expected=0, high=0), ())


def test_other_combinations_are_examples_if_their_models_are_of_the_same_kind(
    project: Project, server: WireServer
) -> None:
    space = Workspace(project.settings(profile="priced"))
    project.corpus("rail", waterworks.corpus(4), {"lock.txt": waterworks.notes("lock")})
    read(space, "water", "rail")
    work(space, HERE)
    finish(space, HERE)
    rail = Combination.from_key("rail/facts/textual")
    assert one(space, rail).basis == "from past documents: 9 of other combinations"
    other = one(space, HERE, RunOptions(profile="unpriced"))
    assert (other.basis, other.usd) == ("from past documents: 9 of this combination", None)
    text = (project.profiles / "priced.yaml").read_text().replace("asker", "another")
    project.profile("another", text)
    assert one(space, HERE, RunOptions(profile="another")).basis == other.basis
    # Scripted models say nothing about language models, and vice versa.
    assert one(space, HERE, RunOptions(profile="dry_run")).guessed
    assert one(space, LOOKED).guessed
    narrow, wide = one(space, HERE, RunOptions(target_count=6)).calls, one(space, rail).calls
    assert wide.high / wide.low > narrow.high / narrow.low


def test_documents_that_ran_out_of_questions_do_not_take_more_for_a_higher_target(
    project: Project, server: WireServer
) -> None:
    space = Workspace(project.settings(profile="priced"))
    read(space, "water")
    lower, higher = RunOptions(target_count=1), RunOptions(target_count=3)
    work(space, HERE, options=lower)
    finish(space, HERE, lower)
    candidates = space.store.read(CandidateSet.key(HERE), CandidateSet)
    dry = tuple(
        document.model_copy(update={"end": DocumentEnd.EXHAUSTED_REPORTED})
        for document in candidates.documents
    )
    reached = one(space, options=higher).calls.expected
    space.store.write(CandidateSet.key(HERE), candidates.model_copy(update={"documents": dry}))
    assert one(space, options=higher).calls.expected < reached / 2


def test_finished_steps_are_not_paid_again(project: Project, server: WireServer) -> None:
    space = Workspace(project.settings(profile="priced"))
    read(space, "water")
    first = work(space, HERE, ["quay.txt", "ford.txt"], options=RunOptions(target_count=2))
    whole = one(space, options=RunOptions(target_count=4))
    assert (whole.done, whole.to_do, whole.begun) == (0, 9, 2)
    finish(space, HERE)
    second = work(space, HERE, ["quay.txt", "ford.txt"])
    more = len({call.request_key for call in second} - {call.request_key for call in first})
    left = one(space, options=RunOptions(target_count=2))
    assert left.done == 2
    assert more > 0


def test_totals_are_sums(project: Project) -> None:
    space = Workspace(project.settings())
    read(space, "water")
    found = estimate(space, [HERE, LOOKED], RunOptions())
    summed = Amounts()
    for each in found.combinations:
        summed = summed.plus(each)
    assert found.total == summed
    assert estimate(space, [HERE], RunOptions()).total.seconds == found.combinations[0].seconds


def test_one_scenario_of_a_sample_corpus_foretells_the_other(tmp_path: Path) -> None:
    # With models that take longer: python -m benchmarks.estimate.
    made = Project.make(tmp_path / "project")
    space = Workspace(made.settings(corpora=PROJECT_ROOT / "corpora"))
    read(space, "town_records")
    before, after = (
        Combination.from_key(f"town_records/{scenario}/textual")
        for scenario in ("rag_eval", "citizen_enquiry")
    )
    work(space, before)
    finish(space, before)
    found = one(space, after)
    spent = use_of(work(space, after))
    assert off(found.calls, sum(use.calls for use in spent.values())) < 0.3
    assert off(found.input_tokens, sum(use.input_tokens for use in spent.values())) < 0.3
    assert off(found.output_tokens, sum(use.output_tokens for use in spent.values())) < 0.3
    # The models here are free: cost at the prices of another profile.
    prices = {role.value: spec for role, spec in space.profile("openai").roles.items()}
    cost = sum(_usd(prices[role], use.input_tokens, use.output_tokens) for role, use in spent.items())
    told = sum(
        _usd(prices[one.role], one.input_tokens.expected, one.output_tokens.expected) for one in found.roles
    )
    assert abs(told / cost - 1) < 0.3


def _usd(spec: ModelSpec, read: float, written: float) -> float:
    price = usd(spec, Usage(input_tokens=round(read), output_tokens=round(written)))
    assert price is not None
    return price


def test_imported_questions_and_the_prices_of_writers_are_foretold(
    project: Project, server: WireServer
) -> None:
    space, options = Workspace(project.settings()), RunOptions(profile="priced")
    read(space, "water")
    before = one(space, options=options)
    keep_log(
        space, HERE, [LoggedQuestion(question=f"When does gate {at} open?") for at in range(12)], forget=False
    )
    after = one(space, options=options)
    assert after.calls.expected > before.calls.expected
    cheap = "writers:\n  second: {provider: openai_compatible, model: cheap, base_url: 'http://127.0.0.1:9', usd_per_million_input: 1, usd_per_million_output: 3}\n"
    profile = project.profiles / "priced.yaml"
    profile.write_text(profile.read_text() + cheap)
    config = project.settings().corpora / "water" / "corpus.yaml"
    config.write_text(
        config.read_text().replace("target_count", "writers: {generator: 0.5, second: 0.5}, target_count")
    )
    shared = one(Workspace(project.settings()), options=options)
    roles = [role.role for role in shared.roles]
    assert roles == ["writer generator", "writer second", "validator", "deduplicator"]
    assert shared.usd is not None
    assert after.usd is not None
    assert shared.usd.expected < after.usd.expected


def timed(documents: int = 100, workers: int = 10, **limits: Any) -> Range:
    spec = ModelSpec(provider="openai_compatible", model="m", **limits)
    return run_time(
        {Role.GENERATOR: spec}, {Role.GENERATOR: AMOUNTS}, DOUBLE, documents=documents, workers=workers
    )


def test_documents_share_the_time_and_the_last_ends_later() -> None:
    found = timed()
    assert (found.low, found.expected, found.high) == tuple(map(pytest.approx, (10.3, 20.6, 41.2)))
    assert timed(workers=1).expected == pytest.approx(200, rel=0.01)
    assert timed(documents=1).expected == pytest.approx(260)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"requests_per_minute": 10}, 100 * 60 / 9.5),
        ({"tokens_per_minute": 11_000}, 110_000 * 60 / 10_450),
        ({"concurrency": 2}, 100),
        ({"requests_per_minute": 1e6, "tokens_per_minute": 10**9, "concurrency": 100}, 20.6),
    ],
)
def test_limits_slow_it_down(limits: dict[str, Any], expected: float) -> None:
    found = timed(**limits)
    assert found.expected == pytest.approx(expected)
    assert found.low <= found.expected <= found.high


def test_roles_of_one_model_share_its_limits() -> None:
    spec = ModelSpec(provider="openai_compatible", model="m", requests_per_minute=10)
    other = spec.model_copy(update={"model": "n"})
    roles = {Role.GENERATOR: AMOUNTS, Role.DEDUPLICATOR: AMOUNTS}
    shared = run_time(dict.fromkeys(roles, spec), roles, DOUBLE, documents=10, workers=10)
    apart = run_time(
        {Role.GENERATOR: spec, Role.DEDUPLICATOR: other}, roles, DOUBLE, documents=10, workers=10
    )
    assert shared.expected == pytest.approx(2 * apart.expected)


def test_models_in_this_process_hardly_gain_by_workers() -> None:
    spec = ModelSpec(provider="embedded", model="rules")
    roles = {Role.GENERATOR: AMOUNTS}
    found = run_time({Role.GENERATOR: spec}, roles, DOUBLE, documents=100, workers=50)
    assert found.low < 100 <= found.expected < 110
    assert found.high >= 400


def test_nothing_takes_no_time() -> None:
    assert timed(documents=0) == NOTHING
    assert run_time({}, {}, DOUBLE, documents=3, workers=3) == NOTHING


def of(expected: float) -> Range:
    return DOUBLE.times(expected)


def ends(
    scope: str = "run", of_documents: int = 12, **limits: float
) -> list[tuple[str, tuple[int, int, int]]]:
    taken = Amounts(usd=of(2.0), calls=of(100), input_tokens=of(9e5), output_tokens=of(1e5))
    allowance = Allowance.model_validate(limits)
    return [
        (end.limit, (int(end.documents.low), int(end.documents.expected), int(end.documents.high)))
        for end in budget_ends(scope, None, allowance, taken, of_documents)
    ]


def test_a_budget_ends_the_work_where_the_money_does() -> None:
    assert ends() == []
    assert ends(max_usd=4.0) == []
    assert ends(max_usd=1.0) == [("max_usd", (3, 6, 12))]
    assert ends(max_usd=3.0) == [("max_usd", (9, 12, 12))]
    assert ends(max_usd=0.0) == [("max_usd", (0, 0, 0))]
    assert ends(max_tokens=500_000, max_calls=75) == [("max_tokens", (3, 6, 12)), ("max_calls", (4, 9, 12))]


def test_a_budget_of_each_document_holds_as_often_as_there_are_documents() -> None:
    assert ends("document", max_usd=1.0) == []
    assert ends("document", max_usd=0.1) == [("max_usd", (3, 7, 12))]


def test_what_has_no_known_price_is_held_against_no_budget_of_money() -> None:
    taken = Amounts(usd=None, calls=of(1), input_tokens=of(1), output_tokens=of(1))
    assert list(budget_ends("run", None, Allowance(max_usd=0.0), taken, 3)) == []
