"""`questions.jsonl`, `rejected.jsonl` and `retired.jsonl`: one question per line, with its corpus, scenario and mode."""

from __future__ import annotations

from collections.abc import Iterable

from qagen_dagster.publishing.json_files import json_lines
from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.records.base import Record

FILE, REJECTED_FILE, RETIRED_FILE = "questions.jsonl", "rejected.jsonl", "retired.jsonl"


def export(eval_set: EvalSet) -> dict[str, bytes]:
    """Questions are in the order of `corpus.json`; rejected and retired ones have their reasons."""
    return {
        FILE: _lines(eval_set, eval_set.published().questions),
        REJECTED_FILE: _lines(eval_set, eval_set.rejected),
        RETIRED_FILE: _lines(eval_set, eval_set.retired),
    }


def _lines(eval_set: EvalSet, records: Iterable[Record]) -> bytes:
    origin = {"corpus_name": eval_set.corpus_name, "scenario": eval_set.scenario, "mode": eval_set.mode.value}
    return json_lines({**record.model_dump(mode="json"), **origin} for record in records)
