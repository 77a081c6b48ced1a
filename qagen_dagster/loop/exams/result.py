"""Derives the result of an item from its events: the accepted item or the rejection, and the log of its stages."""

from __future__ import annotations

from collections.abc import Iterator

from qagen_dagster.loop.exams.events import Designed, ExamEvent, Examined, Implemented, Solved, Verified
from qagen_dagster.loop.exams.findings import finding_of
from qagen_dagster.loop.exams.inputs import ItemWork
from qagen_dagster.loop.exams.run_item import Worked
from qagen_dagster.loop.exams.state_machine import Accepted, GivenUp, ItemState, transition
from qagen_dagster.records.exams.bank import ExamItem, RejectedItem, item_id
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.item import ExamPart
from qagen_dagster.records.exams.proof import Proof
from qagen_dagster.records.exams.result import Attempt, SlotEnd, SlotPlan, SlotResult, Stage, StageLog


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
    """The state of the design."""
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
        exam=work.part.exam,
        schema_id=work.part.schema_id,
        schema_title=work.context.schema.title,
        difficulty=work.part.difficulty,
        idea_plan=step.plan,
        question_package=step.package,
        blind_solution=step.attempt.blind,
        verifier_report=step.report,
        style_report=step.style,
        proof=examination.proof if examination is not None else Proof(),
        models=work.models.names,
        attempts=step.attempt.number,
        timestamp=events[-1].at,
    )


def _rejected(work: ItemWork, worked: Worked, step: GivenUp) -> RejectedItem:
    last = worked.state.last or Attempt(number=0)
    return RejectedItem(
        exam=work.part.exam,
        schema_id=work.part.schema_id,
        schema_title=work.context.schema.title,
        difficulty=work.part.difficulty,
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
        models=work.models.names,
        attempts=last.number,
        timestamp=worked.events[-1].at,
    )


def _log(events: tuple[ExamEvent, ...], thresholds: StyleThresholds) -> Iterator[StageLog]:
    state = ItemState()
    for event in events:
        state = transition(state, event)
        stage, raw = _stage_of(event), "" if isinstance(event, Examined) else event.raw
        if isinstance(event, Designed):
            attempt, detail = len(state.design_failures) + (event.plan is not None), event.failure
        else:
            attempt, detail = len(state.attempts), _detail(state, event, thresholds)
        ok = event.plan is not None if isinstance(event, Designed) else not detail
        if ok and isinstance(event, Examined):
            detail = f"proof: {event.examination.proof.status.value}"
        yield StageLog(stage=stage, attempt=attempt, ok=ok, detail=detail, raw_text=raw, at=event.at)


def _detail(state: ItemState, event: ExamEvent, thresholds: StyleThresholds) -> str:
    """What is wrong after `event`; empty when nothing is wrong."""
    finding = finding_of(state.attempts[-1], thresholds)
    return "" if finding is None else f"{finding.name} ({finding.severity.value}): {finding.detail}"


def _stage_of(event: ExamEvent) -> Stage:
    match event:
        case Designed():
            return Stage.DESIGNER
        case Implemented():
            return Stage.IMPLEMENTER
        case Examined():
            return Stage.GATES
        case Solved():
            return Stage.BLIND_SOLUTION
        case Verified():
            return Stage.VERIFIER
        case _:
            return Stage.STYLE_JUDGE
