"""Samples of Inspect AI, one per line: read them with `json_dataset`."""

from __future__ import annotations

from typing import Any

from qagen_dagster.publishing.json_files import json_lines
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet


def export(exported: ExportedSet) -> dict[str, bytes]:
    """`metadata` holds the contexts and the evidence, and no model is shown it. Pictures are part of the input."""
    return {"samples.jsonl": json_lines(_sample(row) for row in exported.rows), **exported.pictures()}


def _sample(row: ExportedRow) -> dict[str, Any]:
    return {
        "id": row.question.id,
        "input": _message(row) if row.pictures else row.question.question,
        "target": row.question.answer,
        "metadata": {**row.details, "contexts": row.contexts},
    }


def _message(row: ExportedRow) -> list[dict[str, Any]]:
    pictures = [{"type": "image", "image": one.path} for one in row.pictures]
    return [{"role": "user", "content": [{"type": "text", "text": row.question.question}, *pictures]}]
