"""DeepEval: EvaluationDataset.add_goldens_from_json_file."""

from pathlib import Path

from deepeval.dataset import EvaluationDataset, Golden
from report import report


def load(folder: Path) -> list[list[str]]:
    dataset = EvaluationDataset()
    dataset.add_goldens_from_json_file(str(folder / "goldens.json"))
    assert all(isinstance(one, Golden) and one.source_file for one in dataset.goldens)
    # nothing in the corpus answers an unanswerable question, so it has no context
    assert all(bool(one.context) or not one.additional_metadata["answerable"] for one in dataset.goldens)
    assert all(one.additional_metadata["id"] == one.name for one in dataset.goldens)
    return [[one.name, one.input, one.expected_output] for one in dataset.goldens]


report("deepeval", "deepeval", load)
