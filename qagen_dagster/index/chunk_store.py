"""Keeps chunks in Parquet files (shards), and loads them with DuckDB into tables in memory for searches.

`loop/index.py` decides which documents are in which shard.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from qagen_dagster.errors import StoreError
from qagen_dagster.index.ranking import Floats, Integers, bm25, both
from qagen_dagster.models.embedders import Vectors
from qagen_dagster.records.document import Chunk, ChunkHit, Ranking

SHARD_VERSION = "1"  # raise it if the columns of a shard change
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": 1,  # sums have the same order on every machine
}
_STATE = attrgetter("st_ino", "st_size", "st_mtime_ns")  # what changes when a file is written
_memory = partial(duckdb.connect, ":memory:", config=_CONFIG)

Column = NDArray[Any]
Columns = dict[str, Column]
Statement = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class EmbeddedDocument:
    """The chunks of a document, with the words and the vector of each."""

    id: str
    text_sha256: str
    chunks: tuple[Chunk, ...]
    words: tuple[Counter[int], ...]
    vectors: Vectors


def write_shard(
    target: Path, old: Path | None, keep: Collection[str], fresh: Sequence[EmbeddedDocument]
) -> None:
    """Write a shard of the fresh documents, and of the documents in `keep` from the shard `old`. The shard must have at least one chunk."""
    with _memory() as connection:
        made = any(one.chunks for one in fresh)
        if made:
            _make_rows(connection, fresh)
        if old is not None:
            connection.register("kept", {"document_id": np.array(sorted(keep), dtype=object)})
            kept = "SELECT * FROM read_parquet($1) SEMI JOIN kept USING (document_id)"
            connection.execute(f"{'INSERT INTO rows' if made else 'CREATE TABLE rows AS'} {kept}", [str(old)])
        connection.table("rows").order("document_id, number").write_parquet(str(target))  # pyright: ignore[reportUnknownMemberType]


def documents_in(shards: Sequence[Path]) -> dict[str, tuple[str, int]]:
    """The text hash and the number of chunks of each document in one or more shards. Raises StoreError when one cannot be read."""
    try:
        return dict(_documents_in(*((str(shard), *_STATE(shard.stat())) for shard in shards)))
    except (duckdb.Error, OSError) as error:
        raise StoreError(f"{', '.join(map(str, shards))} cannot be read: {_one_line(error)}") from None


@lru_cache(maxsize=64)  # sensors ask again and again
def _documents_in(*shards: tuple[str, int, int, int]) -> dict[str, tuple[str, int]]:
    statement = "SELECT document_id, any_value(text_sha256), count(*) FROM read_parquet($1) GROUP BY ALL"
    with _memory() as connection:
        found = connection.execute(statement, [[path for path, *_ in shards]]).fetchall()
    return {str(name): (str(sha256), int(count)) for name, sha256, count in found}


class ChunkTable:
    """Chunks in memory, for searches by many threads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """`connection` must have a table or view `rows` with a shard's columns. This object then owns the connection."""
        self._connection = connection
        (dimensions,) = connection.sql("SELECT len(vector) FROM rows LIMIT 1").fetchall()[0]
        connection.execute(sql("load").format(dimensions=int(dimensions)))
        names = connection.execute("SELECT document_id, document FROM documents").fetchall()
        self._numbers: dict[str, int] = {str(name): int(number) for name, number in names}
        self._names = {number: name for name, number in self._numbers.items()}
        self._dimensions = int(dimensions)

    @classmethod
    def of_shards(cls, shards: Sequence[Path]) -> "ChunkTable":
        """Read one or more shards. Raises StoreError when one cannot be read."""
        connection = _memory()
        try:
            connection.read_parquet([str(shard) for shard in shards]).create_view("rows")  # pyright: ignore[reportUnknownMemberType, reportArgumentType]
            table = cls(connection)
            connection.execute("DROP VIEW rows")
            return table
        except duckdb.Error as error:
            connection.close()
            raise StoreError(f"the search index cannot be read: {_one_line(error)}") from None

    @classmethod
    def of_documents(cls, documents: Sequence[EmbeddedDocument]) -> "ChunkTable":
        """A table of `documents`, which must have at least one chunk together."""
        connection = _memory()
        _make_rows(connection, documents)
        table = cls(connection)
        connection.execute("DROP TABLE rows")
        return table

    def close(self) -> None:
        self._connection.close()

    def holds(self, document_id: str | None) -> bool:
        """Whether the document has chunks in this table; if `document_id` is None, whether any document has chunks."""
        return document_id is None or document_id in self._numbers

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
        """The best chunks of a document, or of all documents (None). `WORDS` finds only chunks with a query word. Raises StoreError."""
        if not self.holds(document_id):
            return []
        try:
            cursor = self._connection.cursor()
            chunks = _in_order(_fetched(cursor, self._meanings(document_id, vector)))
            rows, numbers, times = self._postings(cursor, document_id, words, chunks)
        except duckdb.Error as error:
            raise StoreError(f"the search index cannot be read: {_one_line(error)}") from None
        total, shares = bm25(chunks["length"].astype(np.float64), rows, numbers, times, len(words))
        meanings = chunks["meaning"].astype(np.float64)
        columns = {Ranking.BOTH: both(meanings, shares), Ranking.MEANING: meanings, Ranking.WORDS: shares}
        order = np.argsort(-columns[ranking], kind="stable")[:limit]
        return [
            ChunkHit(
                document_id=self._names[int(chunks["document"][row])],
                chunk=_chunk(chunks, row),
                score=float(columns[Ranking.BOTH][row]),
                meaning=float(meanings[row]),
                words=float(shares[row]),
                bm25=float(total[row]),
            )
            for row in order
            if columns[ranking][row] >= threshold and (ranking is not Ranking.WORDS or shares[row] > 0)
        ]

    def chunks(self, document_id: str) -> list[Chunk]:
        """The chunks of a document in order; empty if this table has none of them. Raises StoreError."""
        if document_id not in self._numbers:
            return []
        statement = sql("chunks").format(where=self._where(document_id))
        try:
            columns = _fetched(self._connection.cursor(), (statement, {}))
        except duckdb.Error as error:
            raise StoreError(f"the search index cannot be read: {_one_line(error)}") from None
        return [_chunk(columns, row) for row in range(len(columns["number"]))]

    def _postings(
        self,
        cursor: duckdb.DuckDBPyConnection,
        document_id: str | None,
        words: Collection[int],
        chunks: Columns,
    ) -> tuple[Integers, Integers, Floats]:
        """For each word of the query in each chunk: the chunk's place in `chunks`, the word, and its number of occurrences there."""
        found = _fetched(cursor, self._words(document_id, words))
        places = _place(chunks["document"], chunks["number"])
        rows = np.searchsorted(places, _place(found["document"], found["number"]))
        return rows.astype(np.int64), found["word"].astype(np.int64), found["times"].astype(np.float64)

    def _meanings(self, document_id: str | None, vector: Vectors) -> Statement:
        text = sql("meanings").format(where=self._where(document_id), dimensions=self._dimensions)
        return text, {"vector": vector.tolist()}

    def _words(self, document_id: str | None, words: Collection[int]) -> Statement:
        wanted = ", ".join(f"{word:d}" for word in sorted(words)) or "NULL"
        return sql("words").format(where=self._where(document_id), words=wanted), {}

    def _where(self, document_id: str | None) -> str:
        """The filter on one document. Its number is safe to insert, and a literal lets the planner estimate the rows."""
        return "" if document_id is None else f"WHERE document = {self._numbers[document_id]:d}"


def _fetched(cursor: duckdb.DuckDBPyConnection, statement: Statement) -> Columns:
    return cast("Columns", cursor.execute(*statement).fetchnumpy())


def _in_order(columns: Columns) -> Columns:
    order = np.argsort(_place(columns["document"], columns["number"]))
    return {name: column[order] for name, column in columns.items()}


def _place(documents: Column, numbers: Column) -> Column:
    """A number for each chunk. The order of the numbers is the order of the chunks."""
    return (documents.astype(np.int64) << 32) + numbers


def _chunk(columns: Columns, row: int) -> Chunk:
    renamed = {"start": "start_at", "end": "end_at"}
    return Chunk(**{field: int(columns[renamed.get(field, field)][row]) for field in Chunk.model_fields})


def _make_rows(connection: duckdb.DuckDBPyConnection, documents: Sequence[EmbeddedDocument]) -> None:
    """Create the table `rows` from fresh documents."""
    chunks = [(number, chunk) for number, document in enumerate(documents) for chunk in document.chunks]
    words = [bag for document in documents for bag in document.words]
    vectors = np.concatenate([document.vectors for document in documents if document.chunks])
    counted = [(row, word, times) for row, bag in enumerate(words) for word, times in bag.items()]
    table = np.array(counted, dtype=np.int64).reshape(-1, 3)
    arrays: dict[str, dict[str, Any]] = {
        "fresh_documents": {
            "document": np.arange(len(documents)),
            "id": np.array([document.id for document in documents], dtype=object),
            "text_sha256": np.array([document.text_sha256 for document in documents], dtype=object),
        },
        "fresh_chunks": {
            "row": np.arange(len(chunks)),
            "document": _integers(number for number, _ in chunks),
            "number": _integers(chunk.number for _, chunk in chunks),
            "start_at": _integers(chunk.start for _, chunk in chunks),
            "end_at": _integers(chunk.end for _, chunk in chunks),
            "start_line": _integers(chunk.start_line for _, chunk in chunks),
            "end_line": _integers(chunk.end_line for _, chunk in chunks),
            "length": _integers(bag.total() for bag in words),
            "vector": np.fromiter(
                vectors, dtype=object
            ),  # planning takes long with a column for each dimension
        },
        "fresh_words": {
            "row": np.ascontiguousarray(table[:, 0]),
            "word": np.ascontiguousarray(table[:, 1]),
            "times": np.ascontiguousarray(table[:, 2].astype(np.int32)),
        },
    }
    for name, columns in arrays.items():
        connection.register(name, columns)
    connection.execute(sql("fresh"))
    for name in arrays:
        connection.unregister(name)


def _integers(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, dtype=np.int32)


@cache
def sql(name: str) -> str:
    """The text of one file of `sql/`."""
    return (Path(__file__).parent / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
