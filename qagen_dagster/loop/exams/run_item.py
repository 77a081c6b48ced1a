"""Works one exam item to its end, and derives its result. Each step is stored in the journal before the next step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

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

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Worked:
    """The progress of an item. `step` is the final or the next step. `stopped` says which budget is exhausted."""

    state: state_machine.ItemState
    step: state_machine.Step
    events: tuple[state_machine.ExamEvent, ...]
    stopped: str = ""

    @property
    def over(self) -> bool:
        return isinstance(self.step, state_machine.Ended)


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
    while not isinstance(step, state_machine.Ended) and not (design_only and state.plan is not None):
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
    step: bank.Stage, work: ItemWork, state: state_machine.ItemState, ideas: Sequence[str]
) -> state_machine.ExamEvent:
    """Work one stage. Raises ModelError."""
    context, number = work.context, len(state.attempts)
    designer, implementer, verifier, style_judge = (work.models[role] for role in EXAM_ROLES)
    if step is bank.Stage.DESIGNER:
        idea = exams.design(context, designer, ideas, state.design_failures)
        return state_machine.Designed(plan=idea.result, **_about(idea))
    if step is bank.Stage.IMPLEMENTER:
        failed = _failed(state.last, work.limits.thresholds)
        question = exams.implement(context, implementer, _known(state.plan), number + 1, failed)
        return state_machine.Implemented(package=question.result, **_about(question))
    last = _known(state.last)
    package = _known(last.package)
    if step is bank.Stage.GATES:
        return state_machine.Examined(examination=work.examine(package), at=_now())
    if step is bank.Stage.BLIND_SOLUTION:
        solution = exams.solve(context, verifier, package.question, number)
        return state_machine.Solved(blind=solution.result, **_about(solution))
    if step is bank.Stage.VERIFIER:
        verdict = exams.verify(context, verifier, package, _known(last.blind), number)
        return state_machine.Verified(report=verdict.result, **_about(verdict))
    style = exams.judge_style(context, style_judge, package, _known(last.report), number)
    return state_machine.Styled(report=style.result, **_about(style))


def _known(value: ValueT | None) -> ValueT:
    """What an earlier stage gave. Raises ValueError if it gave nothing."""
    if value is None:
        raise ValueError("a stage was worked before those that it needs")
    return value


def _about(reply: Reply[Any]) -> dict[str, Any]:
    """The fields that all events for replies of models have."""
    return {"failure": reply.failure, "raw": reply.raw, "calls": reply.calls, "at": _now()}


def _failed(last: bank.Attempt | None, thresholds: StyleThresholds) -> exams.Failed | None:
    finding = None if last is None else state_machine.finding_of(last, thresholds)
    return None if last is None or finding is None else exams.Failed(last, finding)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def slot_result(work: ItemWork, worked: Worked, fingerprint: str) -> bank.SlotResult:
    """The result of a slot. The caller adds the run and the time."""
    step, end, detail = worked.step, bank.SlotEnd.BUDGET_EXHAUSTED, worked.stopped
    item = rejected = None
    if isinstance(step, state_machine.Ended) and step.finding is not None:
        rejected = _rejected(work, worked, step.finding)
        end, detail = bank.SlotEnd.REJECTED, step.finding.detail
    elif worked.over:
        item, end = _item(work, worked), bank.SlotEnd.ACCEPTED
    return bank.SlotResult(
        part=work.part,
        slot=work.slot,
        end=end,
        end_detail=detail,
        plan=worked.state.plan,
        attempts=worked.state.attempts,
        item=item,
        rejected=rejected,
        log=tuple(_log(worked.events, work.limits.thresholds)),
        calls=tuple(call for event in worked.events for call in event.calls),
        fingerprint=fingerprint,
    )


def _item(work: ItemWork, worked: Worked) -> bank.ExamItem:
    told = _ended(work, worked)
    identity = bank.item_id(work.part.schema_id, work.part.difficulty, told["question_package"].question)
    return bank.ExamItem(id=identity, proof=_known(_known(worked.state.last).examination).proof, **told)


def _rejected(work: ItemWork, worked: Worked, finding: bank.Finding) -> bank.RejectedItem:
    return bank.RejectedItem(
        slot=work.slot,
        stage=finding.stage.value,
        failure_type=finding.name,
        severity=finding.severity,
        reasons=(finding.detail,),
        **_ended(work, worked),
    )


def _ended(work: ItemWork, worked: Worked) -> dict[str, Any]:
    """The fields that accepted and rejected items have of the work on them."""
    last = worked.state.last or bank.Attempt(number=0)
    return {
        **{name: getattr(work.part, name) for name in ("exam", "schema_id", "difficulty")},
        "schema_title": work.context.schema.title,
        "models": work.model_names,
        "idea_plan": worked.state.plan,
        "question_package": last.package,
        "blind_solution": last.blind,
        "verifier_report": last.report,
        "style_report": last.style,
        "attempts": last.number,
        "timestamp": worked.events[-1].at,
    }


def _log(events: tuple[state_machine.ExamEvent, ...], thresholds: StyleThresholds) -> Iterator[bank.StageLog]:
    state = state_machine.ItemState()
    for event in events:
        state = state_machine.transition(state, event)
        stage, raw = state_machine.stage_of(event), getattr(event, "raw", "")
        if isinstance(event, state_machine.Designed):
            attempt, detail = len(state.design_failures) + (event.plan is not None), event.failure
        else:
            attempt, found = len(state.attempts), state_machine.finding_of(state.attempts[-1], thresholds)
            detail = "" if found is None else f"{found.name} ({found.severity.value}): {found.detail}"
        ok = event.plan is not None if isinstance(event, state_machine.Designed) else not detail
        if ok and isinstance(event, state_machine.Examined):
            detail = f"proof: {event.examination.proof.status.value}"
        yield bank.StageLog(stage=stage, attempt=attempt, ok=ok, detail=detail, raw_text=raw, at=event.at)
