"""Runs the slots of one part of an exam and stores each result as soon as it is done.

Designs run one after another, because the designer is shown the earlier ideas. The other steps of the slots run in parallel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ModelError
from qagen_dagster.loop.call_totals import total_spent
from qagen_dagster.loop.exams.plan import PartPlan, finished_slot
from qagen_dagster.loop.exams.run_item import Worked, slot_result, work_item
from qagen_dagster.loop.exams.state_machine import Designed, Ended, ExamEvent, replay
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.parallel import EarlyStop, WorkOutcome, work_on_each
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, all_metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.records.exams.bank import SlotPlan, SlotResult
from qagen_dagster.records.exams.submissions import IdeaPlan

STOP_AFTER = 3  # a part ends early after this many permanent model failures without any success
Progress = Callable[[int, int, str], None]


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


def part_results(workspace: Workspace, plan: PartPlan) -> tuple[SlotResult, ...]:
    """The results of the slots, in order. There is none for a slot that was not worked or whose model failed."""
    return tuple(workspace.store.read(key, SlotResult) for key in result_keys(workspace, plan).values())


def result_keys(workspace: Workspace, plan: PartPlan) -> dict[int, str]:
    """The keys of the part's results by slot: of the results that stay, and of the results of this configuration."""
    found = dict(plan.kept)
    for slot in plan.numbers:
        for key in (plan.result_key(slot), plan.partial_key(slot)):
            if slot not in found and workspace.store.find_valid(key, SlotResult) is not None:
                found[slot] = key
    return dict(sorted(found.items()))


def part_plans(workspace: Workspace, plan: PartPlan) -> tuple[SlotPlan, ...]:
    """The state of the design of every slot, in order."""
    found: list[SlotPlan] = []
    for slot in plan.numbers:
        key = plan.kept.get(slot, plan.result_key(slot))
        if key != plan.result_key(slot):
            idea = workspace.store.read(key, SlotResult).plan
            found.append(SlotPlan(part=plan.part, slot=slot, plan=idea))
            continue
        events = plan.journal(slot, workspace).events
        state, taken = replay(events, plan.limits)
        calls = tuple(call for event in events[:taken] if isinstance(event, Designed) for call in event.calls)
        idea, failures = state.plan, state.design_failures
        found.append(SlotPlan(part=plan.part, slot=slot, plan=idea, failures=failures, calls=calls))
    return tuple(found)


@dataclass
class _PartRun:
    workspace: Workspace
    plan: PartPlan
    run_id: str
    spending_id: str
    progress: Progress | None
    ideas: dict[int, str] = field(default_factory=dict[int, str])  # by slot
    stop: EarlyStop = field(default_factory=lambda: EarlyStop(STOP_AFTER))

    @cached_property
    def models(self) -> dict[Role, Model]:
        return self.plan.models(self.workspace)

    @cached_property
    def spending(self) -> RunSpending:
        return RunSpending(self.workspace.store, self.plan.part.spending_folder(self.spending_id))

    def design(self) -> WorkOutcome[int]:
        """Design the missing slots in order.

        The designer is shown the ideas of earlier slots, and those of later slots that an earlier run has designed.
        """
        outcome = WorkOutcome[int]()
        slots = part_plans(self.workspace, self.plan)
        self.ideas = {one.slot: _idea(one.plan) for one in slots if one.plan is not None}
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
                note = "designed" if design_only else "accepted" if worked.step == Ended() else "rejected"
            if self.progress is not None:
                count = len(outcome.finished) + len(outcome.reused)
                self.progress(count, self.plan.slots, f"{self.plan.part.key} {slot}: {note}")

        work_on_each(slots, work, done, workers=self.workspace.settings.document_workers)

    def _work(self, slot: int, *, design_only: bool) -> Worked:
        journal = self.plan.journal(slot, self.workspace)
        work = self.plan.work(slot, self._charged(journal))
        # A damaged journal is made again from the ledger, so the designer must be shown the same ideas as then.
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

    def _charged(self, journal: JournalFile[ExamEvent]) -> Mapping[Role, Model]:
        """The models; if there is a budget, with a meter for the item."""
        if self.plan.budget.unlimited:
            return self.models
        spent = total_spent(call for event in journal.events for call in event.calls)
        return all_metered(self.models, BudgetMeter(self.plan.budget, self.spending, spent, "item"))


def _idea(plan: IdeaPlan) -> str:
    """The idea in the form in which the designer of other slots is shown it."""
    return f"{plan.idea_summary} Asked for: {plan.what_is_asked}"
