"""Hugging Face datasets: load_dataset on the folder. Pictures must decode."""

from importlib.metadata import version
from pathlib import Path

from datasets import load_dataset
from report import folders, tell

pictures = 0


def load(folder: Path) -> list[list[str]]:
    global pictures
    rows = load_dataset(str(folder), split="test", cache_dir=str(folder / ".cache"))
    for row in rows:
        assert row["contexts"] or not row["answerable"], row["id"]
        assert row["evidence"][0]["quote"], row["id"]
        pictures += sum(picture.width > 1 for picture in row["images"])
    return [[row["id"], row["question"], row["answer"]] for row in rows]


sets = {key: load(folder) for key, folder in folders("huggingface")}
tell(sets, version("datasets"), f"equal; {pictures} pictures decoded")
