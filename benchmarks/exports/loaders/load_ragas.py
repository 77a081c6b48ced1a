"""ragas: EvaluationDataset.from_jsonl. Its samples have no ids, so those of the file are taken in order."""

from pathlib import Path

from ragas import EvaluationDataset
from report import lines, report


def load(folder: Path) -> list[list[str]]:
    file = folder / "testset.jsonl"
    samples = list(EvaluationDataset.from_jsonl(file))
    rows = lines(file)
    assert [one.reference_contexts for one in samples] == [row["reference_contexts"] for row in rows]
    return [[row["id"], one.user_input, one.reference] for row, one in zip(rows, samples, strict=True)]


report("ragas", "ragas", load)
