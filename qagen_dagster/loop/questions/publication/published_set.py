"""Reads a published set for other programs: typed rows, a pandas table, the texts of its documents, and the passages that labels name."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qagen_dagster.errors import StoreError
from qagen_dagster.index.chunks import chunks_of
from qagen_dagster.ingest.corpus_files import stored_text
from qagen_dagster.publishing.questions.exported_set import Passage, Place
from qagen_dagster.records.document import Chunk, CorpusIndex, LineRange, joined
from qagen_dagster.records.ids import Combination, content_hash
from qagen_dagster.records.index_options import IndexOptions
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion, content_id
from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.store import Store

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingTypeStubs]

LATEST = "latest"
_PASSAGES = IndexOptions(overlap_characters=0)  # so that each sentence is in one passage only


@dataclass(frozen=True)
class PublishedSet:
    """The questions of one version of a combination's set. Iterating gives the questions."""

    combination: Combination
    content_id: str
    timestamp: str  # when the version was first published, ISO 8601
    questions: tuple[PublishedQuestion, ...]
    store: Store = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[PublishedQuestion]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row per question, and one column per field of a question. Lists and records are not converted."""
        import pandas  # pyright: ignore[reportMissingTypeStubs]

        rows = [question.model_dump(mode="json") for question in self.questions]
        return pandas.DataFrame(rows, columns=list(PublishedQuestion.model_fields))

    def texts(self) -> dict[str, str]:
        """The present texts of the documents of the corpus, by document id, without documents that have no text. Raises StoreError.

        The evidence of an older version of the set may name lines that have moved since.
        """
        corpus = self.combination.corpus
        index = self.store.read(CorpusIndex.key(corpus), CorpusIndex)
        return {one.id: stored_text(self.store, corpus, one) for one in index.documents if one.text_sha256}


def read_published(store: Store, combination: Combination, version: str = LATEST) -> PublishedSet:
    """The latest published set, or the version with this content id. Raises StoreError if there is none."""
    key = CorpusGenerationResult.key(combination)
    if version != LATEST:
        key = CorpusGenerationResult.version_key(combination, version, "corpus.json")
    found = store.find(key, CorpusGenerationResult)
    if found is None:
        what = "published set" if version == LATEST else f"version {version}"
        raise StoreError(f"{combination.key} has no {what}: there is no {store.path(key)}")
    return PublishedSet(combination, content_id(found.questions), found.timestamp, found.questions, store)


class PassageText:
    """The text of a document, with wrapped lines joined as in the file, and cut into passages."""

    def __init__(self, document_id: str, text: str, wrapped: Sequence[LineRange] = ()) -> None:
        self._wrapped = wrapped
        self._text, self._line_starts = joined(text.split("\n"), wrapped)
        chunks = chunks_of(self._text, _PASSAGES)
        self.passages = tuple(self._passage(document_id, chunk) for chunk in chunks)
        self._starts = [chunk.start for chunk in chunks]

    def _passage(self, document_id: str, chunk: Chunk) -> Passage:
        text = self._text[chunk.start : chunk.end]
        first, last = len(text) - len(text.lstrip()), len(text.rstrip()) - 1
        lines = (bisect_right(self._line_starts, chunk.start + at) for at in (first, last))
        return Passage(f"{document_id}#{chunk.number}", text, (next(lines), next(lines)))

    def place(self, evidence: Evidence) -> Place | None:
        """The place of a quote, in the words of the file; None if the evidence has no lines or the quote is not there."""
        if evidence.start_line is None:
            return None
        quote, _ = joined(evidence.quote.split("\n"), self._wrapped, evidence.start_line)
        start = self._text.find(quote, self._line_starts[evidence.start_line - 1])
        if start < 0:
            return None
        first = bisect_right(self._starts, start) - 1
        after = bisect_left(self._starts, start + len(quote))
        return Place(quote, start - self._starts[first], self.passages[first:after])


def hash_of(passage: Passage) -> str:
    """A hash of the text of a passage, because a label belongs only to a passage with the same text."""
    return content_hash(passage.text.encode("utf-8", "surrogatepass"))[:16]


def shared_lines(one: tuple[int, int], other: tuple[int, int]) -> float:
    """The number of lines that both ranges (first and last line) have, as a share of the shorter range."""
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    return max(0, shared) / (min(one[1] - one[0], other[1] - other[0]) + 1)
