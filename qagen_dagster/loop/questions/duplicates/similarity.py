"""Finds the accepted question that a new question repeats. Word rules decide some pairs. Similarity drops the least similar of the other
pairs, and merges the most similar pairs. A model decides the remaining pairs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np

from qagen_dagster.agents.questions.deduplicator import Compared, find_duplicate
from qagen_dagster.english.answers import Match, informative, match
from qagen_dagster.loop.questions.duplicates.question_form import form, without_opening
from qagen_dagster.loop.questions.duplicates.word_rules import Crossing, Known, Ruling, crossing, examine
from qagen_dagster.models.base import Model
from qagen_dagster.models.embedders import Encode, Vectors
from qagen_dagster.records.ids import normalise

# Cosines of MiniLM, chosen on the tuning half of benchmarks/dedupe (see its README). The batch strategy has `BatchOptions.similarity`.
MERGE_THRESHOLD = 0.8  # from this cosine on, the same content words, roles and answer suffice without a model
# From these cosines on, a model decides. The less the answers agree, the higher is the threshold.
GREY_FROM = {Match.SAME: 0.55, Match.CLOSE: 0.65, Match.APART: 0.8}
CROSSED_THRESHOLD = 0.4  # the threshold for "Who wrote X?" and "What did Y write?"
# From this cosine on, pairs are compared whatever their answers are, because both questions may have the same words.
EQUAL_WORDS = 0.95
UNLIKE = "no accepted question is similar enough, or the word rules tell it apart from the similar ones"
MAX_COMPARED = 40  # maximum number of questions that are shown to the model
# Maximum number of questions that the word rules compare with a new question. The most similar questions are chosen.
MAX_EXAMINED = 400
BLOCK = 512  # number of questions whose similarities are computed at once

Progress = Callable[[int, int], None]  # gets the number of compared questions and the total


@dataclass(frozen=True)
class Link:
    """An earlier question that a new question may duplicate."""

    index: int
    score: float | None  # cosine of the questions; None if words alone decided
    merged: str = ""  # the reason for a duplicate without a model; empty if a model decides

    def finding(self) -> Compared:
        if self.score is None:
            return Compared(duplicate_of=self.index, detail=self.merged, score=1.0, step="exact")
        return Compared(duplicate_of=self.index, detail=self.merged, score=self.score, step="similarity")


def vetoed(question: str, other: str) -> bool:
    """Whether two questions cannot ask for the same fact, whatever their answers: numbers, names, negation, direction or roles."""
    return examine(Known(question, ""), Known(other, "")).ruling is Ruling.DIFFERENT


def links(new: Known, accepted: Sequence[Known], encode: Encode) -> list[Link]:
    """Links to the questions that `new` may repeat, the surest first. Embeddings are computed only if words do not decide."""

    @lru_cache(maxsize=1)
    def own() -> Vectors:
        return _vector(encode, without_opening(new.question))

    found = (
        _link(new, old, index, lambda old=old: float(own() @ _vector(encode, without_opening(old.question))))
        for index, old in enumerate(accepted)
    )
    return _surest_first(found)


def links_among(
    known: Sequence[Known], encode: Encode, progress: Progress = lambda done, total: None
) -> list[list[Link]]:
    """For each question, links to the earlier questions that it may repeat, the surest first. The similarities are computed in blocks.
    `progress` is called between blocks."""
    if not known:
        return []
    vectors = encode([without_opening(one.question) for one in known])
    words = [crossing(one) for one in known]
    found: list[list[Link]] = []
    for start in range(0, len(known), BLOCK):
        if start:
            progress(start, len(known))
        block = vectors[start : start + BLOCK]
        scores = block @ vectors[: start + len(block)].T
        for index, row in enumerate(scores, start):
            near = [
                (i, score)
                for i, score in _nearest(row[:index])
                if _reaches(known[index], known[i], score, words[index], words[i])
            ]
            found.append(
                _surest_first(
                    _link(known[index], known[i], i, lambda score=score: score) for i, score in near
                )
            )
    return found


def _nearest(scores: Vectors) -> list[tuple[int, float]]:
    """The `MAX_EXAMINED` highest scores from CROSSED_THRESHOLD on, with their positions. Among equal scores, the first are chosen."""
    places = np.flatnonzero(scores >= CROSSED_THRESHOLD)
    if len(places) > MAX_EXAMINED:
        last = -np.partition(-scores[places], MAX_EXAMINED - 1)[MAX_EXAMINED - 1]
        above = places[scores[places] > last]
        equal = places[scores[places] == last]
        places = np.concatenate((above, equal[: MAX_EXAMINED - len(above)]))
    return list(zip(places.tolist(), scores[places].tolist(), strict=True))


def undecided(found: Sequence[Link]) -> bool:
    """Whether a model has to decide about these links."""
    return bool(found) and not found[0].merged


def decide(
    model: Model,
    new: Known,
    accepted: Sequence[Known],
    found: Sequence[Link],
    *,
    document_id: str,
    attempt: int,
) -> Compared:
    """Decide which of the linked questions `new` is a duplicate of. The model is asked if no link is certain. Raises ModelError."""
    if not found:
        return Compared(duplicate_of=None, detail=UNLIKE)
    if not undecided(found):
        return found[0].finding()
    chosen = sorted(found[:MAX_COMPARED], key=lambda link: link.index)
    listed = [(accepted[link.index].question, accepted[link.index].answer) for link in chosen]
    reply = find_duplicate(model, new.question, new.answer, listed, document_id=document_id, attempt=attempt)
    if reply.duplicate_of is None:
        return reply.model_copy(update={"score": found[0].score})
    link = chosen[reply.duplicate_of]
    return reply.model_copy(update={"duplicate_of": link.index, "score": link.score})


@lru_cache(maxsize=20_000)
def _vector(encode: Encode, question: str) -> Vectors:
    """The vector of a question. The question is embedded alone, because other texts in a batch could change the vector a little.

    The vector is cached, because the loop compares with the same questions again.
    """
    return cast(Vectors, encode([question])[0])


def _reaches(new: Known, old: Known, score: float, words: Crossing, others: Crossing) -> bool:
    """Whether the similarity is high enough for a comparison. The similarity is checked first, because the word rules are slower."""
    if score >= EQUAL_WORDS or words.crosses(others):
        return True
    if score < GREY_FROM[Match.SAME]:
        return False
    return score >= GREY_FROM.get(match(new.answer, old.answer), EQUAL_WORDS)


def _link(new: Known, old: Known, index: int, cosine: Callable[[], float]) -> Link | None:
    finding = examine(new, old)
    if finding.ruling is Ruling.SAME:
        return Link(index, None, finding.reason)
    if finding.ruling is Ruling.DIFFERENT:
        return None
    score = min(1.0, cosine())
    if finding.ruling is Ruling.CROSSED:
        return Link(index, score) if score >= CROSSED_THRESHOLD else None
    answers = match(new.answer, old.answer)
    sure = finding.ruling is Ruling.FREE and answers is Match.SAME and informative(new.answer)
    if sure and score >= MERGE_THRESHOLD:
        return Link(index, score, f"{finding.reason} and the same answer, similarity {score:.2f}")
    return Link(index, score) if score >= GREY_FROM.get(answers, 1.0) else None


def _surest_first(found: Iterable[Link | None]) -> list[Link]:
    """Sort the links: certain duplicates first, then by similarity, then in order."""
    kept = [link for link in found if link is not None]
    return sorted(
        kept, key=lambda link: (not link.merged, -(2.0 if link.score is None else link.score), link.index)
    )


@dataclass(frozen=True)
class DuplicateMatch:
    """The earlier question that a new question repeats, and their similarity."""

    of: str
    score: float  # similarity; 1 for equal words
    exact: bool

    @property
    def detail(self) -> str:
        return "the same words" if self.exact else f"similarity {self.score:.2f}"


def find_duplicates(
    new: Sequence[str], known: Sequence[str], encode: Encode, similarity: float
) -> list[DuplicateMatch | None]:
    """For each new question, the most similar question that it repeats, from `known` or the earlier new questions, or None.

    Two questions are duplicates if their cosine is at least `similarity`, unless numbers, names, negation, direction or the kind of
    answer differ. The cosine alone is not enough, because all questions about one document are similar.
    """
    if not new:
        return []
    texts = [*known, *new]
    vectors = encode(texts)
    standing = list(range(len(known)))
    found: list[DuplicateMatch | None] = []
    for index in range(len(known), len(texts)):
        near = [(_likeness(texts, index, old, float(vectors[index] @ vectors[old])), old) for old in standing]
        score, nearest = max(near, default=(0.0, -1))
        if near and score >= similarity:
            found.append(DuplicateMatch(texts[nearest], round(min(1.0, score), 4), exact=score > 1))
        else:
            found.append(None)
            standing.append(index)
    return found


def _likeness(texts: Sequence[str], new: int, old: int, cosine: float) -> float:
    """The cosine, limited to 1; 0 if the word rules tell the questions apart; 2 if their words are equal."""
    if normalise(texts[new]) == normalise(texts[old]):
        return 2.0
    asked = {form(texts[new]).asked, form(texts[old]).asked} - {""}
    return 0.0 if len(asked) > 1 or vetoed(texts[new], texts[old]) else min(1.0, cosine)
