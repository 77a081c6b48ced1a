"""Works on one document to its end: performs each step of the state machine and stores its event in the journal before the next step.

Two kinds of calls start before their step, so that calls overlap. The next candidate is generated while the newest one is checked. The
validator answers the question of a candidate while a model compares the candidate with the accepted questions. The result of such a call is
used when the state machine reaches its step.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from qagen_dagster.agents.questions import generator
from qagen_dagster.agents.questions.batch import questioner
from qagen_dagster.agents.questions.prompt_values import History, QAContext
from qagen_dagster.agents.questions.validator import Replies
from qagen_dagster.errors import BudgetExhaustedError, ModelError
from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.loop.questions import model_checks, state_machine
from qagen_dagster.loop.questions import state as qa
from qagen_dagster.loop.questions.batch.run_document import run_batch
from qagen_dagster.loop.questions.carry_over import all_retired, carried
from qagen_dagster.loop.questions.document_journal import DocumentJournal, events_of
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.result import (
    pairs_of,
    rejections_of,
    result_of,
    shortfalls,
    why_ended,
    with_missing,
)
from qagen_dagster.loop.questions.stopping import BatchLimits
from qagen_dagster.models.base import Model
from qagen_dagster.records.document import Document, IndexEntry
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.imported import NOT_COVERED
from qagen_dagster.records.questions.submissions import BlindAnswer


def run_document(
    work: DocumentWork,
    models: QAModels,
    journal: DocumentJournal,
    earlier: results.GenerationResult | None = None,
) -> results.GenerationResult:
    """Start or resume a document, and work on it to its end or until its budget is exhausted. `BatchLimits` mean the batch strategy.

    `earlier` is the result of the document before it changed. If the journal is empty, the questions of `earlier` are taken over.
    Raises ModelError. After an error or an exhausted budget, a later run resumes from the journal.
    """
    end = unusable(work.context)
    if end is not None:
        lost = "the document cannot be used any more"
        retired = () if earlier is None else all_retired(earlier, lost)
        return result_of(work, models, qa.QAState(retired=retired), end)
    if earlier is not None and not journal.events:
        journal.append(carried(work, earlier))
    if isinstance(work.limits, BatchLimits):
        return run_batch(work, work.limits, models, journal)
    events: tuple[qa.Event, ...] = events_of(qa.Event, journal)
    state, taken = state_machine.replay(events, work.limits)
    state = state_machine.ask_again(state, work.limits)
    used: list[qa.Event] = list(events[:taken])
    with DocumentSteps(work, models) as steps:
        while not isinstance(step := state_machine.next_step(state, work.limits), qa.Done):
            try:
                event = steps.perform(step, state)
            except BudgetExhaustedError as error:
                step = qa.Done(end=results.DocumentEnd.BUDGET_EXHAUSTED, detail=str(error))
                break
            state_machine.check_recheck(state, event)
            journal.append(event)
            used.append(event)
            state = state_machine.transition(state, event)
    state_machine.check_replies(state, step)
    calls = tuple(call for event in used for call in event.calls)
    # a changed document may bring more questions than are wanted
    chosen = state.model_copy(update={"accepted": state_machine.wanted_only(state.accepted, work.limits)})
    is_exhausted = step.end is results.DocumentEnd.EXHAUSTED_REPORTED
    why = f"the generator: {step.detail}" if is_exhausted else why_ended(step)
    missing = shortfalls(chosen, work.limits.mix, lambda _kind: why)
    end = step.model_copy(update={"detail": with_missing(step.detail, missing)})
    result = result_of(work, models, chosen, end, (*calls, *steps.unused_calls()))
    return result.model_copy(update={"shortfalls": missing})


def unusable(context: QAContext) -> qa.Done | None:
    """The end of a document that cannot give questions in this mode, or None for a usable document. No model is asked."""
    view = context.view
    return why_unusable(view.document, context.mode, has_text=view.has_text, visuals=len(view.visuals))


def why_unusable(
    document: Document | IndexEntry, mode: Mode, *, has_text: bool, visuals: int
) -> qa.Done | None:
    """As `unusable`, for a document that is not open."""
    end, outcome = results.DocumentEnd.NOT_USABLE, document.outcome
    if outcome not in USABLE:
        return qa.Done(end=end, detail=f"{outcome.value}: {document.detail}")
    if mode is Mode.TEXTUAL and not has_text:
        return qa.Done(end=end, detail=f"{outcome.value}: there is no text to ask about")
    if mode is Mode.VISUAL and not visuals:
        detail = "the document has no tables, figures or page pictures"
        return qa.Done(end=results.DocumentEnd.NO_VISUALS, detail=detail)
    return None


class DocumentSteps:
    """Performs the steps of one document. It is a context manager, which waits at its end for all calls that it started."""

    def __init__(self, work: DocumentWork, models: QAModels) -> None:
        self._work, self._models = work, models
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="ahead")
        self._generation: Future[qa.Event] | None = None
        self._answer: Future[Replies[BlindAnswer]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def perform(self, step: qa.Step, state: qa.QAState) -> qa.Event:
        """Perform one step, and start the generation that may run at the same time. Raises ModelError."""
        ahead = state_machine.next_ahead(state, self._work.limits) if self._models.overlap else None
        if ahead is not None and self._generation is None:
            self._generation = self._threads.submit(self._generate, ahead, state)
        match step:
            case qa.Generate():
                started, self._generation = self._generation, None
                return started.result() if started is not None else self._generate(step, state)
            case qa.Dedupe():
                return self._compare(step, state)
            case qa.Validate():
                started, self._answer = self._answer, None
                found = started.result() if started is not None else None
                writer = self._writer(step.attempt)
                return model_checks.judge(step, state, self._work, self._models, writer, found)
            case qa.Mend():
                return self._mend(step, state)
            case qa.Done():
                raise ValueError("a finished document has no step to perform")

    def unused_calls(self) -> tuple[results.CallSummary, ...]:
        """The calls that were started ahead and whose results no step has used."""
        generation, self._generation = self._generation, None
        return (*_unused(generation), *self._unused_answer())

    def _compare(self, step: qa.Dedupe, state: qa.QAState) -> qa.Compared:
        def answer() -> None:
            if self._models.overlap:
                self._answer = self._threads.submit(model_checks.answer_blind, step, self._work, self._models)

        found = model_checks.compare(step, state, self._work, self._models, before_asking=answer)
        if found.duplicate_of is None:
            return found
        return found.model_copy(update={"calls": (*found.calls, *self._unused_answer())})

    def _unused_answer(self) -> tuple[results.CallSummary, ...]:
        answer, self._answer = self._answer, None
        return _unused(answer)

    def _generate(self, step: qa.Generate, state: qa.QAState) -> qa.Event:
        model, seen = self._writer(step.attempt), self._history(state_machine.as_generator_sees(state))
        return generator.propose(self._work.context, model, seen, step.attempt)

    def _mend(self, step: qa.Mend, state: qa.QAState) -> qa.Mended:
        """Ask for a correction in the conversation that made the candidate. The ledger replays the earlier turns."""
        history = self._history(state_machine.as_generator_saw(state))
        found = generator.mend(
            self._work.context,
            self._writer(step.attempt),
            history,
            step.attempt,
            step.candidate,
            refusal(step),
        )
        return found.model_copy(update={"calls": found.calls[step.calls :]})

    def _writer(self, attempt: int) -> Model:
        return self._models.writing(self._work.context.view.document.id, attempt).generator

    def _history(self, seen: qa.QAState) -> History:
        model, mix = self._models.generator, self._work.limits.mix
        left = None if mix is None else mix.without([one.candidate for one in seen.accepted])
        return History(
            left=left,
            wanted="" if left is None else questioner.wanted_in_words(left),
            accepted=pairs_of(seen, self._work, model.spec.name, ""),
            rejected=(*self._work.avoided, *rejections_of(seen, self._work)),
            viewed_pages=seen.viewed_pages,
            also_seen=(*seen.also_seen, *(f"{NOT_COVERED}: {one}" for one in self._work.missing)),
        )


def refusal(step: qa.Mend) -> str:
    """The message to the generator about its refused candidate."""
    if step.reason is results.RejectionReason.TRIVIAL:
        return f"{generator.TRIVIAL} ({step.detail})"
    return generator.REFUSED[step.reason]


def _unused(begun: Future[qa.Event] | Future[Replies[BlindAnswer]] | None) -> tuple[results.CallSummary, ...]:
    """Wait for a started step that is not used, and return its calls, marked as unused. A ModelError is ignored."""
    try:
        calls = begun.result().calls if begun is not None else ()
    except ModelError:
        return ()
    return tuple(call.model_copy(update={"unused": True}) for call in calls)
