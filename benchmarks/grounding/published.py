"""Verdicts on published answers and on the same answers spoilt: `python -m benchmarks.grounding.published STORE`.

STORE is the folder of a finished `qagen run`, such as `assets`. No right answer may be unsupported, and no spoilt one supported.
The sentence or table row that an answer was taken from is graded as well, as an answer without a question.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from qagen_dagster.grounding.grade_by_code import grade_by_code
from qagen_dagster.grounding.source import Source
from qagen_dagster.records.document import Document
from qagen_dagster.records.questions.results import ValidatedSet
from qagen_dagster.store import Store

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b|^[A-Z][a-z]{2,}\b")
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|can|may|must|will|should|does|did|do)\b(?! not)")
_TURNED = dict(
    pair.split("/")
    for pair in [
        "below/above",
        "above/below",
        "before/after",
        "after/before",
        "more/less",
        "less/more",
        "higher/lower",
        "lower/higher",
        "increased/decreased",
        "decreased/increased",
        "increases/decreases",
        "rose/fell",
        "fell/rose",
        "wider/narrower",
        "first/last",
        "north/south",
        "south/north",
        "east/west",
        "west/east",
        "maximum/minimum",
        "minimum/maximum",
        "highest/lowest",
        "lowest/highest",
        "largest/smallest",
        "smallest/largest",
        "over/under",
        "lowers/raises",
        "raises/lowers",
        "longer/shorter",
        "shorter/longer",
        "old/new",
        "open/closed",
        "early/late",
        "warm/cold",
        "positive/negative",
    ]
)


@dataclass(frozen=True)
class Published:
    """A published answer; `quote` is its evidence."""

    question: str
    answer: str
    quote: str
    document: str


def read(folder: Path) -> Iterator[Published]:
    """The answers of every validated set in a store. A question without an answer has none that could be spoilt."""
    store = Store(folder)
    for key in store.list("validated"):
        for one in store.read(key, ValidatedSet).questions:
            if one.no_answer is not None:
                continue
            text = store.get(Document.text_key(key.split("/")[1], one.document_id)) or b""
            yield Published(one.question, one.answer, one.evidence[0].quote, text.decode())


def spoilt(text: str, document: str, quote: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Kind and text of each way to spoil an answer or a sentence."""
    if numbers := list(_NUMBER.finditer(text)):
        found = chance.choice(numbers)
        digit = (
            chance.choice([place for place, char in enumerate(found.group()) if char.isdigit()])
            + found.start()
        )
        other = chance.choice([char for char in "123456789" if char != text[digit]])
        yield "number", text[:digit] + other + text[digit + 1 :]
    if names := list(_NAME.finditer(text)):
        found = chance.choice(names)
        rivals = sorted({one.group() for one in _NAME.finditer(document)} - {*re.findall(r"\w+", text)})
        yield from (("name", text[: found.start()] + one + text[found.end() :]) for one in rivals[:1])
    verb = _VERB.search(text)
    yield "negation", f"{text[: verb.end()]} not{text[verb.end() :]}" if verb else f"not {text}"
    for word in re.findall(r"\w+", text):
        if word in _TURNED:
            yield "direction", re.sub(rf"\b{word}\b", _TURNED[word], text, count=1)
    cells = [cell.strip(" `") for cell in quote.strip("| ").split("|")]
    if len(cells) > 2 and text in cells:
        yield from (("other cell", cell) for cell in cells if cell and cell != text)


def verdicts(found: Sequence[Published]) -> Iterator[tuple[str, str, str, bool | None]]:
    """Kind (or "right"), question, text and verdict of every answer and sentence, right and spoilt."""
    sources: dict[str, Source] = {}
    for one in found:
        source = sources.setdefault(one.document, Source(one.document))
        chance = random.Random(one.question)
        for question, text in ((one.question, one.answer), ("", " ".join(one.quote.split()))):
            for kind, said in (("right", text), *spoilt(text, one.document, one.quote, chance)):
                yield kind, question, said, grade_by_code(said, source, question=question).is_grounded


def main() -> int:
    counts: Counter[tuple[str, str, bool | None]] = Counter()
    wrong: list[str] = []
    for kind, question, text, said in verdicts(list(read(Path(sys.argv[1])))):
        counts[kind, "answer" if question else "sentence", said] += 1
        if said is (kind != "right"):
            wrong.append(f"{kind}: {question} {text}")
    for what in ("answer", "sentence"):
        for kind in ("right", "number", "name", "negation", "direction", "other cell"):
            row = [counts[kind, what, said] for said in (True, None, False)]
            if sum(row):
                print(f"{what}, {kind}: {row[0]} supported, {row[1]} undecided, {row[2]} unsupported")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
