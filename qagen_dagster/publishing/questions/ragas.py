"""A ragas testset: read it with `EvaluationDataset.from_jsonl`."""

from __future__ import annotations

from typing import Any

from qagen_dagster.publishing.json_files import json_lines
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet


def export(exported: ExportedSet) -> dict[str, bytes]:
    """Rows in the order of the set. ragas reads neither `id` nor any other field that it does not know."""
    return {"testset.jsonl": json_lines(_sample(row) for row in exported.rows)}


def _sample(row: ExportedRow) -> dict[str, Any]:
    return {
        "id": row.question.id,
        "user_input": row.question.question,
        "reference": row.question.answer,
        "reference_contexts": row.contexts,
        "reference_context_ids": [passage.id for passage in row.passages],
    }
