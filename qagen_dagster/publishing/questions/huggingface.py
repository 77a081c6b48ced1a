"""A data set in the layout of Hugging Face: Parquet, and a card whose front matter says how to load it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import yaml

from qagen_dagster.publishing.questions.card import without_files
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet

_FILE = "data/test-00000-of-00001.parquet"
_VALUES = {
    "id": "string",
    "question": "string",
    "answer": "string",
    "document_id": "string",
    "source_document": "string",
    "row": "string",
    "question_type": "string",
    "mode": "string",
    "hops": "int64",
    "grade": "string",
}
_EVIDENCE = {
    "quote": "string",
    "start_line": "int64",
    "end_line": "int64",
    "page": "int64",
    "visual": "string",
}
_LISTS: dict[str, str | dict[str, str]] = {"contexts": "string", "evidence": _EVIDENCE, "images": "image"}
_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "image": "STRUCT(bytes BLOB, path VARCHAR)"}


def export(exported: ExportedSet) -> dict[str, bytes]:
    """The split `test`. `images` holds the bytes of the pictures."""
    return {"README.md": _card(exported), _FILE: _parquet(exported)}


def _parquet(exported: ExportedSet) -> bytes:
    """DuckDB writes Parquet only to files, so there is a temporary one."""
    columns = [f'"{name}" {_type(kind)}' for name, kind in _VALUES.items()]
    columns += [f'"{name}" {_type(kind)}[]' for name, kind in _LISTS.items()]
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb.connect(":memory:", config={"threads": 1}) as connection,
    ):
        connection.execute(f"CREATE TABLE rows ({', '.join(columns)})")
        table = connection.table("rows")
        for row in exported.rows:
            table.insert(_values(row))
        target = Path(folder) / "rows.parquet"
        table.write_parquet(str(target))  # pyright: ignore[reportUnknownMemberType]
        return target.read_bytes()


def _type(kind: str | dict[str, str]) -> str:
    """The type of a column in DuckDB."""
    if isinstance(kind, str):
        return _TYPES[kind]
    return f"STRUCT({', '.join(f'{name} {_TYPES[one]}' for name, one in kind.items())})"


def _values(row: ExportedRow) -> list[Any]:
    values = {
        **row.details,
        "question": row.question.question,
        "answer": row.question.answer,
        "contexts": row.contexts,
        "images": [{"bytes": one.data, "path": one.path} for one in row.pictures],
    }
    return [values[name] for name in (*_VALUES, *_LISTS)]


def _card(exported: ExportedSet) -> bytes:
    """The front matter, then the card of the set."""
    one = exported.published
    lists = [
        {"name": key, "list": kind if isinstance(kind, str) else _declared(kind)}
        for key, kind in _LISTS.items()
    ]
    front = {
        "pretty_name": f"{one.corpus_name}: {one.scenario}, {one.mode.value}",
        "task_categories": ["question-answering"],
        "tags": ["synthetic", "retrieval-augmented-generation"],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": _FILE}]}],
        "dataset_info": {"features": [*_declared(_VALUES), *lists]},
    }
    text: str = yaml.safe_dump(front, allow_unicode=True, sort_keys=False)
    return f"---\n{text}---\n\n{without_files(exported.card)}".encode()


def _declared(kinds: dict[str, str]) -> list[dict[str, Any]]:
    """Features as the front matter of a card declares them."""
    return [{"name": name, "dtype": kind} for name, kind in kinds.items()]
