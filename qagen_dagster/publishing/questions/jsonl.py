"""`questions.jsonl`: one question per line, with its corpus, scenario and mode."""

from __future__ import annotations

import json

from qagen_dagster.publishing.questions.eval_set import EvalSet

FILE = "questions.jsonl"
_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


class Jsonl:
    """UTF-8. No line contains a character that some readers take for a line break."""

    name = "jsonl"

    def export(self, eval_set: EvalSet) -> dict[str, bytes]:
        published = eval_set.published()
        origin = {
            "corpus_name": published.corpus_name,
            "scenario": published.scenario,
            "mode": published.mode.value,
        }
        rows = ({**question.model_dump(mode="json"), **origin} for question in published.questions)
        lines = [json.dumps(row, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS) for row in rows]
        return {FILE: "".join(f"{line}\n" for line in lines).encode()}
