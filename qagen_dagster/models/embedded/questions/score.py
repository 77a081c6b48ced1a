"""The score of a candidate: the chance that a strict reader calls its question right, clear and worth asking.

It is a logistic regression on the question, its evidence, and the embeddings of the question and of the title that the question names.
`score.json` has its weights, fitted to 1,059 judged questions about 315 documents.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from typing import Any

from spacy.tokens import Doc, Token

from qagen_dagster.english.words import content_stems
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.text.grammar import parse
from qagen_dagster.models.embedders import encode

LEAST = 0.4  # questions with a lower score are not asked


@lru_cache(maxsize=1)
def _weights() -> dict[str, Any]:
    """The weights of features by name under "features", and those of embeddings under "asked" and "title"."""
    return json.loads(resources.files("qagen_dagster.models.embedded.questions").joinpath("score.json").read_text("utf-8"))


def scored(found: Sequence[Candidate], lines: Sequence[Line], title: str) -> list[Candidate]:
    """The candidates of `lines` that are good enough, with their score as quality."""
    weights, kept = _weights(), list[Candidate]()
    asked = [one.asked for one in found]
    *vectors, named = encode([*asked, title]) if found else [None]
    for one, doc, vector in zip(found, parse(asked), vectors, strict=True):
        total = float(vector @ weights["asked"]) + bool(one.frame) * float(named @ weights["title"])
        for name, value in features(one, doc, lines, title):
            total += weights["features"].get(name, 0.0) * value
        score = round(1 / (1 + math.exp(-total)), 2)
        kept += [replace(one, quality=score)] if score >= LEAST else []
    return kept


def features(one: Candidate, doc: Doc, lines: Sequence[Line], title: str) -> Iterator[tuple[str, float]]:
    """The named features of a candidate, whose question was parsed to `doc`."""
    asked, quote = one.asked, one.quotes[0].text
    stems, told = content_stems(asked), set(content_stems(f"{asked} {one.answer}"))
    yield from (("", 1.0), (f"family {one.family}", 1.0), ("framed", bool(one.frame)))
    yield "paged", any(line.page is not None for line in lines)
    for name, text in (("question", asked), ("answer", one.answer), ("evidence", quote)):
        yield f"{name} digits", _share([char.isdigit() for char in text])
    yield "told", _share([stem in told for stem in content_stems(quote)])
    yield "of title", _share([stem in content_stems(title) for stem in stems])
    yield "bare the", sum(token.lower_ == "the" and _size(token.head) == 2 for token in doc)
    yield (
        "bare objects",
        sum(token.dep_ in ("dobj", "pobj") and token.pos_ == "NOUN" and _size(token) < 3 for token in doc),
    )


def _size(token: Token) -> int:
    return sum(1 for _ in token.subtree)


def _share(those: Sequence[bool]) -> float:
    return sum(those) / max(1, len(those))
