"""mlcroissant: the metadata of the format `huggingface` are valid, and its record set has the questions."""

import logging
from importlib.metadata import version
from pathlib import Path

import mlcroissant
from report import folders, tell

unlicensed = 0


def text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def load(folder: Path) -> list[list[str]]:
    global unlicensed
    dataset = mlcroissant.Dataset(str(folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert dataset.metadata.machine_annotation_tools, folder
    unlicensed += any("No licence is known of" in one for one in dataset.metadata.data_limitations)
    return [
        [text(row[f"test/{name}"]) for name in ("id", "question", "answer")]
        for row in dataset.records("test")
    ]


logging.disable(logging.WARNING)
sets = {key: load(folder) for key, folder in folders("huggingface")}
tell(sets, version("mlcroissant"), f"valid and equal; {unlicensed} sets name documents without a licence")
