"""The two model checks that every candidate must pass: it is not a duplicate, and the validator agrees with its answer."""

from __future__ import annotations

from collections.abc import Callable

from qagen_dagster.agents.questions import validator
from qagen_dagster.english.answers import contradiction, equal
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.duplicates import similarity as dedupe
from qagen_dagster.loop.questions.state import Compared, Dedupe, Judged, QAState, Validate
from qagen_dagster.records.ids import Mode


def compare(
    step: Dedupe,
    state: QAState,
    work: DocumentWork,
    models: QAModels,
    before_asking: Callable[[], None] = lambda: None,
) -> Compared:
    """Compare the candidate with the accepted questions of its document. `before_asking` runs first if a model decides.

    Raises ModelError.
    """
    known = [dedupe.Known(one.candidate.question, one.candidate.answer) for one in state.accepted]
    new = dedupe.Known(step.candidate.question, step.candidate.answer)
    return dedupe.compare(
        models.deduplicator,
        new,
        known,
        models.encode,
        document_id=work.context.view.document.id,
        attempt=step.attempt,
        before_asking=before_asking,
    )


def answer_blind(step: Dedupe | Validate, work: DocumentWork, models: QAModels) -> validator.BlindFinding:
    """The validator's own answer to the question. Raises ModelError."""
    return validator.answer_blind(work.context, models.validator, step.candidate.question, step.attempt)


def validate(
    step: Validate,
    work: DocumentWork,
    models: QAModels,
    rule: validator.TypeRule | None = None,
    found: validator.BlindFinding | None = None,
) -> Judged:
    """Let the validator judge the candidate. `found` is its blind answer; if it is None, the validator answers first.

    If the question type has a `rule`, the rule is checked, too. Raises ModelError.
    """
    # two readers may read slightly different values from a picture
    textual = work.context.mode is Mode.TEXTUAL
    return validator.judge(
        work.context,
        models.validator,
        step.candidate,
        step.attempt,
        rule,
        found=found,
        equal=equal,
        contradiction=contradiction if textual else lambda _one, _other: "",
    )
