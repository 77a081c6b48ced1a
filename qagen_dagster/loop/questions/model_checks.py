"""The two model checks of a candidate in its document: a comparison with the accepted questions, and a blind answer."""

from collections.abc import Callable

from qagen_dagster.agents.questions import validator
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.duplicates import similarity as dedupe
from qagen_dagster.loop.questions.state import Compared, Dedupe, QAState, Validate


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
