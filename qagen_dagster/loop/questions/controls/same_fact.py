"""Decides whether an answer states the same fact as the proposed one: by code, else by the validator."""

from __future__ import annotations

from qagen_dagster.agents.accounting import call_summaries
from qagen_dagster.agents.evaluation import closed_book
from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.steps import Finish
from qagen_dagster.english.answers import Match, match
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import Validate
from qagen_dagster.records.questions.results import CallSummary


def same_fact(
    step: Validate, work: DocumentWork, models: QAModels, given: str
) -> tuple[bool, str, tuple[CallSummary, ...]]:
    """Whether `given` is the proposed answer, and why a model could not decide that. Raises ModelError."""
    candidate, model = step.candidate, models.validator
    alike = match(given, candidate.answer)
    if alike in (Match.SAME, Match.CONFLICT):
        return alike is Match.SAME, "", ()
    run = closed_book.marking(model, validator.ROLE, candidate.question, candidate.answer, given)
    calls = call_summaries(run, validator.ROLE, model.spec, work.context.view.document.id, step.attempt)
    if isinstance(run.end, Finish):
        return closed_book.Mark.model_validate(run.end.result).right, "", calls
    return False, f"{run.end.reason.value}: {run.end.detail}", calls
