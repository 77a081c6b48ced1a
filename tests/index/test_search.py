from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from qagen_dagster.index.search import Searcher, search_of_text
from qagen_dagster.records.index_options import IndexOptions
from tests.support.embeddings import WordEmbedder

SMALL = IndexOptions(chunk_characters=60, overlap_characters=0)
TEXT = "The north valve opens at six bar. It was built in 1931.\n\nThe keeper lives by the old bridge."


def test_a_text_at_hand_can_be_searched() -> None:
    search = search_of_text("d", TEXT, WordEmbedder(), SMALL)
    (best, *_) = search.search("d", "Who lives by the bridge?")
    assert TEXT[best.chunk.start : best.chunk.end] == "The keeper lives by the old bridge."
    assert search.search(None, "valve", limit=1) == search.search("d", "valve", limit=1)
    assert search.search("other", "valve") == []
    search.close()


def test_a_query_is_embedded_once_and_an_empty_one_never() -> None:
    embedder = WordEmbedder()
    search = search_of_text("d", TEXT, embedder, SMALL)
    before = len(embedder.asked)
    for _ in range(3):
        search.search("d", "valve")
    assert search.search("d", "  ") == []
    assert embedder.asked[before:] == ["valve"]


def test_nothing_to_find_in_finds_nothing() -> None:
    embedder = WordEmbedder()
    search = search_of_text("d", " \n ", embedder, SMALL)
    assert search.search("d", "valve") == []
    search.close()
    assert Searcher(None, embedder).search(None, "valve") == []
    assert embedder.asked == []


def test_many_threads_search_at_once() -> None:
    search = search_of_text("d", TEXT * 30, WordEmbedder(), SMALL)
    queries = ["valve", "keeper", "bridge", "bar"] * 10
    alone = [search.search("d", query) for query in queries]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda query: search.search("d", query), queries)) == alone
