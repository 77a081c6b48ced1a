"""SQuAD v2: load_dataset("json", field="data"). Each answer must stand at its offset; impossible questions have none."""

from importlib.metadata import version
from pathlib import Path

from datasets import load_dataset
from report import folders, tell

offsets = 0


def load(folder: Path) -> list[list[str]]:
    global offsets
    file = folder / "squad.json"
    if '"data": []' in file.read_text(encoding="utf-8"):
        return []
    found = []
    for entry in load_dataset(
        "json", data_files=str(file), field="data", split="train", cache_dir=str(folder / ".cache")
    ):
        for paragraph in entry["paragraphs"]:
            for row in paragraph["qas"]:
                if row["is_impossible"]:
                    assert row["answers"] == [], row
                    found.append([row["id"], row["question"], None])
                    continue
                (answer,) = row["answers"]
                start = answer["answer_start"]
                assert paragraph["context"][start : start + len(answer["text"])] == answer["text"], row
                offsets += 1
                found.append([row["id"], row["question"], answer["text"]])
    return found


sets = {key: load(folder) for key, folder in folders("squad")}
tell(sets, version("datasets"), f"equal; {offsets} answers stand at their offsets")
