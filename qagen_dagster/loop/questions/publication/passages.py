"""Cuts the text of a document into the passages that exports and relevance labels name, and finds quotes in them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from qagen_dagster.index.chunks import chunks_of
from qagen_dagster.publishing.questions.exported_set import Passage, Place
from qagen_dagster.records.corpus_config import IndexOptions
from qagen_dagster.records.document import Chunk, LineRange, joined
from qagen_dagster.records.ids import content_hash
from qagen_dagster.records.questions.results import Evidence

_PASSAGES = IndexOptions(overlap_characters=0)  # so that each sentence is in one passage only


class PassageText:
    """The text of a document as in its file (lines that were split are whole again), cut into passages."""

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
        """The place of a quote, in the words of the file; None if it has no lines or is not there."""
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
    """A hash of the text of a passage: a label belongs to a passage with the same text only."""
    return content_hash(passage.text.encode("utf-8", "surrogatepass"))[:16]


def shared_lines(one: tuple[int, int], other: tuple[int, int]) -> float:
    """The share of the lines of the shorter range that both ranges have."""
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    return max(0, shared) / (min(one[1] - one[0], other[1] - other[0]) + 1)
