"""What stages have in common that decide one candidate after another: their events are in the journal, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from qagen_dagster.agents.questions import validator
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.corpus_passages import CorpusPassages
from qagen_dagster.loop.questions.no_answer.stage import Decided, Drafted, StageEvent
from qagen_dagster.loop.questions.state import Accepted, Dedupe, Judged, QAState, Rejected, Validate
from qagen_dagster.records.questions.results import CallSummary, Candidate, RejectionReason

EventT = TypeVar("EventT", Drafted, Decided)
Judge = Callable[[Validate], tuple[Judged, tuple[CallSummary, ...]]]


@dataclass
class JournaledStage:
    """The work on one document."""

    work: DocumentWork
    models: QAModels
    corpus: CorpusPassages
    journal: JournalFile[StageEvent]

    def event(self, kind: type[EventT], make: Callable[[], EventT], stored: Iterator[StageEvent]) -> EventT:
        """The next stored event; if there is none, the one that is made now. Raises ValueError for an event of another kind."""
        found = next(stored, None)
        if found is None:
            found = make()
            self.journal.append(found)
        if not isinstance(found, kind):
            raise ValueError(f"{found.kind} does not fit the journal")
        return found

    def decide(self, candidate: Candidate, state: QAState, judge: Judge) -> Decided:
        """Compare the candidate with the accepted questions, and let `judge` decide. A failure beside its verdict says that a passage
        is not needed.

        Raises ModelError.
        """
        attempt = state.attempts + 1
        if candidate.gate is not None:
            return Decided(candidate=candidate, reason=candidate.gate, detail=candidate.gate_detail)
        same = model_checks.compare(
            Dedupe(candidate=candidate, attempt=attempt), state, self.work, self.models
        )
        if same.duplicate_of is not None:
            of = state.accepted[same.duplicate_of].candidate.question
            reason = RejectionReason.DUPLICATE
            return Decided(
                candidate=candidate, reason=reason, detail=same.detail, duplicate_of=of, calls=same.calls
            )
        judged, calls = judge(Validate(candidate=candidate, attempt=attempt))
        fault = None if judged.verdict is None else validator.rejection(judged.verdict)
        if judged.verdict is None:
            fault = (RejectionReason.VALIDATOR_FAILED, judged.failure)
        elif judged.failure:
            fault = (RejectionReason.NOT_MULTI_HOP, judged.failure)
        return Decided(
            candidate=candidate,
            reason=None if fault is None else fault[0],
            detail="" if fault is None else fault[1],
            verdict=judged.verdict,
            calls=(*same.calls, *calls),
        )


def after(state: QAState, event: Decided) -> QAState:
    """The state after a decision."""
    attempt = state.attempts + 1
    verdicts = state.verdicts if event.verdict is None else (*state.verdicts, event.verdict)
    update: dict[str, object] = {"attempts": attempt, "verdicts": verdicts, "validated_count": len(verdicts)}
    if event.reason is None:
        update["accepted"] = (*state.accepted, Accepted(candidate=event.candidate, attempt=attempt))
    else:
        lost = Rejected(
            candidate=event.candidate,
            attempt=attempt,
            reason=event.reason,
            detail=event.detail,
            duplicate_of=event.duplicate_of,
        )
        update["rejected"] = (*state.rejected, lost)
    return state.model_copy(update=update)
