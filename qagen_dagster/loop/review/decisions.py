"""Stores the decisions of reviewers, and derives the state of each question from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import check_name
from qagen_dagster.records.review import Action, Decision, review_folder


class ReviewState(StrEnum):
    """What reviewers think of a question."""

    UNREVIEWED = "unreviewed"
    ACCEPTED = "accepted"
    EDITED = "edited"
    REJECTED = "rejected"
    FLAGGED = "flagged"
    DISAGREED = "disagreed"  # the reviewers do not agree


_STATES = {
    Action.ACCEPT: ReviewState.ACCEPTED,
    Action.EDIT: ReviewState.EDITED,
    Action.REJECT: ReviewState.REJECTED,
    Action.FLAG: ReviewState.FLAGGED,
}


@dataclass(frozen=True)
class QuestionReview:
    """The state of a question, and the decision of each reviewer that counts: the last one that was not undone."""

    state: ReviewState
    by_reviewer: Mapping[str, Decision]

    @property
    def last(self) -> Decision | None:
        """The latest decision that counts."""
        return max(self.by_reviewer.values(), key=_order, default=None)


def append(space: Workspace, decision: Decision) -> None:
    """Store a decision. Storing the same decision again changes nothing. Raises StoreError if another one has its id."""
    key = Decision.key(decision.set_key, decision.question_id, decision.id)
    stored = space.store.find(key, Decision)
    if stored is None:
        space.store.write(key, decision)
    elif stored != decision:
        raise StoreError(f"{space.store.path(key)} already has another decision")


def decisions_of(
    space: Workspace, set_key: str, known: Mapping[str, Decision] | None = None
) -> dict[str, tuple[Decision, ...]]:
    """All decisions on the questions of a set, by question id, in the order of their times.

    `known` has decisions by their keys, which are not read again. Raises StoreError for a damaged file: a decision that is left
    out would change what is published.
    """
    return _under(space, review_folder(set_key), known or {})


def decisions_on(
    space: Workspace, set_key: str, question_id: str, known: Mapping[str, Decision]
) -> tuple[Decision, ...]:
    """All decisions on one question, as `decisions_of` gives them."""
    found = _under(space, f"{review_folder(set_key)}/{check_name(question_id)}", known)
    return found.get(question_id, ())


def _under(space: Workspace, folder: str, known: Mapping[str, Decision]) -> dict[str, tuple[Decision, ...]]:
    found: defaultdict[str, list[Decision]] = defaultdict(list)
    for key in space.store.list(folder):
        decision = known.get(key) or space.store.read(key, Decision)
        found[decision.question_id].append(decision)
    return {name: tuple(sorted(some, key=_order)) for name, some in found.items()}


def decision_ids(space: Workspace, set_key: str) -> set[str]:
    """The ids of all decisions on the questions of a set. No file is read."""
    return {PurePosixPath(key).stem for key in space.store.list(review_folder(set_key))}


def rejections_of(space: Workspace, set_key: str) -> dict[str, str]:
    """The rejected questions of a set: id to who rejected it, and why. Raises StoreError for a damaged file."""
    found = {name: state_of(some) for name, some in decisions_of(space, set_key).items()}
    return {
        name: f"{one.last.reviewer}: {one.last.reason}".removesuffix(": ")
        for name, one in found.items()
        if one.state is ReviewState.REJECTED and one.last is not None
    }


def state_of(decisions: Iterable[Decision]) -> QuestionReview:
    """The state of one question from all decisions on it."""
    counting: dict[str, Decision] = {}
    undone: set[tuple[str, str]] = set()
    for one in sorted(decisions, key=_order, reverse=True):
        if (one.reviewer, one.id) in undone:
            continue
        if one.undoes is not None:
            undone.add((one.reviewer, one.undoes))
        elif one.action in _STATES:
            counting.setdefault(one.reviewer, one)
    views = {(one.action, one.new_question, one.new_answer) for one in counting.values()}
    if len(views) > 1:
        return QuestionReview(ReviewState.DISAGREED, counting)
    states = [_STATES[action] for action, *_ in views]
    return QuestionReview(states[0] if states else ReviewState.UNREVIEWED, counting)


def _order(decision: Decision) -> tuple[object, str]:
    return decision.time, decision.id
