"""Converts the final state of the batch strategy into the records that are stored, with the missing questions and the reasons."""

from __future__ import annotations

from collections import Counter

from qagen_dagster.agents.questions.batch.shown_text import Reading
from qagen_dagster.loop.questions.batch.state import BatchState
from qagen_dagster.loop.questions.batch.state_machine import missing_of
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.limits import Wanted
from qagen_dagster.loop.questions.result import result_of
from qagen_dagster.loop.questions.state import Accepted, Done
from qagen_dagster.records.corpus_config import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.results import (
    CallSummary,
    DocumentEnd,
    GenerationResult,
    LineSpan,
    Shortfall,
)

_ENDED = {
    DocumentEnd.CONSECUTIVE_FAILURES: "work stopped after too many failures in a row",
    DocumentEnd.BUDGET_EXHAUSTED: "the budget ended",
}


def batch_result(
    work: DocumentWork,
    models: QAModels,
    state: BatchState,
    wanted: Wanted,
    done: Done,
    reading: Reading,
    calls: tuple[CallSummary, ...],
) -> GenerationResult:
    """The result of a finished document. It has the wanted questions, and a shortfall for each type of which some are missing."""
    chosen = state.qa.model_copy(update={"accepted": _wanted_only(state, wanted)})
    shortfalls = _shortfalls(state, wanted, done)
    shown = reading.spans(state.parts) if state.parts else ()
    end = done.model_copy(update={"detail": _detail(done, shortfalls, shown, work)})
    result = result_of(work, models, chosen, end, calls)
    return result.model_copy(
        update={"shortfalls": shortfalls, "grades": _grades(state, work), "shown": shown}
    )


def _wanted_only(state: BatchState, wanted: Wanted) -> tuple[Accepted, ...]:
    """The first accepted questions of each type, as many as are wanted. A journal may have more, if the target was higher."""
    left = {kind.value: count for kind, count in wanted}
    kept: list[Accepted] = []
    for one in state.qa.accepted:
        kind = one.candidate.question_type
        if left.get(kind, 0):
            left[kind] -= 1
            kept.append(one)
    return tuple(kept)


def _shortfalls(state: BatchState, wanted: Wanted, done: Done) -> tuple[Shortfall, ...]:
    counts = dict(wanted)
    return tuple(
        Shortfall(
            question_type=kind.value,
            wanted=counts[kind],
            accepted=counts[kind] - missing,
            reason=_reason(state, kind, done),
        )
        for kind, missing in missing_of(state, wanted).items()
    )


def _reason(state: BatchState, kind: QuestionType, done: Done) -> str:
    """What became of the questions of a type, what the generator said about the type, and why the work ended."""
    written = sum(one.question_type is kind for one in state.drafts)
    reasons = Counter(
        one.reason.value for one in state.qa.rejected if one.candidate.question_type == kind.value
    )
    rejected = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    parts = [
        f"{written} written" + (f", rejected: {rejected}" if rejected else ""),
        f"the generator: {state.not_possible[kind]}" if kind in state.not_possible else "",
        _ENDED.get(done.end, "") or (f"ended after {done.detail}" if kind not in state.not_possible else ""),
    ]
    return "; ".join(filter(None, parts))


def _detail(
    done: Done, shortfalls: tuple[Shortfall, ...], shown: tuple[LineSpan, ...], work: DocumentWork
) -> str:
    missing = ", ".join(f"{one.missing} {one.question_type}" for one in shortfalls)
    lines = sum(span.end - span.start + 1 for span in shown)
    parts = [
        done.detail,
        f"missing: {missing}" if missing else "",
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
