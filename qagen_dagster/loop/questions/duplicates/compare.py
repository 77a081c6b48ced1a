"""Which accepted question a new one repeats: a guard that vetoes, a similarity that proposes, a model for what is between.

What belongs here: the three steps and their thresholds. What does not: what words alone say of two questions
(`guard.py`), and what the model is asked (`agents/questions/deduplicator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.agents.questions.deduplicator import DuplicateFinding, find_duplicate
from qagen_dagster.loop.answer_match import Match, informative, match
from qagen_dagster.loop.questions.duplicates.guard import Known, Ruling, crossed, examine
from qagen_dagster.models.base import Model

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]

__all__ = ["Encode", "Known", "Link", "compare", "decide", "links", "links_among", "vetoed"]

# Cosines of MiniLM, chosen on the tuning half of benchmarks/dedupe (see its README).
MERGE_FROM = 0.8  # with the same content words, roles and answer no model is asked from here on
GREY_FROM = {
    Match.SAME: 0.55,
    Match.CLOSE: 0.65,
    Match.APART: 0.8,
}  # the less the answers agree, the higher the bar
CROSSED_FROM = 0.4  # "Who wrote X?" and "What did Y write?" sound less alike
EQUAL_WORDS = 0.95  # looked at whatever the answers: the words may be the same
UNLIKE = "no accepted question comes near it that the guard lets pass"
MOST_COMPARED = 40  # questions shown to the model
MOST_EXAMINED = 400  # nearest ones that the guard looks at


@dataclass(frozen=True)
class Link:
    """An earlier question that a new one may repeat."""

    index: int
    score: float | None  # cosine of the questions; None if words alone decided
    merged: str = ""  # why no model need be asked: the two are one; empty if the model decides

    def finding(self) -> DuplicateFinding:
        exact = self.score is None
        return DuplicateFinding(
            self.index,
            self.merged,
            score=1.0 if exact else self.score,
            step="exact" if exact else "similarity",
        )


def vetoed(question: str, other: str) -> bool:
    """Whether two questions cannot ask for one fact, whatever their answers: numbers, names, denial, direction or roles."""
    return examine(Known(question, ""), Known(other, "")).ruling is Ruling.DIFFERENT


def compare(
    model: Model, new: Known, accepted: Sequence[Known], encode: Encode, *, document_id: str, attempt: int
) -> DuplicateFinding:
    """The accepted question that `new` repeats. Raises ModelError."""
    found = links(new, accepted, encode)
    return decide(model, new, accepted, found, document_id=document_id, attempt=attempt)


def links(new: Known, accepted: Sequence[Known], encode: Encode) -> list[Link]:
    """What `new` may repeat, the surest first; vectors are made only where words leave a pair open."""

    @lru_cache(maxsize=1)
    def own() -> Vectors:
        return _vector(encode, new.question)

    found = (
        _link(new, old, index, lambda old=old: float(own() @ _vector(encode, old.question)))
        for index, old in enumerate(accepted)
    )
    return _surest_first(found)


def links_among(known: Sequence[Known], encode: Encode) -> list[list[Link]]:
    """For each question the earlier ones that it may repeat, the surest first."""
    if not known:
        return []
    vectors = encode([one.question for one in known])
    found: list[list[Link]] = []
    for index, new in enumerate(known):
        scores = vectors[:index] @ vectors[index]
        near = [
            int(i) for i in np.argsort(-scores)[:MOST_EXAMINED] if _reaches(new, known[int(i)], scores[i])
        ]
        found.append(
            _surest_first(_link(new, known[i], i, lambda i=i, scores=scores: float(scores[i])) for i in near)
        )
    return found


def decide(
    model: Model,
    new: Known,
    accepted: Sequence[Known],
    found: Sequence[Link],
    *,
    document_id: str,
    attempt: int,
) -> DuplicateFinding:
    """Which of the linked questions `new` repeats; the model is asked if none is sure. Raises ModelError."""
    if not found:
        return DuplicateFinding(None, UNLIKE, step="")
    if found[0].merged:
        return found[0].finding()
    chosen = sorted(found[:MOST_COMPARED], key=lambda link: link.index)
    listed = [(accepted[link.index].question, accepted[link.index].answer) for link in chosen]
    said = find_duplicate(model, new.question, new.answer, listed, document_id=document_id, attempt=attempt)
    if said.index is None:
        return replace(said, score=found[0].score)
    link = chosen[said.index]
    return replace(said, index=link.index, score=link.score)


@lru_cache(maxsize=20_000)
def _vector(encode: Encode, question: str) -> Vectors:
    """Alone, so that the questions beside it change nothing; remembered, as a loop compares with the same ones again."""
    return cast(Vectors, encode([question])[0])


def _reaches(new: Known, old: Known, score: float) -> bool:
    """Whether similarity leaves a pair open: asked first where the scores are at hand, as it spares the guard."""
    if score < CROSSED_FROM:
        return False
    return score >= GREY_FROM.get(match(new.answer, old.answer), EQUAL_WORDS) or crossed(new, old)


def _link(new: Known, old: Known, index: int, cosine: Callable[[], float]) -> Link | None:
    finding = examine(new, old)
    if finding.ruling is Ruling.SAME:
        return Link(index, None, finding.reason)
    if finding.ruling is Ruling.DIFFERENT:
        return None
    score = min(1.0, cosine())
    if finding.ruling is Ruling.CROSSED:
        return Link(index, score) if score >= CROSSED_FROM else None
    answers = match(new.answer, old.answer)
    sure = finding.ruling is Ruling.FREE and answers is Match.SAME and informative(new.answer)
    if sure and score >= MERGE_FROM:
        return Link(index, score, f"{finding.reason} and the same answer, similarity {score:.2f}")
    return Link(index, score) if score >= GREY_FROM.get(answers, 1.0) else None


def _surest_first(found: Iterable[Link | None]) -> list[Link]:
    """Merges before the rest, then by similarity, then in order."""
    kept = [link for link in found if link is not None]
    return sorted(
        kept, key=lambda link: (not link.merged, -(2.0 if link.score is None else link.score), link.index)
    )
