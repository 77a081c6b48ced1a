"""Works one exam item to its end: performs each step of its state machine and stores it in the journal before the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from qagen_dagster.agents.exams import designer, implementer, style_judge, verifier
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.exams.events import (
    Designed,
    ExamEvent,
    Examined,
    Implemented,
    Solved,
    Styled,
    Verified,
)
from qagen_dagster.loop.exams.inputs import ItemWork
from qagen_dagster.loop.exams.state_machine import (
    Accepted,
    Design,
    Examine,
    GivenUp,
    Implement,
    ItemState,
    JudgeStyle,
    Solve,
    Step,
    Verify,
    next_step,
    replay,
    transition,
)
from qagen_dagster.loop.journal import JournalFile


@dataclass(frozen=True)
class Worked:
    """The progress of an item: a final step, or the next one. `stopped` says which budget ended."""

    state: ItemState
    step: Step
    events: tuple[ExamEvent, ...]
    stopped: str = ""

    @property
    def over(self) -> bool:
        return isinstance(self.step, (Accepted, GivenUp))


def work_item(
    work: ItemWork, journal: JournalFile[ExamEvent], ideas: Sequence[str], *, design_only: bool = False
) -> Worked:
    """Start or resume an item and work it to its end, to its design, or until its budget ends.

    The designer must avoid `ideas`. Raises ModelError; a later run then resumes from the journal.
    """
    known = journal.events
    state, taken = replay(known, work.limits)
    used: list[ExamEvent] = list(known[:taken])
    step = next_step(state, work.limits)
    while not isinstance(step, (Accepted, GivenUp)) and not (design_only and state.plan is not None):
        try:
            event = _perform(step, work, state, ideas)
        except BudgetExhaustedError as error:
            return Worked(state, step, tuple(used), str(error))
        journal.append(event)
        used.append(event)
        state = transition(state, event)
        step = next_step(state, work.limits)
    return Worked(state, step, tuple(used))


def _perform(
    step: Design | Implement | Examine | Solve | Verify | JudgeStyle,
    work: ItemWork,
    state: ItemState,
    ideas: Sequence[str],
) -> ExamEvent:
    """Perform one step. Raises ModelError."""
    context, models, attempt = work.context, work.models, len(state.attempts)
    match step:
        case Design():
            idea = designer.design(context, models.designer, ideas, step.failures)
            return Designed(plan=idea.result, failure=idea.failure, raw=idea.raw, calls=idea.calls, at=_now())
        case Implement():
            made = implementer.implement(context, models.implementer, step.plan, step.number, _failed(step))
            return Implemented(
                package=made.result, failure=made.failure, raw=made.raw, calls=made.calls, at=_now()
            )
        case Examine():
            return Examined(examination=work.examine(step.package), at=_now())
        case Solve():
            own = verifier.solve(context, models.verifier, step.package.question, attempt)
            return Solved(blind=own.result, failure=own.failure, raw=own.raw, calls=own.calls, at=_now())
        case Verify():
            found = verifier.verify(context, models.verifier, step.package, step.blind, attempt)
            return Verified(
                report=found.result, failure=found.failure, raw=found.raw, calls=found.calls, at=_now()
            )
        case JudgeStyle():
            judged = style_judge.judge(context, models.style_judge, step.package, step.report, attempt)
            return Styled(
                report=judged.result,
                failure=judged.failure,
                raw=judged.raw,
                calls=judged.calls,
                at=_now(),
            )


def _failed(step: Implement) -> implementer.Failed | None:
    if step.failed is None or step.finding is None:
        return None
    return implementer.Failed(
        package=step.failed.package,
        caught_by=step.finding.stage.value,
        detail=f"{step.finding.name}: {step.finding.detail}",
        instructions=step.finding.instructions,
        report=step.failed.report,
        style=step.failed.style,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
