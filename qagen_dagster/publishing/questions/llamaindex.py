"""A LabelledRagDataset of LlamaIndex: read it with `LabelledRagDataset.from_json`."""

from __future__ import annotations

from typing import Any

from qagen_dagster.publishing.json_files import json_file
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet


def export(exported: ExportedSet) -> dict[str, bytes]:
    """Examples in the order of the set. LlamaIndex does not read `id`."""
    return {"rag_dataset.json": json_file({"examples": [_example(row) for row in exported.rows]})}


def _example(row: ExportedRow) -> dict[str, Any]:
    author = {"type": "ai", "model_name": row.question.generation_metadata.generator_model}
    return {
        "id": row.question.id,
        "query": row.question.question,
        "query_by": author,
        "reference_contexts": row.contexts,
        "reference_answer": row.question.answer,
        "reference_answer_by": author,
    }
