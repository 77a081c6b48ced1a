"""Works one exam item to its end, and derives its result. Each step is stored in the journal before the next step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from qagen_dagster.agents import exams
from qagen_dagster.agents.exams import Reply
from qagen_dagster.agents.runner import unfinished
from qagen_dagster.configuration.profiles import EXAM_ROLES
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.exams.plan import ItemWork
from qagen_dagster.loop.exams.state_machine import (
    Accepted,
    Design,
    Designed,
    ExamEvent,
    Examine,
    Examined,
    GivenUp,
    Implement,
    Implemented,
    ItemState,
    JudgeStyle,
    Solve,
    Solved,
    Step,
    Styled,
    Verified,
    Verify,
    finding_of,
    next_step,
    replay,
    transition,
    useless_end,
)
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.records.exams.bank import (
    Attempt,
    ExamItem,
    Proof,
    RejectedItem,
    SlotEnd,
    SlotPlan,
    SlotResult,
    Stage,
    StageLog,
    item_id,
)
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.submissions import ExamPart

_STAGES = {
    Designed: Stage.DESIGNER,
    Implemented: Stage.IMPLEMENTER,
    Examined: Stage.GATES,
    Solved: Stage.BLIND_SOLUTION,
    Verified: Stage.VERIFIER,
    Styled: Stage.STYLE_JUDGE,
}


@dataclass(frozen=True)
class Worked:
    """The progress of an item. `step` is the final or the next step. `stopped` says which budget is exhausted."""

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
    """Start or resume an item, and work it to its end, to its design (`design_only`), or until its budget is exhausted.

    The designer must avoid `ideas`. A later run resumes from the journal. Raises ModelError, also if no reply was usable in the failed
    steps: the item is unfinished then, and a later run asks again.
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
    useless = useless_end(state, work.limits)
    if useless:
        raise unfinished(useless)
    return Worked(state, step, tuple(used))


def _perform(
    step: Design | Implement | Examine | Solve | Verify | JudgeStyle,
    work: ItemWork,
    state: ItemState,
    ideas: Sequence[str],
) -> ExamEvent:
    """Perform one step. Raises ModelError."""
    context, attempt = work.context, len(state.attempts)
    designer, implementer, verifier, style_judge = (work.models[role] for role in EXAM_ROLES)
    match step:
        case Design():
            idea = exams.design(context, designer, ideas, step.failures)
            return Designed(plan=idea.result, **_about(idea))
        case Implement():
            question = exams.implement(context, implementer, step.plan, step.number, _failed(step))
            return Implemented(package=question.result, **_about(question))
        case Examine():
            return Examined(examination=work.examine(step.package), at=_now())
        case Solve():
            solution = exams.solve(context, verifier, step.package.question, attempt)
            return Solved(blind=solution.result, **_about(solution))
        case Verify():
            verdict = exams.verify(context, verifier, step.package, step.blind, attempt)
            return Verified(report=verdict.result, **_about(verdict))
        case JudgeStyle():
            style = exams.judge_style(context, style_judge, step.package, step.report, attempt)
            return Styled(report=style.result, **_about(style))


def _about(reply: Reply[Any]) -> dict[str, Any]:
    """The fields that all events for replies of models have."""
    return {"failure": reply.failure, "raw": reply.raw, "calls": reply.calls, "at": _now()}


def _failed(step: Implement) -> exams.Failed | None:
    if step.failed is None or step.finding is None:
        return None
    return exams.Failed(
        package=step.failed.package,
        caught_by=step.finding.stage.value,
        detail=f"{step.finding.name}: {step.finding.detail}",
        instructions=step.finding.instructions,
        report=step.failed.report,
        style=step.failed.style,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()


def slot_result(work: ItemWork, worked: Worked, fingerprint: str) -> SlotResult:
    """The result of a slot. The caller adds the run and the time."""
    step = worked.step
    item = _item(work, step, worked.events) if isinstance(step, Accepted) else None
    rejected = _rejected(work, worked, step) if isinstance(step, GivenUp) else None
    end = SlotEnd.ACCEPTED if item else SlotEnd.REJECTED if rejected else SlotEnd.BUDGET_EXHAUSTED
    return SlotResult(
        part=work.part,
        slot=work.slot,
        end=end,
        end_detail=step.finding.detail if isinstance(step, GivenUp) else worked.stopped,
        plan=worked.state.plan,
        attempts=worked.state.attempts,
        item=item,
        rejected=rejected,
        log=tuple(_log(worked.events, work.limits.thresholds)),
        calls=tuple(call for event in worked.events for call in event.calls),
        fingerprint=fingerprint,
    )


def slot_plan(part: ExamPart, slot: int, state: ItemState, events: tuple[ExamEvent, ...]) -> SlotPlan:
    """The state of the design of a slot."""
    return SlotPlan(
        part=part,
        slot=slot,
        plan=state.plan,
        failures=state.design_failures,
        calls=tuple(call for event in events if isinstance(event, Designed) for call in event.calls),
    )


def _item(work: ItemWork, step: Accepted, events: tuple[ExamEvent, ...]) -> ExamItem:
    examination = step.attempt.examination
    if step.attempt.blind is None:
        raise ValueError("an accepted question was solved blind")
    return ExamItem(
        id=item_id(work.part.schema_id, work.part.difficulty, step.package.question),
        **_place(work),
        idea_plan=step.plan,
        question_package=step.package,
        blind_solution=step.attempt.blind,
        verifier_report=step.report,
        style_report=step.style,
        proof=examination.proof if examination is not None else Proof(),
        attempts=step.attempt.number,
        timestamp=events[-1].at,
    )


def _place(work: ItemWork) -> dict[str, Any]:
    """The fields that accepted and rejected items have of the work on them."""
    place = {"schema_title": work.context.schema.title, "models": work.model_names}
    return {name: getattr(work.part, name) for name in ("exam", "schema_id", "difficulty")} | place


def _rejected(work: ItemWork, worked: Worked, step: GivenUp) -> RejectedItem:
    last = worked.state.last or Attempt(number=0)
    return RejectedItem(
        **_place(work),
        slot=work.slot,
        stage=step.finding.stage.value,
        failure_type=step.finding.name,
        severity=step.finding.severity,
        reasons=(step.finding.detail,),
        idea_plan=worked.state.plan,
        question_package=last.package,
        blind_solution=last.blind,
        verifier_report=last.report,
        style_report=last.style,
        attempts=last.number,
        timestamp=worked.events[-1].at,
    )


def _log(events: tuple[ExamEvent, ...], thresholds: StyleThresholds) -> Iterator[StageLog]:
    state = ItemState()
    for event in events:
        state = transition(state, event)
        stage, raw = _STAGES[type(event)], "" if isinstance(event, Examined) else event.raw
        if isinstance(event, Designed):
            attempt, detail = len(state.design_failures) + (event.plan is not None), event.failure
        else:
            attempt, found = len(state.attempts), finding_of(state.attempts[-1], thresholds)
            detail = "" if found is None else f"{found.name} ({found.severity.value}): {found.detail}"
        ok = event.plan is not None if isinstance(event, Designed) else not detail
        if ok and isinstance(event, Examined):
            detail = f"proof: {event.examination.proof.status.value}"
        yield StageLog(stage=stage, attempt=attempt, ok=ok, detail=detail, raw_text=raw, at=event.at)
