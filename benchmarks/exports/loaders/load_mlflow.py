"""MLflow: the records that mlflow.genai.evaluate takes, in the form to which it converts its data."""

import json
from pathlib import Path

from mlflow.genai.evaluation.utils import _convert_to_eval_set
from report import report


def load(folder: Path) -> list[list[str]]:
    records = [
        json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    frame = _convert_to_eval_set(records) if records else None
    rows = [] if frame is None else frame.to_dict("records")
    assert all(len(one["expectations"]) == 1 for one in rows)
    return [[one["tags"]["id"], one["inputs"]["question"], one["tags"]["answer"]] for one in rows]


report("mlflow", "mlflow", load)
