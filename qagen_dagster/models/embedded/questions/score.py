"""The score of a candidate: the chance that a strict reader calls its question right, clear and worth asking. It is a logistic regression;
`score.json` has its weights, fitted to 1,059 judged questions about 315 documents."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from typing import Any

from spacy.tokens import Doc

from qagen_dagster.english.words import content_stems
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.text.grammar import parse
from qagen_dagster.models.embedders import encode

LEAST = 0.4  # questions with a lower score are not asked


@lru_cache(maxsize=1)
def _weights() -> dict[str, Any]:
    """The weights of features by name under "features", and those of embeddings under "asked" and "title"."""
    folder = resources.files("qagen_dagster.models.embedded.questions")
    return json.loads(folder.joinpath("score.json").read_text("utf-8"))


def scored(found: Sequence[Candidate], lines: Sequence[Line], title: str) -> list[Candidate]:
    """The candidates of `lines` that are good enough, with their score as quality."""
    weights, kept = _weights(), list[Candidate]()
    asked, paged = [one.asked for one in found], any(line.page is not None for line in lines)
    *vectors, named = encode([*asked, title]) if found else [None]
    for one, doc, vector in zip(found, parse(asked), vectors, strict=True):
        total = float(vector @ weights["asked"]) + bool(one.frame) * float(named @ weights["title"])
        for name, value in (("paged", paged), *_features(one, doc, title)):
            total += weights["features"].get(name, 0.0) * value
        score = round(1 / (1 + math.exp(-total)), 2)
        kept += [replace(one, quality=score)] if score >= LEAST else []
    return kept


def _features(one: Candidate, doc: Doc, title: str) -> Iterator[tuple[str, float]]:
    """The named features of a candidate, whose question was parsed to `doc`."""
    told, quote = content_stems(f"{one.asked} {one.answer}"), one.quotes[0].text
    yield from (("", 1.0), (f"family {one.family}", 1.0), ("framed", bool(one.frame)))
    for name, text in (("question", one.asked), ("answer", one.answer), ("evidence", quote)):
        yield f"{name} digits", sum(char.isdigit() for char in text) / len(text)
    for name, stems, within in (("told", content_stems(quote), told), ("of title", content_stems(one.asked), content_stems(title))):  # fmt: skip
        yield name, sum(stem in within for stem in stems) / max(1, len(stems))
    sizes = [sum(1 for _ in token.subtree) for token in doc]
    yield "bare the", sum(token.lower_ == "the" and sizes[token.head.i] == 2 for token in doc)
    yield "bare objects", sum(token.dep_ in ("dobj", "pobj") and token.pos_ == "NOUN" and sizes[token.i] < 3 for token in doc)  # fmt: skip
