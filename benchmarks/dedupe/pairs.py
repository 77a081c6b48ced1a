"""The pairs of `pairs.tsv`, and questions of public sets: what is measured, not how."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from qagen_dagster.loop.questions.duplicates.similarity import Known

FILE = Path(__file__).with_name("pairs.tsv")


@dataclass(frozen=True)
class Pair:
    """Two questions with their answers, and whether one repeats the other."""

    split: str  # "tuning" or "held_out": thresholds were chosen on the first alone
    domain: str
    same: bool
    kind: str  # in what the two differ
    one: Known
    other: Known


def pairs(file: Path = FILE) -> list[Pair]:
    """All pairs, in the order of the file."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Pair(
            split=row["split"],
            domain=row["domain"],
            same=row["verdict"] == "same",
            kind=row["kind"],
            one=Known(row["question"], row["answer"]),
            other=Known(row["other_question"], row["other_answer"]),
        )
        for row in rows
    ]


def questions_of(file: Path) -> Iterator[list[Known]]:
    """The questions of each document of a set in the format of SQuAD or of TAT-QA."""
    data = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(data, dict):
        for article in cast(list[dict[str, Any]], cast(dict[str, Any], data)["data"]):
            asked = [one for paragraph in article["paragraphs"] for one in paragraph["qas"]]
            yield [Known(one["question"], one["answers"][0]["text"]) for one in asked]
        return
    for table in cast(list[dict[str, Any]], data):
        yield [Known(one["question"], _told(one)) for one in table["questions"]]


def _told(question: dict[str, Any]) -> str:
    answer = question["answer"]
    parts = cast(list[object], answer) if isinstance(answer, list) else [answer]
    return f"{', '.join(map(str, parts))} {question['scale']}".strip()
