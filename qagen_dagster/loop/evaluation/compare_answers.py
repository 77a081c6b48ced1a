"""Decides whether an answer is right: code first, and a model where code cannot decide."""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.agents.evaluation import closed_book
from qagen_dagster.english.answers import Match, match
from qagen_dagster.models.base import Model
from qagen_dagster.records.evaluation import Decided
from qagen_dagster.records.ids import normalise

_UNKNOWN = frozenset(
    {
        "", "unknown", "not known", "i don't know", "i do not know", "don't know", "n/a", "none", "no answer",
        "cannot be determined", "cannot be known", "not enough information",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Marked:
    """Whether an answer is right. If nothing decided it, `right` and `decided` are None and `why` is the reason."""

    right: bool | None
    decided: Decided | None
    why: str


def says_nothing(answer: str) -> bool:
    """Whether the answer is empty or says that it is not known."""
    return normalise(answer).rstrip(".!") in _UNKNOWN


def mark_answer(question: str, reference: str, given: str, model: Model | None, role: str) -> Marked:
    """Compare `given` with the reference answer. `model` decides what code cannot. Raises ModelError."""
    if says_nothing(given):
        return Marked(False, Decided.UNKNOWN, "no answer was given")
    found = match(given, reference)
    if found is Match.SAME:
        return Marked(True, Decided.MATCH, "the same words, numbers and names")
    if found is Match.CONFLICT:
        return Marked(False, Decided.MATCH, "another number, date or name, or the opposite")
    if model is None:
        return Marked(None, None, "code cannot decide, and the profile has no judge")
    marked = closed_book.mark(model, role, question, reference, given)
    if isinstance(marked, str):
        return Marked(None, None, f"not compared: {marked}")
    return Marked(marked.right, Decided.MODEL, marked.explanation)
