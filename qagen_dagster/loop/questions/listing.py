"""The questions of combinations as one list: accepted questions, and rejected questions with the reasons."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.questions.plan import results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, normalise, question_id
from qagen_dagster.records.questions.results import (
    CandidateSet,
    Evidence,
    RejectedQA,
    RejectionReason,
    ValidatedSet,
)


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class ListedQuestion(Record):
    """A proposed question and its outcome. `reason` and `detail` state why it was rejected, if it was."""

    id: str
    combination: str
    document_id: str
    outcome: Outcome
    question: str
    answer: str
    question_type: str | None = None  # of accepted questions
    reason: RejectionReason | None = None
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """The filter of the questions to list. None, or an empty text, selects all."""

    outcome: Outcome | None = None
    document: str | None = None
    reason: RejectionReason | None = None
    question_type: str | None = None
    text: str = ""  # the beginning of an id, or a part of the question or its answer; case does not matter

    def includes(self, one: ListedQuestion) -> bool:
        words = normalise(self.text)
        return (
            self.outcome in (None, one.outcome)
            and self.document in (None, one.document_id)
            and self.reason in (None, one.reason)
            and self.question_type in (None, one.question_type)
            and (one.id.startswith(words) or words in normalise(f"{one.question} {one.answer}"))
        )


def listed(workspace: Workspace, combination: Combination, wanted: Wanted) -> Iterator[ListedQuestion]:
    """The questions of the combination's current set, accepted questions first. Empty if there is no set."""
    validated = workspace.store.find_valid(ValidatedSet.key(combination), ValidatedSet)
    candidates = workspace.store.find_valid(CandidateSet.key(combination), CandidateSet)
    results = results_of(workspace, candidates) if candidates else ()
    accepted = validated.questions if validated else ()
    removed = validated.removed if validated else ()
    named = {"combination": combination.key, "outcome": Outcome.ACCEPTED}
    every = [ListedQuestion(**pair.shared(ListedQuestion, **named)) for pair in accepted]
    every += [_rejected(combination, one) for result in results for one in result.rejected]
    every += [_rejected(combination, one) for one in removed]
    return (one for one in every if wanted.includes(one))


def rejected_question(workspace: Workspace, beginning: str) -> ListedQuestion | None:
    """The rejected question of the current sets whose id begins with `beginning`; None if there is none. An id that equals `beginning`
    takes precedence. Raises StoreError if several ids begin with `beginning` and none equals it."""
    keys = (key for key in workspace.store.list("candidates") if beginning and key.endswith("/set.json"))
    combinations = (Combination.from_key("/".join(key.split("/")[1:4])) for key in keys)
    wanted = Wanted(Outcome.REJECTED, text=beginning)
    found = {
        one.id: one
        for combination in combinations
        for one in listed(workspace, combination, wanted)
        if one.id.startswith(beginning)
    }
    if len(found) > 1 and beginning not in found:
        raise StoreError(f"more than one question begins with {beginning!r}: give more of its id")
    return found.get(beginning) or next(iter(found.values()), None)


def _rejected(combination: Combination, one: RejectedQA) -> ListedQuestion:
    return ListedQuestion(
        **one.shared(ListedQuestion, question_type=None),
        id=question_id(combination, one.document_id, one.question, one.answer),
        combination=combination.key,
        outcome=Outcome.REJECTED,
        reason=one.rejection_reason,
        detail=one.rejection_detail,
    )
