from __future__ import annotations

import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.loop.index.build import build_index
from qagen_dagster.loop.index.semantic_search import SemanticSearch
from qagen_dagster.loop.questions.fingerprint import work_fingerprint
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.records.corpus_config import CorpusConfig
from qagen_dagster.records.document import ChunkHit
from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit.document_view import DocumentView
from tests.loop.conftest import CORPUS, PROFILE, PlayedWorkspace, put_documents
from tests.support.documents import view_of
from tests.support.embeddings import embeddings
from tests.support.wire_server import WireServer

GEESE = "Geese fly south in autumn.\nThey come back in spring, when the lakes are open."


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
