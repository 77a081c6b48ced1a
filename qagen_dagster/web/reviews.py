"""Decisions as the page sends and shows them."""

from __future__ import annotations

from pydantic import ValidationError

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.review.decisions import ReviewState, append, decisions_of, state_of
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.review import Action, Decision
from qagen_dagster.web.sets import ReviewSet, Sets


class Judgement(Record):
    """What the page sends: a decision on a question of a set."""

    combination: str
    question_id: str
    reviewer: str
    action: Action
    reason: str = ""
    new_question: str = ""
    new_answer: str = ""
    undoes: str | None = None


class QuestionReviews(Record):
    """The state of one question, the decision of each reviewer that counts, and all decisions in the order of their times."""

    state: ReviewState
    by_reviewer: dict[str, Decision]
    decisions: tuple[Decision, ...]


def reviews_of(found: ReviewSet) -> dict[str, QuestionReviews]:
    """The questions that somebody decided on, by id. Raises StoreError for a damaged file."""
    return {key: _reviewed(some) for key, some in decisions_of(found.space, found.combination).items()}


def judge(sets: Sets, body: bytes) -> QuestionReviews:
    """Store what the page sent. Returns the state of the question after it.

    Raises ConfigError if it is not a decision, and StoreError if it cannot be stored or its question is unknown.
    """
    try:
        sent = Judgement.model_validate_json(body)
        found = sets.get(sent.combination)
        one = found.find(sent.question_id)
        texts = {"document_id": one.document_id, "question": one.question, "answer": one.answer}
        decision = Decision.model_validate({**sent.model_dump(), **texts})
    except ValidationError as error:
        raise ConfigError(
            "; ".join(each["msg"].removeprefix("Value error, ") for each in error.errors())
        ) from None
    append(found.space, decision)
    return _reviewed(decisions_of(found.space, found.combination)[sent.question_id])


def _reviewed(decisions: tuple[Decision, ...]) -> QuestionReviews:
    state = state_of(decisions)
    return QuestionReviews(state=state.state, by_reviewer=dict(state.by_reviewer), decisions=decisions)
