"""`corpus.json`: the whole set as one CorpusGenerationResult."""

from __future__ import annotations

from typing import Any

from qagen_dagster.publishing.json_files import json_file
from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.records.questions.published import CorpusGenerationResult

FILE = "corpus.json"


def export(eval_set: EvalSet) -> dict[str, bytes]:
    return {FILE: json_file(eval_set.published().model_dump(mode="json"))}


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of `corpus.json`, derived from the record."""
    derived = CorpusGenerationResult.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **derived}
