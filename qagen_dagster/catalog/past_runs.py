"""Reads from the catalog what finished documents and sets took. Forecasts use these examples."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from qagen_dagster.catalog.database import snapshot, sql
from qagen_dagster.catalog.stats import query
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import DocumentEnd


class PastUse(Record):
    """Calls of one role; each request counts once."""

    role: str
    model: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_write_tokens: int = 0
    seconds: float


class PastDocument(Record):
    """A document that was finished in one combination."""

    combination: str
    document_id: str
    end: DocumentEnd
    target_count: int
    accepted: int
    characters: int
    pages: int
    visuals: int
    uses: tuple[PastUse, ...]


class PastSet(Record):
    """The corpus-wide comparison of a combination's `accepted` questions."""

    combination: str
    accepted: int
    use: PastUse | None  # None: no two questions were similar enough to ask a model


_DOCUMENT = frozenset(PastDocument.model_fields) - {"uses"}
_USE = frozenset(PastUse.model_fields)


def past_documents(catalog: Path, mode: Mode) -> tuple[PastDocument, ...]:
    """Every finished document of `mode` that a model was asked about. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        rows = query(connection, sql("past_documents"), [mode.value])
    documents: list[PastDocument] = []
    for _, group in groupby(rows, key=lambda row: (row["combination"], row["document_id"])):
        several = list(group)
        uses = tuple(PastUse(**_only(row, _USE)) for row in several)
        documents.append(PastDocument(**_only(several[0], _DOCUMENT), uses=uses))
    return tuple(documents)


def past_sets(catalog: Path, mode: Mode) -> tuple[PastSet, ...]:
    """Every validated set of `mode`. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        rows = query(connection, sql("past_sets"), [mode.value])
    return tuple(
        PastSet(
            combination=row["combination"],
            accepted=row["accepted"] or 0,
            use=PastUse(**_only(row, _USE), role="deduplicator") if row["calls"] else None,
        )
        for row in rows
    )


def _only(row: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name in names}
