"""Retrieval over paragraphs with questions, in the form of SQuAD: how often the right paragraph is among the first.

    python -m benchmarks.answering FILE   # a SQuAD-like JSON file: data[].paragraphs[].{context, qas[]}

Each paragraph is a document; a question is asked of all of them. BM25, embedding and the sum of both beside each other,
and for comparison reciprocal rank fusion of the two (Cormack, Clarke & Büttcher, SIGIR 2009).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from qagen_dagster.index.chunk_store import ChunkTable
from qagen_dagster.index.search import Searcher, embed_document
from qagen_dagster.models.embedders import EmbedderSpec, LocalEmbedder
from qagen_dagster.records.document import ChunkHit, Ranking
from qagen_dagster.records.index_options import IndexOptions

LEAST_AT_5 = 0.95
_RRF = 60  # the constant of reciprocal rank fusion
_DEPTH = 50  # chunks looked at; paragraphs have few


@dataclass(frozen=True)
class Asked:
    """A question and the document that answers it."""

    text: str
    document: str


def main() -> int:
    if len(sys.argv) != 2:
        sys.stdout.write(__doc__ or "")
        return 2
    documents, questions = read(Path(sys.argv[1]))
    began = time.perf_counter()
    search = make_search(documents)
    print(
        f"{len(documents)} documents, {len(questions)} questions; index in {time.perf_counter() - began:.1f} s"
    )
    began = time.perf_counter()
    ranked = [rankings(search, asked.text) for asked in questions]
    print(f"{(time.perf_counter() - began) / len(questions) * 1e3:.1f} ms per question, four rankings\n")
    print(f"{'ranking':12} {'recall@1':>9} {'recall@5':>9} {'MRR':>7}")
    reached = 0.0
    for name in ranked[0]:
        places = [place_of(asked.document, one[name]) for asked, one in zip(questions, ranked, strict=True)]
        at = {k: sum(place <= k for place in places) / len(places) for k in (1, 5)}
        mrr = sum(1 / place for place in places) / len(places)
        print(f"{name:12} {at[1]:9.3f} {at[5]:9.3f} {mrr:7.3f}")
        reached = at[5] if name == "fused" else reached
    print(f"fused recall@5 {reached:.3f} (at least {LEAST_AT_5})")
    return 0 if reached >= LEAST_AT_5 else 1


def read(file: Path) -> tuple[dict[str, str], list[Asked]]:
    """Paragraphs by name, and the questions about them."""
    data: Any = json.loads(file.read_text(encoding="utf-8"))["data"]
    documents: dict[str, str] = {}
    questions: list[Asked] = []
    for paragraph in (one for article in data for one in article["paragraphs"]):
        name = f"p{len(documents)}"
        documents[name] = paragraph["context"]
        questions += [Asked(one["question"], name) for one in paragraph["qas"]]
    return documents, questions


def make_search(documents: dict[str, str]) -> Searcher:
    embedder = LocalEmbedder(EmbedderSpec())
    made = [embed_document(name, text, "", IndexOptions(), embedder) for name, text in documents.items()]
    return Searcher(ChunkTable.of_documents(made), embedder)


def rankings(search: Searcher, query: str) -> dict[str, list[str]]:
    """Documents, best first, by each method."""
    by = {ranking: search.search(None, query, _DEPTH, -1.0, ranking) for ranking in Ranking}
    return {
        "BM25": _documents(by[Ranking.WORDS]),
        "embedding": _documents(by[Ranking.MEANING]),
        "fused": _documents(by[Ranking.BOTH]),
        "rank fusion": _fused(by[Ranking.WORDS], by[Ranking.MEANING]),
    }


def place_of(document: str, ranked: Sequence[str]) -> float:
    """1 is the first; infinite where it is not found."""
    return ranked.index(document) + 1 if document in ranked else float("inf")


def _documents(hits: Iterable[ChunkHit]) -> list[str]:
    return list(dict.fromkeys(hit.document_id for hit in hits))


def _fused(*methods: Sequence[ChunkHit]) -> list[str]:
    score: dict[tuple[str, int], float] = {}
    for hits in methods:
        for place, hit in enumerate(islice(hits, _DEPTH), 1):
            key = (hit.document_id, hit.chunk.number)
            score[key] = score.get(key, 0.0) + 1 / (_RRF + place)
    return list(dict.fromkeys(document for document, _ in sorted(score, key=lambda key: -score[key])))


if __name__ == "__main__":
    sys.exit(main())
