"""Input of RAGChecker. A system under test fills in `response` and `retrieved_context`."""

from __future__ import annotations

from typing import Any

from qagen_dagster.publishing.json_files import json_file
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet


def export(exported: ExportedSet) -> dict[str, bytes]:
    return {"checking_inputs.json": json_file({"results": [_result(row) for row in exported.rows]})}


def _result(row: ExportedRow) -> dict[str, Any]:
    return {
        "query_id": row.question.id,
        "query": row.question.question,
        "gt_answer": row.question.answer,
        "response": "",
        "retrieved_context": [],
    }
