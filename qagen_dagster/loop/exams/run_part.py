"""Runs the slots of one part of an exam: works each item to its end, and stores each result as soon as it is done.

Designs run one after another, because the designer is shown the earlier ideas. The other steps of the slots run in parallel. Each step is
stored in the journal before the next step.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from qagen_dagster.agents import exams
from qagen_dagster.agents.runner import unfinished
from qagen_dagster.configuration.profiles import EXAM_ROLES, Role
from qagen_dagster.errors import BudgetExhaustedError, ModelError
from qagen_dagster.ingest.parallel import Progress
from qagen_dagster.loop.configuration import model_names
from qagen_dagster.loop.exams import state_machine
from qagen_dagster.loop.exams.plan import ItemWork, PartPlan, finished_slot
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.parallel import EarlyStop, WorkOutcome, work_on_each
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, all_metered, total_spent
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.records.exams import bank
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.submissions import IdeaPlan

_STOP_AFTER = 3  # a part ends early after this many permanent model failures without any success
_ValueT = TypeVar("_ValueT")


def run_part(
    workspace: Workspace,
    plan: PartPlan,
    run_id: str,
    progress: Progress | None = None,
    spending_id: str | None = None,
    *,
    design_only: bool = False,
) -> WorkOutcome[int]:
    """Design every slot, one after another, and finish them unless `design_only`.

    A later run resumes where a model failed or a budget was exhausted. Runs with the same `spending_id` (default `run_id`) share a
    budget. Raises ConfigError if a model cannot be built.
    """
    run = _PartRun(workspace, plan, run_id, spending_id or run_id, progress)
    designed = run.design()
    return designed if design_only else run.finish(designed)


def part_results(workspace: Workspace, plan: PartPlan) -> tuple[bank.SlotResult, ...]:
    """The results of the slots, in order. There is none for a slot that was not worked or whose model failed."""
    return tuple(workspace.store.read(key, bank.SlotResult) for key in result_keys(workspace, plan).values())


def result_keys(workspace: Workspace, plan: PartPlan) -> dict[int, str]:
    """The keys of the part's results by slot: of the results that stay, and of the results of this configuration."""
    found = dict(plan.kept)
    for slot in plan.numbers:
        for key in (plan.result_key(slot), plan.partial_key(slot)):
            if slot not in found and workspace.store.find_valid(key, bank.SlotResult) is not None:
                found[slot] = key
    return dict(sorted(found.items()))


def part_plans(workspace: Workspace, plan: PartPlan) -> tuple[bank.SlotPlan, ...]:
    """The state of the design of every slot, in order."""
    found: list[bank.SlotPlan] = []
    for slot in plan.numbers:
        key = plan.kept.get(slot, plan.result_key(slot))
        if key != plan.result_key(slot):
            idea = workspace.store.read(key, bank.SlotResult).plan
            found.append(bank.SlotPlan(part=plan.part, slot=slot, plan=idea))
            continue
        events = plan.journal(slot, workspace).events
        state, taken = state_machine.replay(events, plan.limits)
        calls = tuple(
            call
            for event in events[:taken]
            if isinstance(event, state_machine.Designed)
            for call in event.calls
        )
        idea, failures = state.plan, state.design_failures
        found.append(bank.SlotPlan(part=plan.part, slot=slot, plan=idea, failures=failures, calls=calls))
    return tuple(found)


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


@dataclass
class _PartRun:
    workspace: Workspace
    plan: PartPlan
    run_id: str
    spending_id: str
    progress: Progress | None
    ideas: dict[int, str] = field(default_factory=dict[int, str])  # by slot
    stop: EarlyStop = field(default_factory=lambda: EarlyStop(_STOP_AFTER))

    @cached_property
    def models(self) -> dict[Role, Model]:
        return {role: self.workspace.model(spec) for role, spec in self.plan.specs.items()}

    @cached_property
    def spending(self) -> RunSpending:
        return RunSpending(self.workspace.store, self.plan.part.spending_folder(self.spending_id))

    def design(self) -> WorkOutcome[int]:
        """Design the missing slots in order.

        The designer is shown the ideas of earlier slots, and the ideas of later slots that an earlier run has designed.
        """
        outcome = WorkOutcome[int]()
        slots = part_plans(self.workspace, self.plan)
        self.ideas = {slot.slot: _idea(slot.plan) for slot in slots if slot.plan is not None}
        for known in slots:
            given_up = len(known.failures) > self.plan.limits.max_designer_retries
            if known.plan is not None or given_up or known.slot in self.plan.kept:
                outcome.reused.append(known.slot)
            else:
                self._work_on([known.slot], outcome, design_only=True)
        return outcome

    def finish(self, designed: WorkOutcome[int]) -> WorkOutcome[int]:
        """Finish every slot, except those whose design failed."""
        outcome = WorkOutcome(failed=dict(designed.failed))
        todo: list[int] = []
        for slot in self.plan.numbers:
            if slot in self.plan.kept or finished_slot(self.workspace, self.plan, slot) is not None:
                outcome.reused.append(slot)
            elif slot not in outcome.failed:
                todo.append(slot)
        self._work_on(todo, outcome, design_only=False)
        outcome.finished.sort()
        outcome.stopped.sort()
        return outcome

    def _work_on(self, slots: Sequence[int], outcome: WorkOutcome[int], *, design_only: bool) -> None:
        """Work on slots in parallel, up to their designs if `design_only`, and record how each ended."""

        def work(slot: int) -> Worked | None:
            return self.stop.run(lambda: self._work(slot, design_only=design_only))

        def done(slot: int, worked: Worked | ModelError | None) -> None:
            if worked is None or isinstance(worked, ModelError):
                note = outcome.missed(slot, worked)
            elif worked.stopped:
                outcome.stopped.append(slot)
                note = "budget exhausted"
            else:
                outcome.finished.append(slot)
                ended = "accepted" if worked.step == state_machine.Ended() else "rejected"
                note = "designed" if design_only else ended
            if self.progress is not None:
                count = len(outcome.finished) + len(outcome.reused)
                self.progress(count, self.plan.slots, f"{self.plan.part.key} {slot}: {note}")

        work_on_each(slots, work, done, workers=self.workspace.settings.document_workers)

    def _work(self, slot: int, *, design_only: bool) -> Worked:
        journal = self.plan.journal(slot, self.workspace)
        work = self.plan.work(slot, self._charged(journal))
        # A damaged journal is made again from the ledger, so the designer must be shown the same ideas as before.
        shown = [self.ideas[one] for one in sorted(self.ideas) if one < slot or not journal.damaged]
        worked = work_item(work, journal, shown, design_only=design_only)
        if design_only and worked.state.plan is not None:
            self.ideas[slot] = _idea(worked.state.plan)
        if not design_only:
            result = slot_result(work, worked, self.plan.fingerprint)
            key = (self.plan.result_key if worked.over else self.plan.partial_key)(slot)
            done = {"run_id": self.run_id, "finished": datetime.now(UTC).isoformat()}
            self.workspace.store.write(key, result.model_copy(update=done))
        return worked

    def _charged(self, journal: JournalFile[state_machine.ExamEvent]) -> Mapping[Role, Model]:
        """The models; if there is a budget, with a meter for the item."""
        if self.plan.budget.unlimited:
            return self.models
        spent = total_spent(call for event in journal.events for call in event.calls)
        return all_metered(self.models, BudgetMeter(self.plan.budget, self.spending, spent, "item"))


def _idea(plan: IdeaPlan) -> str:
    """The idea in the form in which the designer of other slots is shown it."""
    return f"{plan.idea_summary} Asked for: {plan.what_is_asked}"


def work_item(
    work: ItemWork,
    journal: JournalFile[state_machine.ExamEvent],
    ideas: Sequence[str],
    *,
    design_only: bool = False,
) -> Worked:
    """Start or resume an item, and work it to its end, to its design (`design_only`), or until its budget is exhausted.

    The designer must avoid `ideas`. A later run resumes from the journal. Raises ModelError, also if all failed steps ended with an
    unusable reply or a refusal. The item is then unfinished, and a later run asks again.
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


def _known(value: _ValueT | None) -> _ValueT:
    """The result of an earlier stage. Raises ValueError if there is none."""
    if value is None:
        raise ValueError("a stage was worked before those that it needs")
    return value


def _about(reply: exams.Reply[Any]) -> dict[str, Any]:
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
    fields = _ended(work, worked)
    identity = bank.item_id(work.part.schema_id, work.part.difficulty, fields["question_package"].question)
    return bank.ExamItem(id=identity, proof=_known(_known(worked.state.last).examination).proof, **fields)


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
    """The fields that accepted and rejected items have in common."""
    last = worked.state.last or bank.Attempt(number=0)
    return {
        **{name: getattr(work.part, name) for name in ("exam", "schema_id", "difficulty")},
        "schema_title": work.context.schema.title,
        "models": model_names({role: model.spec for role, model in work.models.items()}),
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
