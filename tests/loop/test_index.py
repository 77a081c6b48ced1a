from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qagen_dagster.errors import BudgetExhaustedError, ConfigError, ModelError, StoreError
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.index import (
    MAX_FAILURES,
    SHARDS,
    build_index,
    index_meter,
    is_indexed,
    open_index,
    shard_of,
)
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.document import Document, Ranking, SearchIndex
from tests.support import waterworks
from tests.support.embeddings import embeddings
from tests.support.project import Project
from tests.support.wire_server import Fault, Seen, Step, WireServer

PAID = """\
roles:
  generator: {{provider: scripted, model: cloze}}
  validator: {{provider: scripted, model: cloze-check}}
  deduplicator: {{provider: scripted, model: cloze-compare}}
embedder:
  provider: openai_compatible
  model: {model}
  base_url: {url}
  max_attempts: 2
  deadline_seconds: 5
  usd_per_million_input: 1.0
"""
DAMAGED = (b"[1]", b"", b"PAR1", b"\x00" * 4000, b"{")
STATIONS = [f"station{n}" for n in range(12)]


class Place:
    """A parsed corpus of twelve notes whose embedder is `server`."""

    def __init__(self, root: Path, server: WireServer) -> None:
        self.project = Project.make(root / "project")
        self.documents = {f"{name}.txt": waterworks.notes(name) for name in STATIONS}
        self.folder = self.project.corpus("water", waterworks.corpus(), self.documents)
        self.server = server
        self.bind("e-1")
        self.parse()

    def bind(self, model: str) -> None:
        self.project.profile("paid", PAID.format(model=model, url=self.server.url("openai")))

    @property
    def space(self) -> Workspace:
        return Workspace(self.project.settings(profile="paid", state=self.project.root / "state"))

    def parse(self) -> None:
        space = self.space
        parse_corpus(space.corpus("water"), space.store, space.parsers(), space.settings)

    def write(self, name: str, text: str) -> None:
        (self.folder / "documents" / name).write_text(text)

    def shards(self) -> dict[str, tuple[bytes, int]]:
        return {
            key: value for key, value in self.project.stored("search").items() if key.endswith(".parquet")
        }


def refuses(word: str) -> Callable[[Seen, int], Step]:
    def answer(seen: Seen, number: int) -> Step:
        if any(word in text for text in seen.body["input"]):
            return Fault(400, {"error": {"message": f"{word} is not embedded here"}})
        return embeddings(seen, number)

    return answer


def test_only_what_changed_is_embedded_again(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        first = build_index(place.space, "water")
        paid, shards, record = len(server.requests), place.shards(), place.project.stored("search")
        again = build_index(place.space, "water")
        assert (len(server.requests), place.project.stored("search")) == (paid, record)
        place.write("station3.txt", waterworks.notes("station3", ["intake", "outlet"]))
        (place.folder / "documents/station5.txt").unlink()
        place.write("added.txt", waterworks.notes("added"))
        place.parse()
        changed = build_index(place.space, "water")
    assert (len(first.embedded), again.embedded) == (12, ())
    assert first.use.tokens == 10 * sum(one.chunks for one in first.index.documents)
    assert first.use.usd == pytest.approx(first.use.tokens / 1e6)
    assert again.index == first.index
    assert set(changed.embedded) == {"station3.txt", "added.txt"}
    assert {one.id for one in changed.index.documents} == {"added.txt", *place.documents} - {"station5.txt"}
    touched = {shard_of(name) for name in ("station3.txt", "station5.txt", "added.txt")}
    same = {key for key, value in place.shards().items() if shards.get(key) == value}
    assert same == {key for key in place.shards() if int(key[-10:-8]) not in touched}


def test_another_embedder_or_chunking_builds_it_anew_and_the_old_goes(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        first = build_index(place.space, "water")
        place.bind("e-2")
        other = build_index(place.space, "water")
        text = waterworks.corpus() + "index: {chunk_characters: 120, overlap_characters: 0}\n"
        (place.folder / "corpus.yaml").write_text(text)
        cut = build_index(place.space, "water")
    prints = {build.index.fingerprint for build in (first, other, cut)}
    assert len(prints) == 3
    assert [len(build.embedded) for build in (first, other, cut)] == [12, 12, 12]
    assert sum(d.chunks for d in cut.index.documents) > sum(d.chunks for d in other.index.documents)
    assert {key.split("/")[2] for key in place.shards()} == {cut.index.fingerprint}


def test_a_document_that_fails_is_one_line_and_is_tried_again(tmp_path: Path) -> None:
    with WireServer(refuses("station7")) as server:
        place = Place(tmp_path, server)
        built = build_index(place.space, "water")
        (failed,) = [one for one in built.index.documents if one.failure is not None]
        again = build_index(place.space, "water")
    assert failed.id == "station7.txt"
    assert "station7 is not embedded here" in (failed.failure or "")
    assert len(built.embedded) == 11
    assert again.embedded == ()
    with WireServer(embeddings, port=server.port):
        healed = build_index(place.space, "water")
    assert healed.embedded == ("station7.txt",)
    assert all(one.failure is None for one in healed.index.documents)


def test_an_embedder_that_fails_for_all_is_given_up_and_what_was_paid_is_kept(tmp_path: Path) -> None:
    with WireServer(lambda seen, n: embeddings(seen, n) if n <= 3 else Fault(401)) as server:
        place = Place(tmp_path, server)
        with pytest.raises(
            ModelError, match=f"{MAX_FAILURES} documents in a row could not be embedded.*HTTP 401"
        ):
            build_index(place.space, "water")
        assert len(server.requests) <= 3 + MAX_FAILURES + place.space.settings.document_workers
        with pytest.raises(StoreError, match="no search index"):
            open_index(place.space, "water")
    with WireServer(embeddings, port=server.port) as server:
        built = build_index(place.space, "water")
    assert len(built.index.documents) == 12
    assert len(server.requests) == 9


def test_a_killed_build_goes_on_from_its_shards(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        whole = build_index(place.space, "water")
        store = place.space.store
        store.remove(SearchIndex.key("water"))
        gone = whole.index.shards[-1]
        store.remove(SearchIndex.shard_key("water", whole.index.fingerprint, gone))
        paid = len(server.requests)
        again = build_index(place.space, "water")
    assert {shard_of(name) for name in again.embedded} == {gone}
    assert again.index == whole.index
    assert len(server.requests) == paid  # what had been paid for the lost shard is replayed
    assert again.use.calls == 0


def test_an_open_index_finds_in_one_document_or_in_all(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        build_index(place.space, "water")
        opened = open_index(place.space, "water")
        hits = opened.searcher.search(None, "opening pressure at station4", ranking=Ranking.WORDS)
        inside = opened.searcher.search("station2.txt", "opening pressure", limit=3)
    assert hits[0].document_id == "station4.txt"
    assert {hit.document_id for hit in inside} == {"station2.txt"}
    entries = {entry.id: entry for entry in place.space.index("water").documents}
    text = place.space.store.read_bytes(Document.text_key("water", "station2.txt")).decode()
    piece = text[inside[0].chunk.start : inside[0].chunk.end].strip()
    assert piece in "\n".join(text.split("\n")[inside[0].chunk.start_line - 1 : inside[0].chunk.end_line])
    assert opened.holds(entries["station2.txt"])
    assert not opened.holds(entries["station2.txt"].model_copy(update={"text_sha256": "0"}))


def test_a_store_that_is_no_folder_works_as_well(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"a.txt": waterworks.notes("ridge"), "b.txt": " \n"})
    space = Workspace(project.settings(assets="memory://index-test", profile="embedded"))
    parse_corpus(space.corpus("water"), space.store, space.parsers(), space.settings)
    built = build_index(space, "water")
    assert [one.id for one in built.index.documents] == ["a.txt"]
    assert open_index(space, "water").searcher.search("a.txt", "valve pressure")
    assert build_index(space, "water").embedded == ()


def test_an_index_whose_shard_was_lost_says_so(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        index = build_index(place.space, "water").index
        place.space.store.remove(SearchIndex.shard_key("water", index.fingerprint, index.shards[0]))
        with pytest.raises(StoreError, match=r"incomplete.*document_index"):
            open_index(place.space, "water")


def test_documents_are_spread_over_the_shards() -> None:
    counts = np.bincount([shard_of(f"d{n}") for n in range(3_200)], minlength=SHARDS)
    assert len(counts) == SHARDS
    assert counts.min() > 120


def test_the_budget_of_the_run_ends_paying_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        space = replace(place.space, settings=replace(place.space.settings, document_workers=1))
        meter = index_meter(space, "water", "launch-1", None, Allowance(max_calls=5))
        first = build_index(space, "water", meter=meter)
        assert len(server.requests) == len(first.embedded) == 5
        left = [one.failure for one in first.index.documents if one.failure]
        assert len(left) == 7
        assert all("the run's max_calls 5" in one for one in left)
        again = build_index(space, "water", meter=index_meter(space, "water", "launch-2"))
        assert len(server.requests) == 12
        assert {one.failure for one in again.index.documents} == {None}
        search = open_index(
            space, "water", index_meter(space, "water", "launch-1", None, Allowance(max_calls=5))
        )
        with pytest.raises(BudgetExhaustedError, match="max_calls 5"):
            search.searcher.search(None, "which valve")
    assert index_meter(space, "water", "launch-3") is None, "nothing is limited"


def test_money_needs_the_price_of_the_embedder(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        text = (place.project.profiles / "paid.yaml").read_text()
        place.project.profile("paid", text.replace("  usd_per_million_input: 1.0\n", ""))
        with pytest.raises(ConfigError, match="usd_per_million_input of the embedder openai_compatible:e-1"):
            index_meter(place.space, "water", "launch-1", None, Allowance(max_usd=1.0))


def test_a_damaged_index_is_made_again_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        build_index(place.space, "water")
        paid, stored = len(server.requests), place.project.stored("search")
        records = [key for key in stored if key.endswith(".json")]
        for key, damaged in zip([*records, *list(place.shards())[:4]], DAMAGED, strict=True):
            (place.project.assets / key).write_bytes(damaged)
            assert not is_indexed(place.space, "water"), key
            assert len(build_index(place.space, "water").embedded) < len(STATIONS)
            assert is_indexed(place.space, "water")
            assert (place.project.assets / f"{key}.damaged").read_bytes() == damaged
        assert len(server.requests) == paid
        assert open_index(place.space, "water").searcher.search(None, "intake", 3)
        again = place.project.stored("search")
    assert {key for key in again if ".damaged" not in key} == set(stored)
    assert all(again[key][0] == stored[key][0] for key in records)


def test_a_damaged_text_is_not_embedded(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        place = Place(tmp_path, server)
        (place.project.assets / "documents/water/station3.txt/text.txt").write_bytes(b"Some other")
        with pytest.raises(StoreError, match=r"station3\.txt/text\.txt is damaged"):
            build_index(place.space, "water")
        place.parse()
        assert build_index(place.space, "water").index.documents
