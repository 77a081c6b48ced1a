"""Converts the final state of the batch strategy into the records that are stored, with the missing questions and the reasons."""

from collections import Counter
from functools import partial

from qagen_dagster.agents.questions.batch.shown_text import Reading
from qagen_dagster.loop.questions.batch.state import BatchState
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.limits import BatchLimits
from qagen_dagster.loop.questions.result import ENDED, result_of, shortfalls, why_ended, with_missing
from qagen_dagster.loop.questions.state import Done
from qagen_dagster.loop.questions.state_machine import wanted_only
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.results import (
    CallSummary,
    GenerationResult,
    LineSpan,
    Shortfall,
)


def batch_result(
    work: DocumentWork,
    models: QAModels,
    state: BatchState,
    limits: BatchLimits,
    done: Done,
    reading: Reading,
    calls: tuple[CallSummary, ...],
) -> GenerationResult:
    """The result of a finished document. It has the wanted questions, and a shortfall for each kind of which some are missing."""
    chosen = state.qa.model_copy(update={"accepted": wanted_only(state.qa.accepted, limits)})
    written = Counter(one.question_type.value for one in state.drafts)
    missing = shortfalls(chosen, limits.mix, partial(_why, state, done), written)
    shown = reading.spans(state.parts) if state.parts else ()
    end = done.model_copy(update={"detail": _detail(done, missing, shown, work)})
    result = result_of(work, models, chosen, end, calls)
    return result.model_copy(update={"shortfalls": missing, "grades": _grades(state, work), "shown": shown})


def _why(state: BatchState, done: Done, kind: str) -> str:
    """What the generator said about a type, or why the work ended."""
    said = {one.value: why for one, why in state.not_possible.items()}.get(kind)
    told = f"the generator: {said}" if said else ""
    if said and done.end not in ENDED:
        return told
    return "; ".join(filter(None, (told, why_ended(done))))


def _detail(
    done: Done, missing: tuple[Shortfall, ...], shown: tuple[LineSpan, ...], work: DocumentWork
) -> str:
    lines = sum(span.end - span.start + 1 for span in shown)
    parts = [
        with_missing(done.detail, missing),
        f"the generator was shown {lines} of {len(work.context.view.lines)} lines, in {len(shown)} places"
        if shown
        else "",
    ]
    return "; ".join(filter(None, parts))


def _grades(state: BatchState, work: DocumentWork) -> dict[str, AnswerGrade]:
    document = work.context.view.document.id
    return {
        question_id(work.combination, document, one.question, one.answer): one.grade for one in state.graded
    }
