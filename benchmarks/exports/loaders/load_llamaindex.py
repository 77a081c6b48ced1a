"""LlamaIndex: LabelledRagDataset.from_json. Its examples have no ids, so those of the file are taken in order."""

import json
from pathlib import Path

from llama_index.core.llama_dataset import LabelledRagDataset
from report import report


def load(folder: Path) -> list[list[str]]:
    file = folder / "rag_dataset.json"
    dataset = LabelledRagDataset.from_json(str(file))
    rows = json.loads(file.read_bytes())["examples"]
    given = sum(bool(one.reference_contexts) for one in dataset.examples)
    assert given or not rows, "only unanswerable questions have no contexts"
    return [
        [row["id"], one.query, one.reference_answer] for row, one in zip(rows, dataset.examples, strict=True)
    ]


report("llamaindex", "llama-index-core", load)
