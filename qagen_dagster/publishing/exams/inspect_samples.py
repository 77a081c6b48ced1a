"""Samples of Inspect AI, one JSON object a line: read them with `json_dataset`, ask with `multiple_choice()`."""

from __future__ import annotations

import json
from typing import Any

from qagen_dagster.publishing.exams.feedback import letters, solution
from qagen_dagster.records.exams.bank import ExamItem, ItemBank


class InspectSamples:
    """`input`, `choices`, `target` (the key's letter), `id`, and `metadata` that no model is shown."""

    name = "inspect"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        lines = [json.dumps(_sample(bank, item), ensure_ascii=False) for item in bank.items]
        return {"inspect.jsonl": "".join(f"{line}\n" for line in lines).encode()}


def _sample(bank: ItemBank, item: ExamItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "input": item.question.stem,
        "choices": [item.question.options[letter] for letter in letters(item)],
        "target": item.question.correct_option,
        "metadata": {
            "exam": bank.exam,
            "schema_id": item.schema_id,
            "schema_title": item.schema_title,
            "difficulty": item.difficulty.value,
            "solution": solution(item),
            "distractor_map": dict(sorted(item.question_package.distractor_map.items())),
            "models": dict(sorted(item.models.items())),
        },
    }
