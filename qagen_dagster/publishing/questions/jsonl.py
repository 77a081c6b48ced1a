"""`questions.jsonl`, `rejected.jsonl` and `retired.jsonl`: one question per line, with its corpus, scenario and mode."""

from __future__ import annotations

import json
from collections.abc import Iterable

from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.records.base import Record

FILE, REJECTED_FILE, RETIRED_FILE = "questions.jsonl", "rejected.jsonl", "retired.jsonl"
_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


class Jsonl:
    """UTF-8. No line contains a character that some readers take for a line break."""

    name = "jsonl"

    def export(self, eval_set: EvalSet) -> dict[str, bytes]:
        return {FILE: _lines(eval_set, eval_set.published().questions)}


class RejectedJsonl:
    """The candidates that were not published, with their reasons, in the same form."""

    name = "rejected_jsonl"

    def export(self, eval_set: EvalSet) -> dict[str, bytes]:
        return {REJECTED_FILE: _lines(eval_set, eval_set.rejected)}


class RetiredJsonl:
    """The questions of earlier versions of the corpus that its documents no longer support, in the same form."""

    name = "retired_jsonl"

    def export(self, eval_set: EvalSet) -> dict[str, bytes]:
        return {RETIRED_FILE: _lines(eval_set, eval_set.retired)}


def _lines(eval_set: EvalSet, records: Iterable[Record]) -> bytes:
    origin = {"corpus_name": eval_set.corpus_name, "scenario": eval_set.scenario, "mode": eval_set.mode.value}
    rows = ({**record.model_dump(mode="json"), **origin} for record in records)
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()
