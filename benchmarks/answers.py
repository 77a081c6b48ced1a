"""Short answers from one document: exact match and token F1, in the form of SQuAD, beside whole sentences as answers.

    python -m benchmarks.answers FOLDER [--every N] [--thresholds]   # FOLDER of QAGEN_REAL_DATA

Each paragraph is a document; a question is asked of its own, and half of them once more of another. The whole way is
measured: chunks, threshold, embedded reader. The reader's weights are fitted here, five times, each time without the articles
that they then answer from (see `short/`); the shipped weights have seen them all, so they prove nothing here.
`--every N`: of XQuAD's questions only each N-th. `--thresholds`: instead, what different values of
`similarity_threshold` let through where whole articles are documents. Exact match and F1 are those of Rajpurkar et al. 2016: case, punctuation and articles do not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, quantiles

from benchmarks.short.calibrate import Crossed
from benchmarks.short.sets import XQUAD, Example, elsewhere, xquad
from qagen_dagster.agents.answering import Excerpt, SubmittedAnswer, answer_from_excerpts
from qagen_dagster.answering.answer_from_document import retrieve
from qagen_dagster.english.sentences import split
from qagen_dagster.index.search import ChunkSource
from qagen_dagster.models.embedded.answering.choose import Weights, bare, overlap
from qagen_dagster.models.embedded.answering.reader import read
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.embedders import EmbedderSpec, LocalEmbedder
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.answer import ChunkContext
from qagen_dagster.records.corpus_options import AnsweringOptions
from qagen_dagster.records.index_options import IndexOptions

LEAST_F1 = 0.50
_ALL = 100  # more chunks than an article has


@dataclass(frozen=True)
class Said:
    """What came back, the cosine of the best chunk, and the seconds it took."""

    answer: str
    answerable: bool
    cosine: float
    seconds: float


class Answerer:
    """The whole way to an answer, with weights of the reader's own."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self._chunks, self._usual = ChunkSource(embedder, IndexOptions()), AnsweringOptions()

    def ask(self, fitted: Weights, document: str, text: str, question: str) -> Said:
        began = time.perf_counter()
        usual = self._usual
        got = retrieve(self._chunks, document, text, question, usual.max_chunks, usual.similarity_threshold)
        shown = [Excerpt(chunk.chunk_no, chunk.start_line, chunk.text) for chunk in got.chunks]
        spec = ModelSpec(provider="embedded", model="reader")
        model = LocalModel(EmbeddedProvider(spec, partial(read, fitted=fitted)))
        run = answer_from_excerpts(model, question, None, shown, document_id=document)
        cosine = max(chunk.score for chunk in got.chunks)
        submitted = run.submitted or SubmittedAnswer(answer="", answerable=False, confidence=0.0)
        return Said(submitted.answer, submitted.answerable, cosine, time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--thresholds", action="store_true")
    given = parser.parse_args()
    known = list(xquad(given.folder / XQUAD))
    asked = known[:: given.every]
    return tell_thresholds(asked) if given.thresholds else tell_answers(Crossed(given.folder, known), asked)


def tell_answers(crossed: Crossed, asked: Sequence[Example]) -> int:
    embedder = LocalEmbedder(EmbedderSpec())
    answerer = Answerer(embedder)
    said = [answerer.ask(crossed.of(one), one.document, one.text, one.question) for one in asked]
    reached = fmean(f1(mine.answer, one) for mine, one in zip(said, asked, strict=True))
    exact = fmean(bare(mine.answer) == bare(one.answer) for mine, one in zip(said, asked, strict=True))
    nearest, repeated, oracle = sentences(embedder, asked)
    print(f"{len(asked)} questions of {len({one.document for one in asked})} documents    exact     F1")
    print(f"embedded:reader                     {exact:7.3f} {reached:6.3f}  (F1 at least {LEAST_F1})")
    print(f"the sentence most similar                   {nearest:6.3f}")
    print(f"the sentence with most of the words         {repeated:6.3f}")
    print(f"the best sentence, could one know it        {oracle:6.3f}")
    pairs = sorted(elsewhere(asked), key=lambda pair: pair[1].document)  # each document is embedded once
    strange = [answerer.ask(crossed.of(one), two.document, two.text, one.question) for one, two in pairs]
    same = [mine for mine, (one, two) in zip(strange, pairs, strict=True) if one.group == two.group]
    others = [mine for mine, (one, two) in zip(strange, pairs, strict=True) if one.group != two.group]
    _tell_refusals(asked, said, others, same)
    _tell_the_rest(said, others)
    return 0 if reached >= max(LEAST_F1, oracle) else 1


def tell_thresholds(asked: Sequence[Example]) -> int:
    """What a similarity threshold keeps and what it leaves out; the reader is not asked."""
    articles: dict[str, dict[str, str]] = {}
    for one in asked:
        articles.setdefault(one.group, {})[one.document] = one.text
    texts = {group: "\n\n".join(paragraphs.values()) for group, paragraphs in articles.items()}
    chunks, most = ChunkSource(LocalEmbedder(EmbedderSpec()), IndexOptions()), AnsweringOptions().max_chunks
    print(
        f"{len(asked)} questions; articles of {fmean(map(len, texts.values())):.0f} characters as documents"
    )
    print("           of its own article                        of another article")
    print("threshold  answer shown  chunks shown  none reached  none reached")
    own = [retrieve(chunks, one.group, texts[one.group], one.question, _ALL, -1.0).chunks for one in asked]
    far = [(one.question, _elsewhere(one, texts)) for one in asked]
    strange = [retrieve(chunks, group, texts[group], question, _ALL, -1.0).chunks for question, group in far]
    for threshold in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        shown = [_kept(found, threshold) for found in own]
        held = fmean(
            _holds((kept or found)[:most], one) for kept, found, one in zip(shown, own, asked, strict=True)
        )
        count = fmean(len((kept or found)[:most]) for kept, found in zip(shown, own, strict=True))
        missed = fmean(not kept for kept in shown)
        none = fmean(not _kept(found, threshold) for found in strange)
        print(f"{threshold:9.1f} {held:13.3f} {count:13.2f} {missed:13.3f} {none:13.3f}")
    return 0


def _kept(chunks: Sequence[ChunkContext], threshold: float) -> list[ChunkContext]:
    return [chunk for chunk in chunks if chunk.score >= threshold]


def _holds(chunks: Sequence[ChunkContext], one: Example) -> bool:
    """Whether the answer is shown with some of the words around it."""
    around = one.text[max(0, one.start - 20) : one.start + len(one.answer) + 20].strip()
    return any(around in chunk.text for chunk in chunks)


def _elsewhere(one: Example, texts: dict[str, str]) -> str:
    names = list(texts)
    return names[(names.index(one.group) + 7) % len(names)]


def _tell_refusals(
    asked: Sequence[Example], said: Sequence[Said], others: Sequence[Said], same: Sequence[Said]
) -> None:
    own = fmean(mine.answerable for mine in said)
    right = [f1(mine.answer, one) >= 0.5 for mine, one in zip(said, asked, strict=True) if mine.answerable]
    print(f"\nanswered of its own document {own:.3f}, of these with an F1 of 0.5 or more {fmean(right):.3f}")
    print(f"answered of another article  {fmean(one.answerable for one in others):.3f}")
    print(f"answered of another paragraph of the article {fmean(one.answerable for one in same):.3f}")


def _tell_the_rest(said: Sequence[Said], others: Sequence[Said]) -> None:
    print("\ncosine of the best chunk    1 %   5 %  10 %  50 %  90 %")
    for name, values in (("own document", said), ("another article", others)):
        print(f"{name:24}", *(f"{cut:5.2f}" for cut in _cuts([one.cosine for one in values])))
    seconds = sorted(one.seconds for one in said)
    print(
        f"seconds per question: median {seconds[len(seconds) // 2]:.2f}, 95 % within {seconds[int(0.95 * len(seconds))]:.2f}"
    )


def sentences(embedder: LocalEmbedder, asked: Sequence[Example]) -> tuple[float, float, float]:
    """F1 of whole sentences: the most similar one, the one with most words of the question, the best there is."""
    rows: list[tuple[float, float, float]] = []
    for one in asked:
        pieces = [sentence.text for sentence in split(one.text)]
        cosines = embedder.passages(pieces) @ embedder.query(one.question)
        question = set(bare(one.question))
        repeated = max(pieces, key=lambda piece: len(question & set(bare(piece))))
        scores = [f1(piece, one) for piece in pieces]
        rows.append((scores[int(cosines.argmax())], f1(repeated, one), max(scores)))
    return fmean(row[0] for row in rows), fmean(row[1] for row in rows), fmean(row[2] for row in rows)


def f1(said: str, one: Example) -> float:
    return overlap(Counter(bare(said)), Counter(bare(one.answer)))


def _cuts(values: Sequence[float]) -> list[float]:
    cuts = quantiles(values, n=100)
    return [cuts[at - 1] for at in (1, 5, 10, 50, 90)]


if __name__ == "__main__":
    sys.exit(main())
