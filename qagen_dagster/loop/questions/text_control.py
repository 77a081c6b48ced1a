"""The text control: a visual question that the validator answers without pictures does not need them and is rejected.

It runs last, and only for a candidate that would otherwise be accepted. Decision 19 gives the reasons.
"""

from __future__ import annotations

from dataclasses import replace

from qagen_dagster.agents.accounting import call_summaries
from qagen_dagster.agents.evaluation import closed_book
from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.steps import Finish
from qagen_dagster.loop.answer_match import Match, match
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.events import Controlled, Judged
from qagen_dagster.loop.questions.fingerprint import has_text_control
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.state_machine import Validate, is_malformed
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import CallSummary, RejectionReason


def validate(
    step: Validate, work: DocumentWork, models: QAModels, found: validator.BlindFinding | None
) -> Judged | Controlled:
    """Let the validator judge the candidate, then run the control where the scenario wants it. Raises ModelError."""
    context, spec = work.context, models.validator.spec
    if not has_text_control(context.scenario, context.mode, spec) or not context.view.has_text:
        return model_checks.validate(step, work, models, found=found)
    found = found or model_checks.answer_blind(step, work, models)
    judged = model_checks.validate(step, work, models, found=found)
    if judged.verdict is None or validator.rejection(judged.verdict) is not None:
        return judged
    if not found.looked:
        return _rejected(judged, "the validator found the answer without looking at a picture")
    return _controlled(step, work, models, judged)


def _controlled(step: Validate, work: DocumentWork, models: QAModels, judged: Judged) -> Judged | Controlled:
    context = replace(work.context, mode=Mode.TEXTUAL)
    found = validator.answer_blind(context, models.validator, step.candidate.question, step.attempt)
    judged = judged.model_copy(update={"calls": (*judged.calls, *found.calls)})
    if is_malformed(found.failure):
        return judged.model_copy(update={"verdict": None, "failure": found.failure})
    if found.answer is None or not found.answer.answerable or not found.answer.answer.strip():
        return judged
    given = found.answer.answer
    same, failure, calls = _same(step, work, models, given)
    judged = judged.model_copy(update={"calls": (*judged.calls, *calls)})
    if is_malformed(failure):
        return judged.model_copy(update={"verdict": None, "failure": failure})
    return _rejected(judged, f"without pictures the validator answered {given[:300]!r}") if same else judged


def _same(
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


def _rejected(judged: Judged, detail: str) -> Controlled:
    if judged.verdict is None:
        raise ValueError("a candidate without a verdict is not controlled")
    return Controlled(
        verdict=judged.verdict,
        reason=RejectionReason.ANSWERABLE_FROM_TEXT,
        detail=detail,
        calls=judged.calls,
    )
