"""Examples of LangSmith, one per line: import the file as a dataset, or pass its rows to `Client.create_examples`."""

from __future__ import annotations

import base64
from typing import Any

from qagen_dagster.publishing.json_files import json_lines
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet, Picture


def export(exported: ExportedSet) -> dict[str, bytes]:
    """An upload is one file, so pictures are in it as data URIs."""
    return {"examples.jsonl": json_lines(_example(row) for row in exported.rows)}


def _example(row: ExportedRow) -> dict[str, Any]:
    pictures = {"images": [_uri(one) for one in row.pictures]} if row.pictures else {}
    return {
        "inputs": {"question": row.question.question, **pictures},
        "outputs": {"answer": row.question.answer, "contexts": row.contexts},
        "metadata": row.details,
    }


def _uri(picture: Picture) -> str:
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"
