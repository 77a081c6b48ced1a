"""The options of the search index, with the default sizes of chunks."""

from typing import Annotated

from pydantic import Field, model_validator

from qagen_dagster.records.base import Record


class IndexOptions(Record):
    """The options for cutting the documents of a corpus into chunks for search. After a change the search index is rebuilt.

    Attributes:
        chunk_characters: the maximum length of a chunk, which has as many whole sentences as fit.
        overlap_characters: the maximum length of the sentences of a chunk that the next chunk repeats.
    """

    chunk_characters: Annotated[int, Field(ge=50, le=100_000)] = 800
    overlap_characters: Annotated[int, Field(ge=0)] = 150

    @model_validator(mode="after")
    def _goes_on(self) -> "IndexOptions":
        if self.overlap_characters * 2 > self.chunk_characters:
            raise ValueError("overlap_characters must be at most half of chunk_characters")
        return self
