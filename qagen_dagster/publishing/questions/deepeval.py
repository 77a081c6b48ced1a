"""Goldens of DeepEval: read them with `EvaluationDataset.add_goldens_from_json_file`."""

from __future__ import annotations

from typing import Any

from qagen_dagster.publishing.json_files import json_file
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet


def export(exported: ExportedSet) -> dict[str, bytes]:
    """The id of a question is the name of its golden. A field `scenario` would make a golden a conversation."""
    return {"goldens.json": json_file([_golden(row) for row in exported.rows])}


def _golden(row: ExportedRow) -> dict[str, Any]:
    return {
        "name": row.question.id,
        "input": row.question.question,
        "expected_output": row.question.answer,
        "context": row.contexts,
        "source_file": row.question.source_document,
        "additional_metadata": row.details,
    }
