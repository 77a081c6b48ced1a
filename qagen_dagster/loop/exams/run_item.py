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
from qagen_dagster.loop.exams import state_machine
from qagen_dagster.loop.exams.plan import ItemWork
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.records.exams import bank
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.submissions import ExamPart

_STAGES = {
    state_machine.Designed: bank.Stage.DESIGNER,
    state_machine.Implemented: bank.Stage.IMPLEMENTER,
    state_machine.Examined: bank.Stage.GATES,
    state_machine.Solved: bank.Stage.BLIND_SOLUTION,
    state_machine.Verified: bank.Stage.VERIFIER,
    state_machine.Styled: bank.Stage.STYLE_JUDGE,
}


@dataclass(frozen=True)
class Worked:
    """The progress of an item. `step` is the final or the next step. `stopped` says which budget is exhausted."""

    state: state_machine.ItemState
    step: state_machine.Step
    events: tuple[state_machine.ExamEvent, ...]
    stopped: str = ""

    @property
    def over(self) -> bool:
        return isinstance(self.step, (state_machine.Accepted, state_machine.GivenUp))


def work_item(
    work: ItemWork,
    journal: JournalFile[state_machine.ExamEvent],
    ideas: Sequence[str],
    *,
    design_only: bool = False,
) -> Worked:
    """Start or resume an item, and work it to its end, to its design (`design_only`), or until its budget is exhausted.

    The designer must avoid `ideas`. A later run resumes from the journal. Raises ModelError, also if no reply was usable in the failed
    steps: the item is unfinished then, and a later run asks again.
    """
    known = journal.events
    state, taken = state_machine.replay(known, work.limits)
    used: list[state_machine.ExamEvent] = list(known[:taken])
    step = state_machine.next_step(state, work.limits)
    while not isinstance(step, (state_machine.Accepted, state_machine.GivenUp)) and not (
        design_only and state.plan is not None
    ):
        try:
            event = _perform(step, work, state, ideas)
        except BudgetExhaustedError as error:
            return Worked(state, step, tuple(used), str(error))
        journal.append(event)
        used.append(event)
        state = state_machine.transition(state, event)
        step = state_machine.next_step(state, work.limits)
    useless = state_machine.useless_end(state, work.limits)
    if useless:
        raise unfinished(useless)
    return Worked(state, step, tuple(used))


def _perform(
    step: state_machine.Design
    | state_machine.Implement
    | state_machine.Examine
    | state_machine.Solve
    | state_machine.Verify
    | state_machine.JudgeStyle,
    work: ItemWork,
    state: state_machine.ItemState,
    ideas: Sequence[str],
) -> state_machine.ExamEvent:
    """Perform one step. Raises ModelError."""
    context, attempt = work.context, len(state.attempts)
    designer, implementer, verifier, style_judge = (work.models[role] for role in EXAM_ROLES)
    match step:
        case state_machine.Design():
            idea = exams.design(context, designer, ideas, step.failures)
            return state_machine.Designed(plan=idea.result, **_about(idea))
        case state_machine.Implement():
            question = exams.implement(context, implementer, step.plan, step.number, _failed(step))
            return state_machine.Implemented(package=question.result, **_about(question))
        case state_machine.Examine():
            return state_machine.Examined(examination=work.examine(step.package), at=_now())
        case state_machine.Solve():
            solution = exams.solve(context, verifier, step.package.question, attempt)
            return state_machine.Solved(blind=solution.result, **_about(solution))
        case state_machine.Verify():
            verdict = exams.verify(context, verifier, step.package, step.blind, attempt)
            return state_machine.Verified(report=verdict.result, **_about(verdict))
        case state_machine.JudgeStyle():
            style = exams.judge_style(context, style_judge, step.package, step.report, attempt)
            return state_machine.Styled(report=style.result, **_about(style))


def _about(reply: Reply[Any]) -> dict[str, Any]:
    """The fields that all events for replies of models have."""
    return {"failure": reply.failure, "raw": reply.raw, "calls": reply.calls, "at": _now()}


def _failed(step: state_machine.Implement) -> exams.Failed | None:
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


def slot_result(work: ItemWork, worked: Worked, fingerprint: str) -> bank.SlotResult:
    """The result of a slot. The caller adds the run and the time."""
    step = worked.step
    item = _item(work, step, worked.events) if isinstance(step, state_machine.Accepted) else None
    rejected = _rejected(work, worked, step) if isinstance(step, state_machine.GivenUp) else None
    end = (
        bank.SlotEnd.ACCEPTED
        if item
        else bank.SlotEnd.REJECTED
        if rejected
        else bank.SlotEnd.BUDGET_EXHAUSTED
    )
    return bank.SlotResult(
        part=work.part,
        slot=work.slot,
        end=end,
        end_detail=step.finding.detail if isinstance(step, state_machine.GivenUp) else worked.stopped,
        plan=worked.state.plan,
        attempts=worked.state.attempts,
        item=item,
        rejected=rejected,
        log=tuple(_log(worked.events, work.limits.thresholds)),
        calls=tuple(call for event in worked.events for call in event.calls),
        fingerprint=fingerprint,
    )


def slot_plan(
    part: ExamPart, slot: int, state: state_machine.ItemState, events: tuple[state_machine.ExamEvent, ...]
) -> bank.SlotPlan:
    """The state of the design of a slot."""
    return bank.SlotPlan(
        part=part,
        slot=slot,
        plan=state.plan,
        failures=state.design_failures,
        calls=tuple(
            call for event in events if isinstance(event, state_machine.Designed) for call in event.calls
        ),
    )


def _item(
    work: ItemWork, step: state_machine.Accepted, events: tuple[state_machine.ExamEvent, ...]
) -> bank.ExamItem:
    examination = step.attempt.examination
    if step.attempt.blind is None:
        raise ValueError("an accepted question was solved blind")
    return bank.ExamItem(
        id=bank.item_id(work.part.schema_id, work.part.difficulty, step.package.question),
        **_place(work),
        idea_plan=step.plan,
        question_package=step.package,
        blind_solution=step.attempt.blind,
        verifier_report=step.report,
        style_report=step.style,
        proof=examination.proof if examination is not None else bank.Proof(),
        attempts=step.attempt.number,
        timestamp=events[-1].at,
    )


def _place(work: ItemWork) -> dict[str, Any]:
    """The fields that accepted and rejected items have of the work on them."""
    place = {"schema_title": work.context.schema.title, "models": work.model_names}
    return {name: getattr(work.part, name) for name in ("exam", "schema_id", "difficulty")} | place


def _rejected(work: ItemWork, worked: Worked, step: state_machine.GivenUp) -> bank.RejectedItem:
    last = worked.state.last or bank.Attempt(number=0)
    return bank.RejectedItem(
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


def _log(events: tuple[state_machine.ExamEvent, ...], thresholds: StyleThresholds) -> Iterator[bank.StageLog]:
    state = state_machine.ItemState()
    for event in events:
        state = state_machine.transition(state, event)
        stage, raw = _STAGES[type(event)], "" if isinstance(event, state_machine.Examined) else event.raw
        if isinstance(event, state_machine.Designed):
            attempt, detail = len(state.design_failures) + (event.plan is not None), event.failure
        else:
            attempt, found = len(state.attempts), state_machine.finding_of(state.attempts[-1], thresholds)
            detail = "" if found is None else f"{found.name} ({found.severity.value}): {found.detail}"
        ok = event.plan is not None if isinstance(event, state_machine.Designed) else not detail
        if ok and isinstance(event, state_machine.Examined):
            detail = f"proof: {event.examination.proof.status.value}"
        yield bank.StageLog(stage=stage, attempt=attempt, ok=ok, detail=detail, raw_text=raw, at=event.at)
