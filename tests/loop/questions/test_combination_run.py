from __future__ import annotations

import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.index import build_index
from qagen_dagster.loop.parallel import WorkOutcome
from qagen_dagster.loop.questions.combination_run import SemanticSearch
from qagen_dagster.loop.questions.fingerprint import work_fingerprint
from qagen_dagster.loop.questions.plan import (
    CombinationPlan,
    RunOptions,
    collect,
    plan,
    results_of,
    unfinished,
)
from qagen_dagster.loop.questions.publication.publish import is_up_to_date
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.records.corpus_options import CorpusConfig
from qagen_dagster.records.document import ChunkHit
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import DocumentEnd
from qagen_dagster.toolkit.document_view import DocumentView
from tests.loop.conftest import COMBINATION, CORPUS, PROFILE, PlayedWorkspace, put_documents
from tests.support.documents import view_of
from tests.support.embeddings import embeddings
from tests.support.play import Outcome, Play
from tests.support.shards import run_shard
from tests.support.wire_server import WireServer

PIECE = [Outcome.ACCEPTED, Outcome.WRONG, Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.EXHAUSTED]
WORKERS = 4
GEESE = "Geese fly south in autumn.\nThey come back in spring, when the lakes are open."


def run(
    workspace: PlayedWorkspace, play: Play, budget: Allowance | None = None, spending: str = "money"
) -> tuple[WorkOutcome[str], CombinationPlan]:
    workspace.plays.append(play)
    planned = plan(workspace, COMBINATION, RunOptions(**(budget.model_dump() if budget else {})))
    wanted = [entry.id for entry in planned.documents]
    return run_shard(workspace, planned, wanted, "run-1", spending_id=spending), planned


def accepted(workspace: PlayedWorkspace, planned: CombinationPlan) -> list[tuple[str, str]]:
    found = collect(workspace, planned, run_id="r", started="2024-01-01", ended="2024-01-02")
    return [(pair.id, pair.question) for result in results_of(workspace, found) for pair in result.accepted]


@pytest.mark.parametrize("calls", [0, 1, 4, 9, 14])
def test_a_budget_ends_the_work_and_the_next_run_goes_on(workspace: PlayedWorkspace, calls: int) -> None:
    first = Play(PIECE)
    outcome, planned = run(workspace, first, Allowance(max_calls=calls))
    assert calls <= len(first.log) <= calls + WORKERS - 1 if calls else first.log == []
    assert sorted([*outcome.stopped, *outcome.finished]) == ["a.txt", "b.txt", "c.txt"]
    assert outcome.stopped
    assert outcome.failed == {}
    assert unfinished(workspace, planned) == sorted(outcome.stopped)
    kept = accepted(workspace, planned)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    rest = Play(PIECE)
    outcome, planned = run(workspace, rest)
    assert outcome.stopped == []
    assert set(kept) <= set(accepted(workspace, planned))


def test_the_set_is_that_of_a_run_without_a_budget(workspace: PlayedWorkspace) -> None:
    run(workspace, Play(PIECE), Allowance(max_calls=5))
    run(workspace, Play(PIECE), Allowance(max_calls=6), "more-money")
    _, planned = run(workspace, Play(PIECE))
    pieced = accepted(workspace, planned)
    other = PlayedWorkspace(workspace.settings.__class__(**{**vars(workspace.settings), "profile": "mine"}))
    assert len(pieced) == 6
    assert [end.end for end in _ends(workspace, planned)] == [DocumentEnd.TARGET_REACHED] * 3
    assert accepted(other, plan(other, COMBINATION, RunOptions())) == pieced


def test_what_ended_early_is_collected_with_its_outcome(workspace: PlayedWorkspace) -> None:
    outcome, planned = run(workspace, Play(PIECE), Allowance(max_calls=8))
    ends = {one.document_id: one for one in _ends(workspace, planned)}
    for name in outcome.stopped:
        assert ends[name].end is DocumentEnd.BUDGET_EXHAUSTED
        assert "the run's max_calls 8 (made" in ends[name].end_detail
        assert ends[name].result_key is not None


def test_ops_of_one_run_share_its_budget(workspace: PlayedWorkspace) -> None:
    run(workspace, Play(PIECE), Allowance(max_calls=6))
    again = Play(PIECE)
    outcome, _ = run(workspace, again, Allowance(max_calls=6))
    assert again.log == []
    assert outcome.finished == []


def test_a_document_has_a_budget_of_its_own(workspace: PlayedWorkspace) -> None:
    profiles = workspace.settings.profiles
    assert profiles is not None
    text = PROFILE.format(generator="writer") + "budget: {document: {max_calls: 5}}\n"
    (profiles / "mine.yaml").write_text(text)
    play = Play(PIECE)
    outcome, planned = run(workspace, play)
    assert sorted(outcome.stopped) == ["a.txt", "b.txt", "c.txt"]
    assert len(play.log) == 15
    assert len(accepted(workspace, planned)) == 3
    outcome, _ = run(workspace, Play(PIECE), spending="another-run")
    assert len(outcome.stopped) == 3, "over all runs"


def test_money_is_not_counted_without_prices(workspace: PlayedWorkspace) -> None:
    profiles = workspace.settings.profiles
    assert profiles is not None
    paid = PROFILE.format(generator="writer").replace(
        "provider: scripted, model: reader", "provider: openai, model: o"
    )
    (profiles / "mine.yaml").write_text(paid)
    with pytest.raises(ConfigError, match="of openai:o"):
        plan(workspace, COMBINATION, RunOptions(max_usd=1))
    (profiles / "mine.yaml").write_text(paid + "budget: {run: {max_usd: 1}}\n")
    with pytest.raises(ConfigError, match="max_usd needs prices"):
        plan(workspace, COMBINATION, RunOptions())


def _ends(workspace: PlayedWorkspace, planned: CombinationPlan):
    return collect(workspace, planned, run_id="r", started="2024-01-01", ended="2024-01-02").documents


@dataclass
class Bench:
    """A workspace whose embedder is a server that counts; what it said before is forgotten between steps."""

    space: Workspace
    server: WireServer

    def find(self, view: DocumentView, query: str) -> tuple[list[ChunkHit], list[list[str]]]:
        """The hits, and the texts of each request that the server got for them."""
        shutil.rmtree(Path(self.space.settings.assets) / "ledger", ignore_errors=True)
        before = len(self.server.bodies)
        meanings = SemanticSearch(self.space, self.space.corpus("probes"), self.space.profile("mine"))
        hits = list(meanings.of(view)(query, 3))
        return hits, [body["input"] for body in self.server.bodies[before:]]


@pytest.fixture
def bench(workspace: PlayedWorkspace) -> Generator[Bench]:
    assert workspace.settings.profiles is not None
    with WireServer(embeddings) as server:
        embedder = f"embedder: {{provider: openai_compatible, model: m, base_url: '{server.url('openai_compatible')}'}}\n"
        (workspace.settings.profiles / "mine.yaml").write_text(PROFILE.format(generator="writer") + embedder)
        put_documents(workspace, {"geese.txt": GEESE})
        yield Bench(workspace, server)


def test_the_index_is_used_where_it_holds_the_document(bench: Bench) -> None:
    view, asked = view_of(GEESE, name="geese.txt"), "when do geese return in spring"
    without, sent = bench.find(view, asked)
    assert sent == [[GEESE], [asked]], "embedded when it was asked about"
    build_index(bench.space, "probes")
    assert bench.find(view, asked) == (without, [[asked]])
    changed = f"{GEESE} Some stay."
    _, sent = bench.find(view_of(changed, name="geese.txt"), asked)
    assert sent == [[changed], [asked]], "the index holds another text of it"


def test_an_index_of_another_chunking_is_left_alone(bench: Bench) -> None:
    build_index(bench.space, "probes")
    (bench.space.settings.corpora / "probes" / "corpus.yaml").write_text(
        f"{CORPUS}index: {{chunk_characters: 60, overlap_characters: 0}}\n"
    )
    hits, sent = bench.find(view_of(GEESE, name="geese.txt"), "spring")
    assert (len(hits), sent) == (2, [GEESE.split("\n"), ["spring"]])


def test_the_option_moves_its_scenario_and_what_it_searches_with(workspace: PlayedWorkspace) -> None:
    profile, plain = workspace.profile("mine"), workspace.corpus("probes").config
    off = mark(profile, plain)
    asking = with_option(plain)
    assert mark(profile, asking) != off
    assert mark(profile, asking, "exam") == mark(profile, plain, "exam")
    other = profile.model_copy(
        update={
            "embedder": EmbedderSpec(provider="openai_compatible", model="m", base_url="http://127.0.0.1:9")
        }
    )
    assert mark(other, plain) == off
    assert mark(other, asking) != mark(profile, asking)
    cut = plain.index.model_copy(update={"chunk_characters": 400})
    assert mark(profile, plain.model_copy(update={"index": cut})) == off
    assert mark(profile, asking.model_copy(update={"index": cut})) != mark(profile, asking)


def with_option(config: CorpusConfig) -> CorpusConfig:
    service = config.scenarios["service"].model_copy(update={"search_meaning": True})
    return config.model_copy(update={"scenarios": config.scenarios | {"service": service}})


def mark(profile: Profile, config: CorpusConfig, scenario: str = "service") -> str:
    return work_fingerprint(profile, config, scenario, Mode.TEXTUAL)
