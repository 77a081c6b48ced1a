"""The questions of a scenario that reviewers rejected, which the generator is told to avoid."""

from __future__ import annotations

from qagen_dagster.loop.review.decisions import ReviewState, decisions_of, state_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import RejectedQA, RejectionReason

MOST = 10  # the latest ones


def rejected_by_reviewers(space: Workspace, combination: Combination) -> tuple[RejectedQA, ...]:
    """The latest rejected questions of all modes of the scenario, the oldest first. Raises StoreError."""
    modes = space.corpus(combination.corpus).scenario(combination.scenario).modes
    found = (
        state_of(some)
        for mode in modes
        for some in decisions_of(space, combination.model_copy(update={"mode": mode}).key).values()
    )
    last = [one.last for one in found if one.state is ReviewState.REJECTED]
    latest = sorted((one for one in last if one is not None), key=lambda one: (one.time, one.id))[-MOST:]
    return tuple(
        RejectedQA(
            question=one.question,
            answer=one.answer,
            rejection_reason=RejectionReason.REJECTED_BY_REVIEWER,
            rejection_detail=one.reason,
            document_id=one.document_id,
        )
        for one in latest
    )
