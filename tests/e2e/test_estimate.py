"""Money foretold and money paid, over HTTP: after one run of a sample corpus the next ones cost what was estimated.

What was paid is counted by the server. More cases, with their figures: python -m benchmarks.estimate --wire.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from qagen_dagster.ingest.parsing import build_manifests, parse_corpus
from qagen_dagster.loop.catalog import rebuild_catalog
from qagen_dagster.loop.estimate.combinations import CombinationEstimate, estimate
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.moody_server import Bill, MoodyServer
from tests.support.project import Project
from tests.support.shards import run_shard

NOW = "2026-01-02T03:04:05+00:00"
ONE, TWO = (0,), (0, 1)  # seeds of servers; over two of them the moods of one matter less
Work = Callable[[Workspace, str, RunOptions], None]


def told(space: Workspace, key: str, options: RunOptions) -> CombinationEstimate:
    (found,) = estimate(space, [Combination.from_key(key)], options).combinations
    return found


def work(space: Workspace, key: str, options: RunOptions) -> None:
    """As the assets do: the documents, their comparison, the catalog."""
    where = Combination.from_key(key)
    planned = plan(space, where, options)
    outcome = run_shard(space, planned, [one.id for one in planned.documents], "run")
    assert not outcome.failed
    collect(space, planned, run_id="run", started=NOW, ended=NOW)
    validate_set(space, where, embedders.shared().encode)
    rebuild_catalog(space.store)


def check(found: list[CombinationEstimate], bills: list[Bill]) -> None:
    """Over all cases."""
    assert not any(one.guessed for one in found)
    money = [one.usd for one in found if one.usd is not None]
    assert len(money) == len(bills)
    off = {
        "usd": sum(one.expected for one in money) / sum(bill.usd for bill in bills),
        "calls": sum(one.calls.expected for one in found) / sum(bill.calls for bill in bills),
        "input": sum(one.input_tokens.expected for one in found) / sum(bill.input_tokens for bill in bills),
        "output": sum(one.output_tokens.expected for one in found)
        / sum(bill.output_tokens for bill in bills),
    }
    assert all(0.7 < share < 1.3 for share in off.values()), off
    assert sum(one.low for one in money) < sum(bill.usd for bill in bills) < sum(one.high for one in money)


def _runs(
    made: Project,
    seed: int,
    corpus: str,
    scenarios: tuple[str, str],
    found: list[CombinationEstimate],
    bills: list[Bill],
) -> None:
    """A first run, then three more: what each was expected to cost, and its bill."""
    with MoodyServer(seed) as server:
        made.profile("moody", server.profile())
        made.profile("newer", server.profile("-2"))
        space = Workspace(made.settings(corpora=PROJECT_ROOT / "corpora", profile="moody"))
        loaded = space.corpus(corpus)
        index = parse_corpus(loaded, space.store, space.parsers(), space.settings).index
        build_manifests(loaded, index, space.store, space.parsers(), space.settings)
        usual, more, newer = (
            RunOptions(target_count=3),
            RunOptions(target_count=6),
            RunOptions(profile="newer", target_count=4),
        )
        here, other = (f"{corpus}/{one}/textual" for one in scenarios)
        work(space, here, usual)
        server.settle()
        for key, options in ((other, usual), (here, more), (other, newer)):
            found.append(told(space, key, options))
            work(space, key, options)
            bills.append(server.settle())


@pytest.mark.parametrize(
    ("corpus", "first", "second", "seeds"),
    [
        pytest.param("town_records", "rag_eval", "citizen_enquiry", ONE, marks=pytest.mark.long),
        pytest.param("research_journal", "rag_eval", "peer_review_reading", TWO, marks=pytest.mark.long),
        pytest.param("town_records", "rag_eval", "citizen_enquiry", TWO, marks=pytest.mark.long),
    ],
)
def test_after_one_run_the_next_ones_cost_what_was_foretold(
    tmp_path: Path, corpus: str, first: str, second: str, seeds: tuple[int, ...]
) -> None:
    found: list[CombinationEstimate] = []
    bills: list[Bill] = []
    for seed in seeds:
        _runs(Project.make(tmp_path / f"project-{seed}"), seed, corpus, (first, second), found, bills)
    check(found, bills)
