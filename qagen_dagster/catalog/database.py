"""Builds the catalog, and opens it read-only. `sql/` defines its tables and views; `queries.py` reads them.

The comments of `comments.toml` on tables, views, macros and columns are written into the catalog, and read from it. A column without
an entry `relation.name` in `comments.toml` has the entry of its own name.

Everything in a catalog is derived from the store's records, so nothing is migrated in place: a catalog of another
version is rebuilt. DuckDB allows one writer, and a writer locks readers out. So a new catalog is written to a
separate file, which then replaces the published catalog. A finished snapshot never changes while it is open.
"""

import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, Self

import duckdb
from filelock import FileLock, Timeout
from pydantic_core import to_json

from qagen_dagster.catalog.rows import TableRow
from qagen_dagster.errors import StoreError

SCHEMA_VERSION = 14
# Tables, then views, then macros, each in the order of the alphabet.
_DICTIONARY = """
SELECT
    own.table_name,
    if(any_value(tables.table_name) IS NULL, 'view', 'table') AS kind,
    any_value(coalesce(tables.comment, views.comment)),
    list({'name': column_name, 'type': data_type, 'comment': own.comment} ORDER BY column_index)
FROM duckdb_columns() AS own
LEFT JOIN duckdb_tables() AS tables USING (table_name)
LEFT JOIN (FROM duckdb_views() WHERE NOT internal) AS views ON views.view_name = own.table_name
WHERE NOT own.internal
GROUP BY own.table_name
ORDER BY kind, own.table_name
"""
_MACROS = """
SELECT function_name || '(' || array_to_string(parameters, ', ') || ')', 'macro', comment, []
FROM duckdb_functions() WHERE function_type = 'table_macro' AND NOT internal ORDER BY 1
"""


def sql(name: str) -> str:
    """The text of one file of `sql/`."""
    return files(__package__ or "").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def version_of(connection: duckdb.DuckDBPyConnection) -> int | None:
    """The schema version of an open catalog; None if the database is not a catalog."""
    try:
        row = connection.execute("SELECT schema_version FROM catalog_info").fetchone()
    except duckdb.CatalogException:
        return None
    return None if row is None else int(row[0])


REBUILD_HINT = "`qagen run`, or materializing the asset `catalog`, makes it"
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


@contextmanager
def snapshot(path: Path) -> Generator[duckdb.DuckDBPyConnection]:
    """The published catalog, read-only. Raises StoreError when it is missing, cannot be read or has another schema version."""
    if not path.is_file():
        raise StoreError(f"there is no catalog at {path}: {REBUILD_HINT}")
    with duckdb.connect(":memory:", config=CONFIG) as connection:
        _attach(connection, path)
        found = version_of(connection)
        if found != SCHEMA_VERSION:
            raise StoreError(
                f"{path} has catalog schema {found}, this version reads {SCHEMA_VERSION}: {REBUILD_HINT} anew"
            )
        yield connection


def _attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach the file as a separate database. Raises StoreError when it cannot be read.

    `duckdb.connect(path)` shares one database per path within a process: while a reader has the old file open,
    new readers would see the old file, too.
    """
    quoted = str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS published (READ_ONLY)")
        connection.execute("USE published")
    except (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException) as error:
        raise StoreError(
            f"{path} cannot be read as a catalog ({str(error)[:120]}): {REBUILD_HINT} anew"
        ) from None


TABLES = (
    "documents", "document_versions", "sections", "visuals", "runs", "run_results", "checks", "sets", "set_questions",
    "outcomes", "candidates", "verdicts", "questions", "retired_questions", "decisions", "grades", "evaluations", "closed_book", "retrievals",
    "relevance_labels", "panel_questions", "baseline_answers", "model_calls", "exam_items", "exam_attempts", "exam_calls", "exam_statistics", "problem_items", "problem_tasks",
    "problem_calls",
)  # fmt: skip
LOCK_SECONDS = 600.0
# More threads take more memory and CPU, but not less time. Larger blocks, which DuckDB clears first, make a small catalog slow and large.
_BUILD = {**CONFIG, "threads": 1, "default_block_size": "65536"}
# The size of a file of raw rows. DuckDB reads JSON through a buffer that is as large as the file, up to 32 MB.
_PART_BYTES = 1 << 20
_RAW = re.compile(r"\braw_(\w+)")  # the raw rows that a statement reads
_REMOVED = "removed"  # accepted candidates that were removed later, with the columns of `candidates`


def rebuild(rows: Iterable[TableRow], target: Path, *, lock_seconds: float = LOCK_SECONDS) -> dict[str, int]:
    """Write a fresh catalog of `rows`, which are read once, and publish it at `target`; returns the number of rows by table.

    Builders in one or several processes take turns. Raises StoreError after waiting `lock_seconds`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=lock_seconds):
            return _rebuild(rows, target)
    except Timeout:
        raise StoreError(
            f"{target} is being built by another process, which did not end in {lock_seconds:g} s"
        ) from None


def build(rows: Iterable[TableRow], file: Path, scratch: Path) -> dict[str, int]:
    """Write a catalog to a new file, and the raw rows to the folder `scratch`. Returns the number of rows by table."""
    filled = _write_raw(rows, scratch)
    file.write_bytes(_empty())
    with duckdb.connect(file, config=_BUILD) as connection:
        small = sum(one.stat().st_size for one in scratch.glob("*.jsonl")) <= _PART_BYTES
        if small:  # choosing a compression takes longer than writing the rows
            connection.execute("SET force_compression = 'uncompressed'")
        connection.begin()  # not one commit per statement
        # Planning a statement without rows takes as long as loading a small corpus.
        load = ";\n".join(one for one in sql("load").split(";\n") if filled & {*_RAW.findall(one)})
        loads = (sql("counted_calls"), load, sql("load_history"))
        for statements in loads:
            connection.execute(
                _RAW.sub(
                    lambda found: _raw(connection, found[1], scratch if found[1] in filled else None),
                    statements,
                )
            )
            if not small:
                connection.commit()
                connection.execute("CHECKPOINT")  # until then all new rows are in memory
                connection.begin()
        connection.commit()
        counts = " UNION ALL ".join(f"FROM {table} SELECT '{table}', count(*)" for table in TABLES)
        return dict(connection.execute(counts).fetchall())


@cache
def _empty() -> bytes:
    """The bytes of a catalog without rows. A process makes them once, because the comments take as long as the rows of a small corpus."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "empty.duckdb"
        with duckdb.connect(file, config=_BUILD) as connection:
            connection.begin()
            # The version is not a parameter, because parameters make DuckDB import pandas, which takes as long as the rest.
            schema = sql("schema").replace("$version", str(SCHEMA_VERSION))
            for statements in (schema, sql("history_schema"), sql("views"), sql("history_views")):
                connection.execute(statements)
            comment(connection)
            connection.commit()
        return file.read_bytes()


def _rebuild(rows: Iterable[TableRow], target: Path) -> dict[str, int]:
    prefix = f".{target.name}.building-"
    for left_over in target.parent.glob(f"{prefix}*"):  # of a builder that was killed
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=target.parent) as folder:
        fresh = Path(folder) / target.name
        counts = build(rows, fresh, Path(folder))
        _publish(fresh, target)
    return counts


def _publish(fresh: Path, target: Path) -> None:
    """Flush `fresh` to disk and rename it to `target`."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    # Delete the write-ahead log of a program that wrote to the old catalog. DuckDB would replay it into the new catalog.
    target.with_name(f"{target.name}.wal").unlink(missing_ok=True)
    os.replace(fresh, target)
    with suppress(OSError):  # folders cannot be opened on every platform
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_raw(rows: Iterable[TableRow], scratch: Path) -> set[str]:
    """Write files of JSON lines for each table that has rows; returns these tables. DuckDB loads files far faster than single inserts."""
    out: dict[str, _Parts] = {}
    with ExitStack() as stack:
        for table, row in rows:
            if table not in out:
                out[table] = stack.enter_context(_Parts(scratch, table))
            out[table].write(to_json(row, inf_nan_mode="null") + b"\n")
    return set(out)


class _Parts:
    """The raw rows of a table, in at least one file. The names of the files sort in the order of the rows."""

    def __init__(self, scratch: Path, table: str) -> None:
        self._scratch, self._table, self._count = scratch, table, 0
        self._out = self._next()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()

    def write(self, line: bytes) -> None:
        if self._out.tell() > _PART_BYTES:
            self._out.close()
            self._out = self._next()
        self._out.write(line)

    def _next(self) -> BinaryIO:
        self._count += 1
        return (self._scratch / f"{self._table}.{self._count:09}.jsonl").open("wb")


def _raw(connection: duckdb.DuckDBPyConnection, table: str, scratch: Path | None) -> str:
    """What `raw_<table>` stands for: the files of a table, or no rows. It has the columns of the table and `result_id`."""
    model = "candidates" if table == _REMOVED else table
    if scratch is None:
        return f"(FROM {model} SELECT *, NULL::BIGINT AS result_id WHERE false)"
    shape = connection.table(model)
    columns = {**dict(zip(shape.columns, map(str, shape.types), strict=True)), "result_id": "BIGINT"}
    place = str(scratch / f"{table}.*.jsonl").replace("'", "''")
    return f"read_json('{place}', format = 'newline_delimited', columns = {columns})"


def dictionary(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Everything that a reader of the catalog can select from, by name: its `name`, `kind`, `comment` and `columns`.

    Each column has a `name`, a `type` and a `comment`. A macro has its parameters in its name, and no columns.
    """
    rows = [row for statement in (_DICTIONARY, _MACROS) for row in connection.execute(statement).fetchall()]
    parts = ("name", "kind", "comment", "columns")
    return {row[0].partition("(")[0]: dict(zip(parts, row, strict=True)) for row in rows}


@cache
def texts() -> dict[str, dict[str, str]]:
    """The entries of `comments.toml`: `relations`, `macros`, and `columns` by name or by `relation.name`."""
    text = files(__package__ or "").joinpath("comments.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def meaning(relation: str, column: str) -> str:
    """The comment on a column. Raises KeyError if it has no entry in `comments.toml`."""
    columns = texts()["columns"]
    return columns.get(f"{relation}.{column}") or columns[column]


def comment(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the comments on everything in the catalog. Raises KeyError if something has no entry in `comments.toml`."""
    found = texts()
    statements: list[str] = []
    relations = connection.execute(  # in order of creation
        "SELECT table_name, if(table_name IN (SELECT table_name FROM duckdb_tables()), 'TABLE', 'VIEW'), "
        "list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "WHERE NOT internal AND database_name <> 'temp' GROUP BY table_name, table_oid ORDER BY 2, table_oid"
    ).fetchall()
    for relation, kind, columns in relations:
        statements.append(_comment(f"{kind} {relation}", found["relations"][relation]))
        for name in columns:
            statements.append(_comment(f'COLUMN {relation}."{name}"', meaning(relation, name)))
    statements += [_comment(f"MACRO {macro}", text) for macro, text in found["macros"].items()]
    connection.execute("".join(statements))


def _comment(what: str, text: str) -> str:
    quoted = text.replace("'", "''")
    return f"COMMENT ON {what} IS '{quoted}';\n"
