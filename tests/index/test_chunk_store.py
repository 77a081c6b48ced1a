from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.index.chunk_store import ChunkTable, EmbeddedDocument, documents_in, write_shard
from qagen_dagster.index.ranking import words_of
from qagen_dagster.index.search import embed_document
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.index_options import IndexOptions
from tests.support.embeddings import WordEmbedder, vector

OPTIONS = IndexOptions(chunk_characters=60, overlap_characters=0)
BRIDGE = "The bridge is old. The keeper lives by the bridge in a hut.\nNobody pays a meter there."
VALVES = "The north valve opens at six bar.\n\nThe south valve has been shut. Its keeper lives in town."


def document(name: str, text: str, sha256: str = "1") -> EmbeddedDocument:
    return embed_document(name, text, sha256, OPTIONS, WordEmbedder())


def find(table: ChunkTable, name: str | None, query: str, **how: object) -> list[tuple[str, int]]:
    values = {"limit": 9, "threshold": 0.0, "ranking": Ranking.BOTH, **how}
    hits = table.search(name, words_of(query), vector(query), **values)
    return [(hit.document_id, hit.chunk.number) for hit in hits]


def test_a_shard_keeps_what_it_is_told_to_and_what_is_new(tmp_path: Path) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    write_shard(first, None, (), [document("b", BRIDGE), document("v", VALVES), document("none", " ")])
    assert documents_in([first]) == {"b": ("1", 2), "v": ("1", 2)}
    write_shard(second, first, ["v"], [document("b", VALVES, "2"), document("c", BRIDGE)])
    assert documents_in([second]) == {"b": ("2", 2), "c": ("1", 2), "v": ("1", 2)}
    write_shard(first, second, ["c"], [])
    assert documents_in([first]) == {"c": ("1", 2)}


def test_tables_of_shards_and_of_documents_are_the_same(tmp_path: Path) -> None:
    documents = [document("b", BRIDGE), document("v", VALVES)]
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for file, one in zip(files, documents, strict=True):
        write_shard(file, None, (), [one])
    stored, fresh = ChunkTable.of_shards(files), ChunkTable.of_documents(documents)
    query = "who is the keeper"
    for name in ("b", "v", None, "unknown"):
        for ranking in Ranking:
            values = {"limit": 9, "threshold": 0.0, "ranking": ranking}
            found = [
                table.search(name, words_of(query), vector(query), **values) for table in (stored, fresh)
            ]
            assert found[0] == found[1]
            assert {hit.document_id for hit in found[0]} <= ({name} if name else {"b", "v"})
    stored.close()
    fresh.close()


def test_hits_point_at_the_text_and_carry_the_scores_of_both_methods() -> None:
    table = ChunkTable.of_documents([document("b", BRIDGE), document("v", VALVES)])
    query = "the keeper lives by the bridge"
    (best, *_) = table.search(
        "b", words_of(query), vector(query), limit=2, threshold=0.0, ranking=Ranking.BOTH
    )
    (chunks,) = (document("b", BRIDGE).chunks,)
    assert best.chunk == chunks[0]
    piece = BRIDGE[best.chunk.start : best.chunk.end].strip()
    assert best.meaning == pytest.approx(float(vector(piece) @ vector(query)), abs=1e-5)
    assert best.score == pytest.approx(0.5 * max(best.meaning, 0) + 0.5 * best.words)
    assert 0 < best.words <= 1
    assert best.bm25 > 0


def test_the_best_comes_first_by_the_ranking_and_the_threshold_cuts() -> None:
    table = ChunkTable.of_documents([document("b", BRIDGE), document("v", VALVES)])
    assert find(table, None, "bridge keeper meter", ranking=Ranking.WORDS, limit=1)[0][0] == "b"
    assert find(table, None, "valve", ranking=Ranking.WORDS, threshold=0.01) == [("v", 1), ("v", 2)]
    assert len(find(table, None, "valve", threshold=-1.0)) == 4
    assert find(table, None, "valve", threshold=1.1) == []
    assert find(table, "v", "") != []
    assert find(table, "v", "", ranking=Ranking.WORDS, threshold=0.01) == []


def test_words_are_weighed_by_how_rare_they_are_in_what_is_searched() -> None:
    table = ChunkTable.of_documents([document("b", BRIDGE), document("v", VALVES)])
    query = "meter"

    def bm25(name: str | None) -> float:
        hits = table.search(name, words_of(query), vector(query), limit=9, threshold=0, ranking=Ranking.BOTH)
        return max(hit.bm25 for hit in hits if hit.document_id == "b")

    assert bm25("b") != bm25(None)
    alone = ChunkTable.of_documents([document("b", BRIDGE)])
    (only,) = alone.search("b", words_of(query), vector(query), limit=1, threshold=0, ranking=Ranking.WORDS)
    assert bm25("b") == pytest.approx(only.bm25)


def test_a_word_that_stands_nowhere_and_no_word_at_all_are_searched_for_without_harm() -> None:
    table = ChunkTable.of_documents([document("b", BRIDGE)])
    for words in (words_of("zzz"), Counter[int]()):
        hits = table.search("b", words, vector("bridge"), limit=9, threshold=0.0, ranking=Ranking.BOTH)
        assert [hit.words for hit in hits] == [0.0] * len(hits)
        assert hits


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"not parquet")
    with pytest.raises(StoreError, match="cannot be read"):
        ChunkTable.of_shards([broken])
    with pytest.raises(StoreError, match=r"broken\.parquet cannot be read"):
        documents_in([broken])


def test_vectors_survive_a_shard_bit_by_bit(tmp_path: Path) -> None:
    one = document("v", VALVES)
    write_shard(tmp_path / "s.parquet", None, (), [one])
    table = ChunkTable.of_shards([tmp_path / "s.parquet"])
    for n in range(one.vectors.shape[1]):
        axis = np.eye(one.vectors.shape[1], dtype=np.float32)[n]
        hits = table.search("v", (), axis, limit=9, threshold=-2.0, ranking=Ranking.MEANING)
        found = {hit.chunk.number: hit.meaning for hit in hits}
        assert [np.float32(found[k + 1]) for k in range(len(one.chunks))] == one.vectors[:, n].tolist()
