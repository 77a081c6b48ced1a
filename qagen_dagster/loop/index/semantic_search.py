"""Semantic search for agents. It uses the index of the corpus, and embeds documents that are not in it when they are searched."""

from collections.abc import Sequence

from qagen_dagster.answering.chunk_source import ChunkSource, Indexed
from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.errors import ModelError, StoreError
from qagen_dagster.index.search import index_fingerprint
from qagen_dagster.loop.index.build import embedder_of, open_index
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Meter
from qagen_dagster.records.document import ChunkHit, SearchIndex
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.search_passages import Meaning


class SemanticSearch:
    """Finds passages in documents of one corpus with the embedder of the profile. Thread-safe.

    The results are the same with and without an index: an index with another embedder or chunking is not used, and a document that is
    not in the index is embedded when it is first searched.
    """

    def __init__(
        self, space: Workspace, corpus: Corpus, profile: Profile, meter: Meter | None = None
    ) -> None:
        """`meter` checks the budget of embeddings and records their cost. Raises ConfigError if the embedder cannot be built."""
        options = corpus.config.index
        index = _indexed(space, corpus.key, index_fingerprint(profile.embedder, options), meter)
        self._chunks = ChunkSource(embedder_of(space, profile.embedder, meter=meter), options, index)

    def of(self, view: DocumentView) -> Meaning:
        """A function that searches in one document."""
        text = "\n".join(view.lines)

        def find(query: str, most: int) -> Sequence[ChunkHit]:
            try:
                return self._chunks.searcher(view.document.id, text).search(view.document.id, query, most)
            except StoreError as error:
                raise ModelError(str(error)) from None

        return find


def _indexed(space: Workspace, corpus: str, wanted: str, meter: Meter | None) -> Indexed | None:
    known = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if known is None or known.fingerprint != wanted:
        return None
    try:
        opened = open_index(space, corpus, meter)
    except StoreError:  # the index is incomplete: all documents are embedded when they are searched
        return None
    return Indexed(opened.searcher, opened.index.texts)
