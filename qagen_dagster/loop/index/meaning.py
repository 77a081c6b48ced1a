"""Search by meaning for the agents of one op, where the scenario wants it: in the corpus' index, else embedded on the spot.

What belongs here: which index may be used. What does not: searching (`index/`), and how agents are shown what is found (`toolkit/`).
"""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.answering.chunk_source import ChunkSource, Indexed
from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.errors import ModelError, StoreError
from qagen_dagster.index.embed import index_fingerprint
from qagen_dagster.loop.index.build import embedder_of, open_index
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Toll
from qagen_dagster.records.index import ChunkHit, SearchIndex
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.search_meaning import Meaning


class Meanings:
    """Finds passages in documents of one corpus, by the profile's embedder. Safe for many threads.

    What is found does not depend on whether there is an index: one by another embedder or another chunking is left alone, and a
    document that it does not hold is embedded when it is first searched.
    """

    def __init__(self, space: Workspace, corpus: Corpus, profile: Profile, toll: Toll | None = None) -> None:
        """`toll` allows and counts what is paid for embeddings. Raises ConfigError when the embedder cannot be built."""
        options = corpus.config.index
        index = _indexed(space, corpus.key, index_fingerprint(profile.embedder, options), toll)
        self._chunks = ChunkSource(embedder_of(space, profile.embedder, toll=toll), options, index)

    def of(self, view: DocumentView) -> Meaning:
        """The search in one document."""
        text = "\n".join(view.lines)

        def find(query: str, most: int) -> Sequence[ChunkHit]:
            try:
                return self._chunks.searcher(view.document.id, text).search(view.document.id, query, most)
            except StoreError as error:
                raise ModelError(str(error)) from None

        return find


def _indexed(space: Workspace, corpus: str, wanted: str, toll: Toll | None) -> Indexed | None:
    known = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if known is None or known.fingerprint != wanted:
        return None
    try:
        opened = open_index(space, corpus, toll)
    except StoreError:  # incomplete: what it lacks is embedded on the spot
        return None
    texts = {one.id: one.text_sha256 for one in opened.index.documents if one.failure is None}
    return Indexed(opened.searcher, texts)
