"""The text control: a visual question that the validator answers without pictures does not need them and is rejected.

It runs last, and only for a candidate that would otherwise be accepted. Decision 19 gives the reasons.
"""

from __future__ import annotations

from dataclasses import replace

from qagen_dagster.agents.questions import validator
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.controls.same_fact import same_fact
from qagen_dagster.loop.questions.events import Controlled, Judged
from qagen_dagster.loop.questions.fingerprint import has_text_control
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import Validate
from qagen_dagster.loop.questions.state_machine import is_malformed
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import RejectionReason

_REASON = RejectionReason.ANSWERABLE_FROM_TEXT


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
        return Controlled.of(judged, _REASON, "the validator found the answer without looking at a picture")
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
    same, failure, calls = same_fact(step, work, models, given)
    judged = judged.model_copy(update={"calls": (*judged.calls, *calls)})
    if is_malformed(failure):
        return judged.model_copy(update={"verdict": None, "failure": failure})
    if not same:
        return judged
    return Controlled.of(judged, _REASON, f"without pictures the validator answered {given[:300]!r}")
