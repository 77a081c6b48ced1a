"""Works one document to its end: performs each step of the state machine and stores it in the journal before the next."""

from __future__ import annotations

from qagen_dagster.agents.questions import generator
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.history import History
from qagen_dagster.errors import BudgetExhaustedError, MalformedResponseError
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.batch.limits import BatchLimits
from qagen_dagster.loop.questions.batch.run_document import run_batch
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.journal import DocumentJournal, agent_events
from qagen_dagster.loop.questions.result import empty_result, pairs_of, rejections_of, result_of
from qagen_dagster.loop.questions.state_machine import (
    Dedupe,
    Done,
    Event,
    Exhausted,
    Generate,
    GenerationFailed,
    Proposed,
    QAState,
    Step,
    Validate,
    ask_again,
    check_replies,
    is_useless,
    next_step,
    replay,
    transition,
)
from qagen_dagster.models.base import Model
from qagen_dagster.records.document import Document, IndexEntry, Outcome
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult


def run_document(work: DocumentWork, models: QAModels, journal: DocumentJournal) -> GenerationResult:
    """Start or resume a document and work it to its end, or until its budget ends, by the strategy of its limits.

    Raises ModelError. A later run then resumes from the journal, as it does when the budget ends.
    """
    reason = unusable(work.context)
    if reason is not None:
        return empty_result(work, *reason)
    if isinstance(work.limits, BatchLimits):
        return run_batch(work, work.limits, models, journal)
    events = agent_events(journal)
    state, taken = replay(events, work.limits)
    state = ask_again(state, work.limits)
    used: list[Event] = list(events[:taken])
    while not isinstance(step := next_step(state, work.limits), Done):
        try:
            event = perform(step, state, work, models)
        except BudgetExhaustedError as error:
            step = Done(end=DocumentEnd.BUDGET_EXHAUSTED, detail=str(error))
            break
        journal.append(event)
        used.append(event)
        state = transition(state, event)
    check_replies(state, step)
    if is_useless(state, step):
        raise MalformedResponseError(f"{DocumentEnd.MODEL_ERROR.value}: {state.rejected[-1].detail}")
    calls = tuple(call for event in used for call in event.calls)
    return result_of(work, models, state, step, calls)


def unusable(context: QAContext) -> tuple[DocumentEnd, str] | None:
    """Why a document gives no questions in this mode, before any model is asked."""
    view = context.view
    return why_unusable(view.document, context.mode, has_text=view.has_text, visuals=len(view.visuals))


def why_unusable(
    document: Document | IndexEntry, mode: Mode, *, has_text: bool, visuals: int
) -> tuple[DocumentEnd, str] | None:
    """As `unusable`, for a document that is not open."""
    if document.outcome not in (Outcome.PARSED, Outcome.NO_TEXT):
        return DocumentEnd.NOT_USABLE, f"{document.outcome.value}: {document.detail}"
    if mode is Mode.TEXTUAL and not has_text:
        return DocumentEnd.NOT_USABLE, f"{document.outcome.value}: there is no text to ask about"
    if mode is Mode.VISUAL and not visuals:
        return DocumentEnd.NO_VISUALS, "the document has no tables, figures or page pictures"
    return None


def perform(step: Step, state: QAState, work: DocumentWork, models: QAModels) -> Event:
    """Perform one step. Raises ModelError."""
    match step:
        case Generate():
            return _generate(step, state, work, models.generator)
        case Dedupe():
            return model_checks.compare(step, state, work, models)
        case Validate():
            return model_checks.validate(step, work, models)
        case Done():
            raise ValueError("a finished document has no step to perform")


def _generate(step: Generate, state: QAState, work: DocumentWork, model: Model) -> Event:
    history = History(
        accepted=pairs_of(state, work, model.spec.name, ""),
        rejected=rejections_of(state, work),
        rejected_evidence=tuple(one.candidate.evidence for one in state.rejected),
        viewed_pages=state.viewed_pages,
    )
    found = generator.propose(work.context, model, history, step.attempt)
    if found.candidate is not None:
        return Proposed(candidate=found.candidate, viewed_pages=found.viewed_pages, calls=found.calls)
    if found.exhausted is not None:
        return Exhausted(reason=found.exhausted, viewed_pages=found.viewed_pages, calls=found.calls)
    return GenerationFailed(
        reason=found.failure or "no result", viewed_pages=found.viewed_pages, calls=found.calls
    )
