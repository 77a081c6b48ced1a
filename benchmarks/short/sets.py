"""Questions with the text that answers them and where the answer stands, from public sets. Nothing is fitted here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

XQUAD, HALUEVAL, TATQA = (
    "qa/xquad.en.json",
    "grounding/halueval_qa_one_turn.jsonl",
    "qa/tatqa_dataset_dev.json",
)
FOLDS = 5
_GLUED = re.compile(r"([a-z)])\.([A-Z\"])")


@dataclass(frozen=True)
class Example:
    """`group`: what must not be split between fitting and measuring: article, or a name of its own set."""

    group: str
    document: str
    text: str
    question: str
    answer: str
    start: int

    @property
    def fold(self) -> int | None:
        """Of an article of XQuAD; the other sets are only fitted on."""
        return int(self.group) % FOLDS if self.group.isdigit() else None


def xquad(file: Path) -> Iterator[Example]:
    """Any file in the form of SQuAD; an article is a group."""
    for number, article in enumerate(_data(file)["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            for one in paragraph["qas"]:
                answer = one["answers"][0]
                yield Example(
                    str(number), f"{number}.{place}", paragraph["context"], one["question"], answer["text"], answer["answer_start"]
                )  # fmt: skip


def others(folder: Path) -> Iterator[Example]:
    """HaluEval's questions whose right answer stands in the given knowledge, and TAT-QA's that are answered by one span of text."""
    for line in (folder / HALUEVAL).read_text(encoding="utf-8").splitlines():
        row: Any = json.loads(line)
        text = _GLUED.sub(r"\1. \2", row["knowledge"])
        if row["right_answer"] in text:
            yield _example("halueval", text, row["question"].strip(), row["right_answer"])
    for table in _data(folder / TATQA):
        text = " ".join(paragraph["text"] for paragraph in table["paragraphs"])
        for one in table["questions"]:
            span = one["answer_type"] == "span" and one["answer_from"] == "text"
            if span and one["answer"][0] in text:
                yield _example("tatqa", text, one["question"], one["answer"][0])


def _example(group: str, text: str, question: str, answer: str) -> Example:
    return Example(group, text, text, question, answer, text.find(answer))


def elsewhere(examples: Sequence[Example]) -> list[tuple[Example, Example]]:
    """Half of the questions, each with a text that does not answer it: of another article, and of its own, by turns."""
    found: list[tuple[Example, Example]] = []
    for at, one in enumerate(examples[::2]):
        own = at % 2 == 1
        strangers = [
            two for two in examples if (two.group == one.group) is own and two.document != one.document
        ]
        if strangers:
            found.append((one, strangers[(at * 7919) % len(strangers)]))
    return found


def _data(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
