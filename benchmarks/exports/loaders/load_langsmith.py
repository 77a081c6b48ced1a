"""LangSmith: the client's schema of examples to create. No key and no network are needed for it."""

from pathlib import Path

from langsmith.schemas import ExampleCreate
from report import lines, report


def load(folder: Path) -> list[list[str]]:
    examples = [ExampleCreate(**row) for row in lines(folder / "examples.jsonl")]
    return [[one.metadata["id"], one.inputs["question"], one.reference_outputs["answer"]] for one in examples]


report("langsmith", "langsmith", load)
