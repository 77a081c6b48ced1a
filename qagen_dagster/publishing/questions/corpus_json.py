"""`corpus.json`: the whole set as one CorpusGenerationResult."""

from __future__ import annotations

import json
from typing import Any

from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.records.questions.published import CorpusGenerationResult

FILE = "corpus.json"


class CorpusJson:
    """UTF-8, two spaces of indent, a newline at the end."""

    name = "corpus_json"

    def export(self, eval_set: EvalSet) -> dict[str, bytes]:
        value = eval_set.published().model_dump(mode="json")
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        return {FILE: f"{text}\n".encode()}


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of `corpus.json`, derived from the record."""
    derived = CorpusGenerationResult.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **derived}
