"""Chunks in DuckDB: shards as Parquet files, and the tables in memory that a search reads.

The only place with DuckDB beside the catalog. What does not belong here: which documents go into which shard (`loop/index.py`),
what a query is made of (`search.py`). The weight of the two methods was not tuned; `benchmarks/answering.py` prints what it gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from qagen_dagster.errors import StoreError
from qagen_dagster.models.embedder import Vectors
from qagen_dagster.records.index import Chunk, ChunkHit, Ranking

SHARD_VERSION = "1"  # raised when the columns of a shard change
MEANING_WEIGHT = 0.5  # of the cosine; the rest is the words'
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": 1,  # the same sums in the same order, whatever the machine
}


@dataclass(frozen=True)
class EmbeddedDocument:
    """A document's chunks with their words and vectors, one of each per chunk."""

    id: str
    text_sha256: str
    chunks: tuple[Chunk, ...]
    words: tuple[Counter[int], ...]
    vectors: Vectors


def write_shard(
    target: Path, old: Path | None, keep: Collection[str], fresh: Sequence[EmbeddedDocument]
) -> None:
    """Write a shard: of `old` the documents named in `keep`, and the fresh ones. At least one chunk must be there."""
    with _memory() as connection:
        made = any(one.chunks for one in fresh)
        if made:
            _make_rows(connection, fresh)
        if old is not None:
            connection.register("kept", {"document_id": np.array(sorted(keep), dtype=object)})
            kept = "SELECT * FROM read_parquet($1) SEMI JOIN kept USING (document_id)"
            connection.execute(f"{'INSERT INTO rows' if made else 'CREATE TABLE rows AS'} {kept}", [str(old)])
        connection.table("rows").order("document_id, number").write_parquet(str(target))  # pyright: ignore[reportUnknownMemberType]


def documents_in(shard: Path) -> dict[str, tuple[str, int]]:
    """Hash of the text and number of chunks of each document of a shard. Raises StoreError when it cannot be read."""
    with _memory() as connection:
        try:
            found = connection.execute(
                "SELECT document_id, any_value(text_sha256), count(*) FROM read_parquet($1) GROUP BY ALL",
                [str(shard)],
            ).fetchall()
        except duckdb.Error as error:
            raise StoreError(f"{shard} cannot be read: {_one_line(error)}") from None
    return {str(name): (str(sha256), int(count)) for name, sha256, count in found}


class ChunkTable:
    """Chunks in memory, ready to be searched by many threads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, dimensions: int) -> None:
        """`connection` has the table or view `rows` of a shard's columns, and is this table's from now on."""
        self._connection = connection
        connection.execute(sql("load").format(dimensions=dimensions))
        names = connection.execute("SELECT document_id, document FROM documents").fetchall()
        self._numbers: dict[str, int] = {str(name): int(number) for name, number in names}
        self._names = {number: name for name, number in self._numbers.items()}
        self._dimensions = dimensions

    @classmethod
    def of_shards(cls, shards: Sequence[Path], dimensions: int) -> ChunkTable:
        """Read shards, at least one. Raises StoreError when that cannot be done."""
        connection = duckdb.connect(":memory:", config=_CONFIG)
        files = [str(shard) for shard in shards]
        try:
            connection.read_parquet(files).create_view("rows")  # pyright: ignore[reportUnknownMemberType, reportArgumentType]
            table = cls(connection, dimensions)
            connection.execute("DROP VIEW rows")
            return table
        except duckdb.Error as error:
            connection.close()
            raise StoreError(f"the search index cannot be read: {_one_line(error)}") from None

    @classmethod
    def of_documents(cls, documents: Sequence[EmbeddedDocument]) -> ChunkTable:
        """Of documents at hand, with at least one chunk."""
        connection = duckdb.connect(":memory:", config=_CONFIG)
        _make_rows(connection, documents)
        table = cls(connection, documents[0].vectors.shape[1])
        connection.execute("DROP TABLE rows")
        return table

    def close(self) -> None:
        self._connection.close()

    def search(
        self,
        document_id: str | None,
        words: Collection[int],
        vector: Vectors,
        *,
        limit: int,
        threshold: float,
        ranking: Ranking,
    ) -> list[ChunkHit]:
        """The best chunks of one document, or of all where it is None; none of a document that is not there."""
        if document_id is not None and document_id not in self._numbers:
            return []
        cursor = self._connection.cursor()
        statement, values = self._statement(document_id, words, vector, limit, threshold, ranking)
        found = cursor.execute(statement, values).fetchall()
        return [
            ChunkHit(
                document_id=self._names[row[0]],
                chunk=Chunk(number=row[1], start=row[6], end=row[7], start_line=row[8], end_line=row[9]),
                score=row[2],
                meaning=row[3],
                words=row[4],
                bm25=row[5],
            )
            for row in found
        ]

    def plan(self, document_id: str | None, words: Collection[int], vector: Vectors) -> str:
        """How DuckDB would run such a search, as it tells it."""
        statement, values = self._statement(document_id, words, vector, 5, 0.0, Ranking.BOTH)
        rows = self._connection.cursor().execute(f"EXPLAIN {statement}", values).fetchall()
        return "\n".join(str(row[1]) for row in rows)

    def _statement(
        self,
        document_id: str | None,
        words: Collection[int],
        vector: Vectors,
        limit: int,
        threshold: float,
        ranking: Ranking,
    ) -> tuple[str, dict[str, Any]]:
        # The number is ours; as a literal the planner sees how few rows it means.
        where = "" if document_id is None else f"WHERE document = {self._numbers[document_id]:d}"
        statement = sql("search").format(
            where=where,
            and_="AND" if where else "WHERE",
            dimensions=self._dimensions,
            weight=MEANING_WEIGHT,
            by=ranking.value,
        )
        values = {
            "words": sorted(words),
            "vector": vector.tolist(),
            "threshold": threshold,
            "most": limit,
        }
        return statement, values


def _make_rows(connection: duckdb.DuckDBPyConnection, documents: Sequence[EmbeddedDocument]) -> None:
    """Create the table `rows` of fresh documents."""
    chunks = [(number, chunk) for number, one in enumerate(documents) for chunk in one.chunks]
    words = [bag for one in documents for bag in one.words]
    vectors = np.concatenate([one.vectors for one in documents if one.chunks])
    rows = np.arange(len(chunks))
    counted = [(row, word, times) for row, bag in enumerate(words) for word, times in bag.items()]
    table = np.array(counted, dtype=np.int64).reshape(-1, 3)
    arrays: dict[str, dict[str, Any]] = {
        "fresh_documents": {
            "document": np.arange(len(documents)),
            "id": np.array([one.id for one in documents], dtype=object),
            "text_sha256": np.array([one.text_sha256 for one in documents], dtype=object),
        },
        "fresh_chunks": {
            "row": rows,
            "document": _integers(number for number, _ in chunks),
            "number": _integers(chunk.number for _, chunk in chunks),
            "start_at": _integers(chunk.start for _, chunk in chunks),
            "end_at": _integers(chunk.end for _, chunk in chunks),
            "start_line": _integers(chunk.start_line for _, chunk in chunks),
            "end_line": _integers(chunk.end_line for _, chunk in chunks),
            "length": _integers(bag.total() for bag in words),
        },
        "fresh_words": {
            "row": np.ascontiguousarray(table[:, 0]),
            "word": np.ascontiguousarray(table[:, 1]),
            "times": np.ascontiguousarray(table[:, 2].astype(np.int32)),
        },
        "fresh_vectors": {
            "row": rows,
            **{f"c{n}": np.ascontiguousarray(vectors[:, n]) for n in range(vectors.shape[1])},
        },
    }
    for name, columns in arrays.items():
        connection.register(name, columns)
    names = ", ".join(f"c{n}" for n in range(vectors.shape[1]))
    connection.execute(sql("fresh").format(columns=names))
    for name in arrays:
        connection.unregister(name)


def _integers(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, dtype=np.int32)


@contextmanager
def _memory() -> Generator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config=_CONFIG) as connection:
        yield connection


@cache
def sql(name: str) -> str:
    """A statement of this package, by its file's name."""
    return (Path(__file__).parent / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
