"""Right answers of public question sets, and the same answers spoilt in one controlled way each.

Kinds: another number, another name of the same sort from the same document, a denial put in (or taken out), the answer of
another question. Denials need a sentence, so the sentence that holds the answer is a right answer, too. All choices are
drawn from a seed of the item, so that every run makes the same sets.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.grounding.sets import Item
from qagen_dagster.english.sentences import split
from qagen_dagster.models.embedded.text.grammar import parse

KINDS = ("number", "entity", "negation", "other question")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|may|might|will|would|should|does|did|do)\b(?! not)"
)
_NOT = re.compile(r"\b(is|are|was|were|has|have|had|can|could|may|might|will|would|should|does|did|do) not\b")
_ENTITIES = frozenset({"PERSON", "ORG", "GPE", "LOC", "NORP", "FAC", "PRODUCT", "EVENT", "WORK_OF_ART"})


@dataclass(frozen=True)
class Asked:
    """A question with its right answer."""

    question: str
    answer: str
    document: str


def load(folder: Path, limit: int = 400) -> list[Item]:
    """The derived sets of what is in the folder: at most `limit` questions of each source."""
    found: list[Item] = []
    for pattern, name, reader in _READERS:
        for file in sorted(folder.rglob(pattern)):
            asked = list(reader(file))
            random.Random(name).shuffle(asked)
            found.extend(_items(name, asked[:limit]))
    return found


def _items(name: str, asked: Sequence[Asked]) -> Iterator[Item]:
    for number, one in enumerate(asked):
        chance = random.Random(f"{name} {number}")
        sentence = _sentence_of(one)
        for answer in dict.fromkeys([one.answer, sentence] if sentence else [one.answer]):
            yield Item(name, name, True, one.question, answer, one.document)
            for kind, change in _CHANGES.items():
                spoilt = change(answer, one, chance)
                if spoilt and spoilt != answer:
                    yield Item(name, name, False, one.question, spoilt, one.document, kind)
        other = _other_answer(number, asked)
        if other:
            yield Item(name, name, False, one.question, other, one.document, "other question")


def _sentence_of(one: Asked) -> str:
    """The document's sentence that holds a short answer; empty if several do, or the answer is a sentence itself."""
    if len(one.answer.split()) > 12:
        return ""
    pattern = re.compile(rf"(?<!\w){re.escape(one.answer)}(?!\w)")
    holding = [sentence.text for sentence in split(one.document) if pattern.search(sentence.text)]
    return holding[0] if len(holding) == 1 and 5 <= len(holding[0].split()) <= 60 else ""


def _other_number(answer: str, one: Asked, chance: random.Random) -> str:
    matches = list(_NUMBER.finditer(answer))
    if not matches:
        return ""
    match = chance.choice(matches)
    for _ in range(20):
        written = _changed(match.group(), chance)
        if not re.search(rf"(?<![\d.]){re.escape(written)}(?!\d)", one.document):
            return answer[: match.start()] + written + answer[match.end() :]
    return ""


def _changed(written: str, chance: random.Random) -> str:
    """Another number of the same form: a digit changed, or two exchanged."""
    places = [place for place, char in enumerate(written) if char.isdigit()]
    place = chance.choice(places)
    digits = "123456789" if place == places[0] else "0123456789"
    return written[:place] + chance.choice([d for d in digits if d != written[place]]) + written[place + 1 :]


def _other_entity(answer: str, one: Asked, chance: random.Random) -> str:
    mine = [entity for entity in _entities(answer) if entity[0] in _ENTITIES]
    if not mine:
        return ""
    label, _, start, end = chance.choice(mine)
    said = {*answer.lower().split()}
    rivals = sorted(
        {
            text
            for other, text, _, _ in _entities(one.document[:20_000])
            if other == label and not {*text.lower().split()} & said
        }
    )
    return answer[:start] + chance.choice(rivals) + answer[end:] if rivals else ""


@lru_cache(maxsize=1_000)
def _entities(text: str) -> tuple[tuple[str, str, int, int], ...]:
    """Label, text and place of every name in a text."""
    (parsed,) = parse([text])
    return tuple((one.label_, one.text, one.start_char, one.end_char) for one in parsed.ents)


def _denied(answer: str, one: Asked, chance: random.Random) -> str:
    del one, chance
    if match := _NOT.search(answer):
        return answer[: match.end(1)] + answer[match.end() :]
    if match := _AUXILIARY.search(answer):
        return f"{answer[: match.end()]} not{answer[match.end() :]}"
    return ""


def _other_answer(number: int, asked: Sequence[Asked]) -> str:
    """The answer of another question: of the same document if there is one, else of the next document."""
    one = asked[number]
    rest = [*asked[number + 1 :], *asked[:number]]
    same = [other for other in rest if other.document == one.document] or rest
    others = [other.answer for other in same if not _alike(other.answer, one.answer)]
    return others[0] if others else ""


def _alike(left: str, right: str) -> bool:
    left, right = left.lower(), right.lower()
    return left in right or right in left


def _tatqa(file: Path) -> Iterator[Asked]:
    """Answers that are read off a table or text; what must be computed is left out."""
    for row in json.loads(file.read_text(encoding="utf-8")):
        table = "\n".join(" | ".join(cell for cell in cells) for cells in row["table"]["table"])
        text = "\n".join(paragraph["text"] for paragraph in row["paragraphs"])
        for question in row["questions"]:
            if question["answer_type"] == "span" and len(question["answer"]) == 1:
                yield Asked(question["question"], str(question["answer"][0]), f"{text}\n{table}")


def _xquad(file: Path) -> Iterator[Asked]:
    data: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    for paragraph in (paragraph for article in data for paragraph in article["paragraphs"]):
        for question in paragraph["qas"]:
            yield Asked(question["question"], question["answers"][0]["text"], paragraph["context"])


def _pubmedqa(file: Path) -> Iterator[Asked]:
    """The authors' conclusions as answers; the abstract without them as the document."""
    for row in json.loads(file.read_text(encoding="utf-8")).values():
        yield Asked(row["QUESTION"], row["LONG_ANSWER"], "\n".join(row["CONTEXTS"]))


_READERS: tuple[tuple[str, str, Callable[[Path], Iterator[Asked]]], ...] = (
    ("tatqa_dataset_dev.json", "tatqa", _tatqa),
    ("xquad.en.json", "xquad", _xquad),
    ("pubmedqa_ori_pqal.json", "pubmedqa", _pubmedqa),
)
_CHANGES: dict[str, Callable[[str, Asked, random.Random], str]] = {
    "number": _other_number,
    "entity": _other_entity,
    "negation": _denied,
}
