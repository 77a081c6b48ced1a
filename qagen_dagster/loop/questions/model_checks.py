"""The two model checks that every candidate must pass: it is not a duplicate, and the validator agrees with its answer."""

from __future__ import annotations

from qagen_dagster.agents.questions import validator
from qagen_dagster.loop.questions.duplicates import compare as dedupe
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.state_machine import Compared, Dedupe, Judged, QAState, Validate


def compare(step: Dedupe, state: QAState, work: DocumentWork, models: QAModels) -> Compared:
    """Compare the candidate with the accepted questions of its document. Raises ModelError."""
    known = [dedupe.Known(one.candidate.question, one.candidate.answer) for one in state.accepted]
    new = dedupe.Known(step.candidate.question, step.candidate.answer)
    document_id = work.context.view.document.id
    found = dedupe.compare(
        models.deduplicator, new, known, models.encode, document_id=document_id, attempt=step.attempt
    )
    return Compared(
        duplicate_of=found.index, detail=found.detail, score=found.score, step=found.step, calls=found.calls
    )


def validate(
    step: Validate, work: DocumentWork, models: QAModels, rule: validator.TypeRule | None = None
) -> Judged:
    """Let the validator answer without seeing the answer, then judge by the `rule` of the question type if it has one. Raises ModelError."""
    judged = validator.judge(work.context, models.validator, step.candidate, step.attempt, rule)
    return Judged(verdict=judged.verdict, failure=judged.failure or "", calls=judged.calls)
