"""Finds the passages of a corpus that are likeliest to answer a question: by words, by meaning, and by its names and numbers."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from qagen_dagster.agents.answering.answerer import Excerpt
from qagen_dagster.english.words import content_stems
from qagen_dagster.errors import BudgetExhaustedError, ModelError, StoreError
from qagen_dagster.ingest.files import stored_text
from qagen_dagster.loop.index.build import build_index, open_index
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Meter
from qagen_dagster.records.document import ChunkHit, Document, IndexEntry, LineRange, Ranking, merged_lines

DOCUMENTS, PASSAGES = 5, 4  # other documents that are asked for an answer, and passages of each
WHOLE = 4_000  # characters; a document that is not longer is shown whole
_DEPTH = 40  # chunks of each ranking that are looked at
_KEY_WORDS = re.compile(r"\b(?:\w*\d[\w.,:/-]*|[^\W\d_a-z]\w+)", re.UNICODE)
_KEPT_TEXTS = 64


@dataclass(frozen=True)
class DocumentPassages:
    """Passages of one document, each as its lines."""

    document_id: str
    title: str
    spans: tuple[LineRange, ...]
    lines: tuple[str, ...]  # all lines of the document

    def may_answer(self, question: str) -> bool:
        """Whether its text has a name or a number of the question, or the question has none."""
        names = {*content_stems(" ".join(_KEY_WORDS.findall(question)))}
        return not names or bool(names & {*content_stems("\n".join((self.title, *self.lines)))})

    def excerpts(self, first: int = 1) -> list[Excerpt]:
        """The passages as excerpts with numbers from `first`."""
        return [
            Excerpt(
                number, one.start_line, "\n".join(self.lines[one.start_line - 1 : one.end_line]), self.title
            )
            for number, one in enumerate(self.spans, first)
        ]


class CorpusPassages:
    """A search in all usable documents of a corpus. Thread-safe."""

    def __init__(self, space: Workspace, corpus: str, profile: str, meter: Meter | None = None) -> None:
        """Bring the search index up to date. Raises ConfigError, StoreError, and ModelError if a document is not in it."""
        self._space, self._corpus = space, corpus
        build = build_index(space, corpus, profile, meter=meter)
        lost = [one for one in build.index.documents if one.failure]
        if lost:
            why = (
                f"{len(lost)} documents are not in the search index, such as {lost[0].id}: {lost[0].failure}"
            )
            raise (BudgetExhaustedError if "budget" in (lost[0].failure or "") else ModelError)(why)
        self._entries = {one.id: one for one in space.index(corpus).documents}
        self.documents = tuple(one.id for one in build.index.documents)
        self._search = open_index(space, corpus, meter).searcher
        self._lines = lru_cache(_KEPT_TEXTS)(self._read)

    def best(self, question: str, own: str, passages: int = PASSAGES) -> list[DocumentPassages]:
        """The likeliest passages, first of the document `own`, then of at most DOCUMENTS others, the likeliest first.

        Raises ModelError.
        """
        names = " ".join(_KEY_WORDS.findall(question))
        queries = [(question, one) for one in Ranking] + ([(names, Ranking.WORDS)] if names else [])
        scores: defaultdict[str, float] = defaultdict(float)
        for query, ranking in queries:
            hits = self._hits(None, query, _DEPTH, ranking)
            for rank, name in enumerate(dict.fromkeys(hit.document_id for hit in hits), 1):
                scores[name] += 1 / rank
        others = sorted((name for name in scores if name != own), key=lambda name: (-scores[name], name))
        chosen = [own, *others[:DOCUMENTS]] if own in self.documents else others[:DOCUMENTS]
        return [self._passages(name, question, names, passages) for name in chosen]

    def about(self, name: str, query: str) -> DocumentPassages:
        """The likeliest passages of one document. Raises ModelError."""
        return self._passages(name, query, query, PASSAGES)

    def holding(self, name: str, most: int) -> list[str]:
        """Documents with a passage that has these words as they are written, at most `most`. Raises ModelError."""
        found: dict[str, None] = {}
        for hit in self._hits(None, name, _DEPTH, Ranking.WORDS):
            lines = self.lines(hit.document_id)[hit.chunk.start_line - 1 : hit.chunk.end_line]
            if name in " ".join(" ".join(lines).split()):
                found[hit.document_id] = None
        return list(found)[:most]

    def lines(self, name: str) -> tuple[str, ...]:
        """The lines of a document."""
        return self._lines(name)[0]

    def entry(self, name: str) -> IndexEntry:
        """The line of a document in the index of the corpus."""
        return self._entries[name]

    def document(self, name: str) -> Document:
        """The record of a document. Raises StoreError."""
        return self._space.store.read(Document.key(self._corpus, name), Document)

    def _passages(self, name: str, question: str, names: str, most: int) -> DocumentPassages:
        lines, title = self._lines(name)
        if sum(map(len, lines)) <= WHOLE:
            return DocumentPassages(name, title, (LineRange(start_line=1, end_line=len(lines)),), lines)
        hits = [*self._hits(name, question, most, Ranking.BOTH)]
        hits += self._hits(name, names, max(1, most // 2), Ranking.WORDS)
        spans = merged_lines((hit.chunk.start_line, hit.chunk.end_line) for hit in hits)
        ranges = (LineRange(start_line=start, end_line=end) for start, end in spans)
        return DocumentPassages(name, title, tuple(ranges), lines)

    def _hits(self, document: str | None, query: str, most: int, ranking: Ranking) -> list[ChunkHit]:
        try:
            found = self._search.search(document, query, most, -1.0, ranking)
        except StoreError as error:
            raise ModelError(str(error)) from None
        return [hit for hit in found if ranking is not Ranking.WORDS or hit.words > 0]

    def _read(self, name: str) -> tuple[tuple[str, ...], str]:
        store = self._space.store
        document = store.read(Document.key(self._corpus, name), Document)
        text = stored_text(store, self._corpus, self._entries[name])
        return tuple(text.split("\n")), document.metadata.title or document.source
