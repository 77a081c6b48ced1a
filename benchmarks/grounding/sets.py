"""The public sets: answers with the text they should rest on and whether they do.

HaluEval (question answering), BEGIN (replies), SummEdits (summaries with one edit), WiCE (claims of Wikipedia).
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Item:
    """An answer and its document. `family` names sets of one origin; `kind` says what was done to a wrong one."""

    name: str
    family: str
    supported: bool
    question: str
    answer: str
    document: str
    kind: str = ""

    @property
    def aside(self) -> bool:
        """Whether the document is in the third that nobody looked at while the rules were written."""
        return int(hashlib.sha256(self.document.encode()).hexdigest()[:8], 16) % 3 == 0


def sample(items: Sequence[Item], most: int) -> list[Item]:
    """Up to `most` right and as many wrong answers of every set, drawn with one seed, by set and document."""
    groups: dict[tuple[str, bool], list[Item]] = {}
    for item in items:
        groups.setdefault((item.name, item.supported), []).append(item)
    chosen = [
        item
        for (name, _), group in groups.items()
        for item in (random.Random(name).sample(group, most) if len(group) > most else group)
    ]
    return sorted(chosen, key=lambda item: (item.name, item.document))


def load(folder: Path) -> list[Item]:
    """Every set that is in the folder; an empty list if none is."""
    found: list[Item] = []
    for pattern, reader in _READERS:
        for file in sorted(folder.rglob(pattern)):
            found.extend(reader(file))
    return found


def _halueval(file: Path) -> Iterator[Item]:
    for line in file.read_text(encoding="utf-8").splitlines():
        row: dict[str, str] = json.loads(line)
        for key, supported in (("right_answer", True), ("hallucinated_answer", False)):
            yield Item(file.stem, "halueval", supported, row["question"], row[key], row["knowledge"])


def _begin(file: Path) -> Iterator[Item]:
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            supported = row["begin_label"] == "Fully attributable"
            yield Item(
                file.stem, "begin", supported, "", row["response"], row["knowledge"], row["begin_label"]
            )


def _summedits(file: Path) -> Iterator[Item]:
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    for row in rows:
        kind = "+".join(row["edit_types"])
        yield Item(file.stem, "summedits", row["label"] == 1, "", row["summary"], row["doc"], kind)


def _wice(file: Path) -> Iterator[Item]:
    for line in file.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        document = "\n".join(row["evidence"])
        yield Item(file.stem, "wice", row["label"] == "supported", "", row["claim"], document, row["label"])


_READERS: tuple[tuple[str, Callable[[Path], Iterator[Item]]], ...] = (
    ("halueval_*.jsonl", _halueval),
    ("begin_*.tsv", _begin),
    ("summedits_*.json", _summedits),
    ("wice_*.jsonl", _wice),
)
