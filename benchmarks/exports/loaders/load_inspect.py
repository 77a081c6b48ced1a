"""Inspect AI: json_dataset. The pictures of a sample must be files."""

from importlib.metadata import version
from pathlib import Path

from inspect_ai.dataset import json_dataset
from report import folders, tell

pictures = 0


def load(folder: Path) -> list[list[str]]:
    global pictures
    found = []
    for sample in json_dataset(str(folder / "samples.jsonl")):
        question = sample.input
        if not isinstance(question, str):
            (message,) = question
            images = [part.image for part in message.content if part.type == "image"]
            pictures += len(images)
            assert all(Path(image).read_bytes()[:2] in (b"\x89P", b"\xff\xd8") for image in images), images
            question = message.text
        found.append([sample.id, question, sample.target])
    return found


sets = {key: load(folder) for key, folder in folders("inspect")}
tell(sets, version("inspect-ai"), f"equal; {pictures} pictures opened")
