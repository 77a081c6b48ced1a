"""Reads a published set for other programs: typed rows, a pandas table, the texts of its documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qagen_dagster.errors import StoreError
from qagen_dagster.ingest.files import stored_text
from qagen_dagster.records.document import CorpusIndex
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion, content_id
from qagen_dagster.store import Store

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingTypeStubs]

LATEST = "latest"


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
        """A table with one row per question, and one column per field of a question. Lists and records stay as they are."""
        import pandas  # pyright: ignore[reportMissingTypeStubs]

        rows = [question.model_dump(mode="json") for question in self.questions]
        return pandas.DataFrame(rows, columns=list(PublishedQuestion.model_fields))

    def texts(self) -> dict[str, str]:
        """The present text of every document of the corpus that has one, by document id. Raises StoreError.

        The evidence of an older version of the set may name other lines than the present ones.
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
