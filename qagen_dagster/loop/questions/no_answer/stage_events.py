"""What happens when questions are proved by a search in the corpus, as the journals of such stages keep it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.loop.journal import Journal
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import Accepted, Dedupe, QAState, Rejected
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.results import CallSummary, Candidate, RejectionReason, VerdictRecord


class Tested(Record):
    """The validator was asked questions that the document answers. `fault`: why it proves nothing."""

    kind: Literal["tested"] = "tested"
    fault: str
    asked: int = 0
    answered: int = 0
    calls: tuple[CallSummary, ...] = ()


class Drafted(Record):
    """The generator proposed candidates, or an earlier result had them."""

    kind: Literal["drafted"] = "drafted"
    candidates: tuple[Candidate, ...]
    failure: str = ""
    carried: bool = False
    calls: tuple[CallSummary, ...] = ()


class Decided(Record):
    """A candidate was proved, or refused for a reason."""

    kind: Literal["decided"] = "decided"
    candidate: Candidate
    reason: RejectionReason | None = None
    detail: str = ""
    duplicate_of: str | None = None
    verdict: VerdictRecord | None = None
    calls: tuple[CallSummary, ...] = ()

    def taken(self, attempt: int) -> Accepted | Rejected:
        """The decided candidate, as a state has it."""
        if self.reason is None:
            return Accepted(candidate=self.candidate, attempt=attempt)
        return Rejected(
            candidate=self.candidate,
            attempt=attempt,
            reason=self.reason,
            detail=self.detail,
            duplicate_of=self.duplicate_of,
        )


def refused_early(
    candidate: Candidate, attempt: int, accepted: Sequence[Accepted], work: DocumentWork, models: QAModels
) -> Decided | tuple[CallSummary, ...]:
    """Refuses a candidate whose evidence check failed, or that repeats an accepted one; else the calls of the comparison.

    Raises ModelError.
    """
    if candidate.gate is not None:
        return Decided(candidate=candidate, reason=candidate.gate, detail=candidate.gate_detail)
    step = Dedupe(candidate=candidate, attempt=attempt)
    same = model_checks.compare(step, QAState(accepted=tuple(accepted)), work, models)
    if same.duplicate_of is None:
        return same.calls
    return Decided(
        candidate=candidate,
        reason=RejectionReason.DUPLICATE,
        detail=same.detail,
        duplicate_of=accepted[same.duplicate_of].candidate.question,
        calls=same.calls,
    )


StageEvent = Annotated[Tested | Drafted | Decided, Field(discriminator="kind")]


class StageJournal(Journal[StageEvent]):
    """The journal of the stage of one document."""
