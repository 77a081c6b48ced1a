"""Short answers from one document: exact match and token F1, in the form of SQuAD, beside whole sentences as answers.

    python -m benchmarks.answers FILE [every]   # a SQuAD-like JSON file; of its questions only each `every`-th

Each paragraph is a document; a question is asked of its own. The whole way is measured: chunks, threshold, embedded reader.
Exact match and F1 are those of Rajpurkar et al. 2016: case, punctuation and articles do not count.
"""

from __future__ import annotations

import json
import re
import string
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from qagen_dagster.agents.document_answer import Excerpt, answer_from_excerpts
from qagen_dagster.answering.chunk_source import ChunkSource
from qagen_dagster.answering.retrieve import retrieve
from qagen_dagster.index.sentences import split
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.embedder import EmbedderSpec
from qagen_dagster.models.embedder_local import LocalEmbedder
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.records.answer_options import AnsweringOptions
from qagen_dagster.records.corpus import IndexOptions

LEAST_F1 = 0.50
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Asked:
    document: str
    text: str
    question: str
    answers: tuple[str, ...]


def main() -> int:
    if len(sys.argv) not in (2, 3):
        sys.stdout.write(__doc__ or "")
        return 2
    asked = list(read(Path(sys.argv[1])))[:: int(sys.argv[2]) if len(sys.argv) == 3 else 1]
    embedder = LocalEmbedder(EmbedderSpec())
    chunks, usual = ChunkSource(embedder, IndexOptions()), AnsweringOptions()
    model = LocalModel(EmbeddedProvider(ModelSpec(provider="embedded", model="reader")))
    said: list[str] = []
    cosines: list[float] = []
    sentences: list[tuple[str, list[str]]] = []
    for one in asked:
        got = retrieve(
            chunks, one.document, one.text, one.question, usual.max_chunks, usual.similarity_threshold
        )
        shown = [Excerpt(chunk.chunk_no, chunk.start_line, chunk.text) for chunk in got.chunks]
        run = answer_from_excerpts(model, one.question, None, shown, document_id=one.document)
        said.append("" if run.submitted is None else run.submitted.answer)
        cosines.append(max(chunk.score for chunk in got.chunks))
        pieces = [sentence.text for sentence in split(one.text)]
        scores = embedder.passages(pieces) @ embedder.query(one.question)
        sentences.append((pieces[int(scores.argmax())], pieces))
    reached = fmean(best(f1, mine, one) for mine, one in zip(said, asked, strict=True))
    exact = fmean(best(same, mine, one) for mine, one in zip(said, asked, strict=True))
    nearest = fmean(best(f1, top, one) for (top, _), one in zip(sentences, asked, strict=True))
    oracle = fmean(
        max(best(f1, piece, one) for piece in pieces)
        for (_, pieces), one in zip(sentences, asked, strict=True)
    )
    print(f"{len(asked)} questions        exact     F1")
    print(f"embedded:reader     {exact:7.3f} {reached:6.3f}  (F1 at least {LEAST_F1})")
    print(f"most similar sentence       {nearest:6.3f}")
    print(f"the best sentence there is  {oracle:6.3f}")
    print("cosine of the best chunk, 1st 5th 10th 50th percentile:", *_percentiles(cosines))
    return 0 if reached >= max(LEAST_F1, nearest) else 1


def read(file: Path) -> Iterator[Asked]:
    """The questions with their paragraphs."""
    data: Any = json.loads(file.read_text(encoding="utf-8"))["data"]
    paragraphs = (one for article in data for one in article["paragraphs"])
    for number, paragraph in enumerate(paragraphs):
        for one in paragraph["qas"]:
            answers = tuple(answer["text"] for answer in one["answers"])
            yield Asked(f"p{number}", paragraph["context"], one["question"], answers)


def best(measure: Any, said: str, one: Asked) -> float:
    return max(float(measure(said, answer)) for answer in one.answers)


def same(said: str, answer: str) -> bool:
    return words(said) == words(answer)


def f1(said: str, answer: str) -> float:
    mine, right = Counter(words(said)), Counter(words(answer))
    common = sum((mine & right).values())
    return 2 * common / (mine.total() + right.total()) if common else 0.0


def words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _percentiles(values: list[float]) -> list[str]:
    cuts = quantiles(values, n=100)
    return [f"{cuts[at - 1]:.2f}" for at in (1, 5, 10, 50)]


if __name__ == "__main__":
    sys.exit(main())
