"""Runs the slots of one part of an exam: designs one after the other, then questions side by side; each durable when done.

A design is told of the designs before it, so designing has an order; what follows has none. The pool of items is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.loop.calls import spent_on
from qagen_dagster.loop.exams.events import ExamEvent
from qagen_dagster.loop.exams.item import Worked, work_item
from qagen_dagster.loop.exams.plan import PartPlan, finished_slot
from qagen_dagster.loop.exams.result import slot_plan, slot_result
from qagen_dagster.loop.exams.states import Accepted, replay
from qagen_dagster.loop.exams.work import ExamModels
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.spending import DocumentToll, SpendingBook
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.item import IdeaPlan
from qagen_dagster.records.exams.result import SlotPlan, SlotResult

STOP_AFTER = 3  # permanent model failures in a row, with no success, that end a part early
Progress = Callable[[int, int, str], None]
_NOT_TRIED = "not tried: the model failed for good before"


@dataclass
class PartOutcome:
    """How a run over a part ended: slots by what became of them."""

    finished: list[int] = field(default_factory=list[int])
    reused: list[int] = field(default_factory=list[int])
    stopped: list[int] = field(default_factory=list[int])  # the budget ended; a later run goes on from there
    failed: dict[int, str] = field(default_factory=dict[int, str])


def design_part(
    workspace: Workspace,
    plan: PartPlan,
    run_id: str,
    progress: Progress | None = None,
    spending_id: str | None = None,
) -> PartOutcome:
    """Bring every slot to its idea, one after the other; the next run goes on where a model failed or a budget ended.

    Runs of one `spending_id` (else `run_id`) share a budget. Raises ConfigError when a model cannot be built.
    """
    return _PartRun(workspace, plan, run_id, spending_id or run_id, progress).design()


def run_part(
    workspace: Workspace,
    plan: PartPlan,
    run_id: str,
    progress: Progress | None = None,
    spending_id: str | None = None,
) -> PartOutcome:
    """Bring every slot to its end, first to its idea where that is missing. As `design_part`."""
    run = _PartRun(workspace, plan, run_id, spending_id or run_id, progress)
    return run.finish(run.design())


def part_results(workspace: Workspace, plan: PartPlan) -> tuple[SlotResult, ...]:
    """What the slots gave, in order; nothing of those that were not worked, or whose model failed."""
    found = (
        finished_slot(workspace, plan, slot) or workspace.store.find_valid(plan.partial_key(slot), SlotResult)
        for slot in range(1, plan.slots + 1)
    )
    return tuple(one for one in found if one is not None)


def part_plans(workspace: Workspace, plan: PartPlan) -> tuple[SlotPlan, ...]:
    """How far the design of every slot is, in order."""
    found: list[SlotPlan] = []
    for slot in range(1, plan.slots + 1):
        events = plan.journal(slot, workspace).events
        state, taken = replay(events, plan.limits)
        found.append(slot_plan(plan.part, slot, state, events[:taken]))
    return tuple(found)


@dataclass
class _PartRun:
    workspace: Workspace
    plan: PartPlan
    run_id: str
    spending_id: str
    progress: Progress | None
    ideas: dict[int, str] = field(default_factory=dict[int, str])  # by slot
    stop: threading.Event = field(default_factory=threading.Event)
    succeeded: threading.Event = field(default_factory=threading.Event)
    permanent: list[int] = field(default_factory=list[int])  # slots that failed for good

    @cached_property
    def models(self) -> ExamModels:
        return self.plan.models(self.workspace)

    @cached_property
    def book(self) -> SpendingBook:
        return SpendingBook(self.workspace.store, self.plan.part.spending_folder(self.spending_id))

    def design(self) -> PartOutcome:
        """Each design is told of those before it, and one that failed in an earlier run of those after it, too."""
        outcome = PartOutcome()
        slots = part_plans(self.workspace, self.plan)
        self.ideas = {one.slot: _idea(one.plan) for one in slots if one.plan is not None}
        for known in slots:
            if known.plan is not None or len(known.failures) > self.plan.limits.max_designer_retries:
                outcome.reused.append(known.slot)
                continue
            plan = self._design(known.slot, outcome)
            if plan is not None:
                self.ideas[known.slot] = _idea(plan)
        return outcome

    def finish(self, designed: PartOutcome) -> PartOutcome:
        """Work every slot to its end but those whose design failed."""
        outcome = PartOutcome(failed=dict(designed.failed))
        todo: list[int] = []
        for slot in range(1, self.plan.slots + 1):
            if finished_slot(self.workspace, self.plan, slot) is not None:
                outcome.reused.append(slot)
            elif slot not in outcome.failed:
                todo.append(slot)
        if todo:
            self._side_by_side(todo, outcome)
        return outcome

    def _design(self, slot: int, outcome: PartOutcome) -> IdeaPlan | None:
        try:
            worked = self._guarded(slot, design_only=True)
        except ModelError as error:
            outcome.failed[slot] = str(error)
            return None
        if worked is None:
            outcome.failed[slot] = _NOT_TRIED
            return None
        (outcome.stopped if worked.stopped else outcome.finished).append(slot)
        note = "budget exhausted" if worked.stopped else "designed"
        self._say(slot, len(outcome.finished) + len(outcome.reused), note)
        return worked.state.plan

    def _guarded(self, slot: int, *, design_only: bool = False) -> Worked | None:
        """Work a slot; None when the part was stopped before it began."""
        if self.stop.is_set():
            return None
        try:
            worked = self._work(slot, design_only=design_only)
        except PermanentModelError:
            self.permanent.append(slot)
            if len(self.permanent) >= STOP_AFTER and not self.succeeded.is_set():
                self.stop.set()
            raise
        self.succeeded.set()
        return worked

    def _work(self, slot: int, *, design_only: bool) -> Worked:
        journal = self.plan.journal(slot, self.workspace)
        work = self.plan.work(slot, self._charged(journal))
        # A damaged journal is made again from the ledger: the designer is asked what it was asked then.
        told = [self.ideas[one] for one in sorted(self.ideas) if one < slot or not journal.damaged]
        worked = work_item(work, journal, told, design_only=design_only)
        if not design_only:
            result = slot_result(work, worked, self.plan.fingerprint)
            key = (self.plan.result_key if worked.over else self.plan.partial_key)(slot)
            done = {"run_id": self.run_id, "finished": datetime.now(UTC).isoformat()}
            self.workspace.store.write(key, result.model_copy(update=done))
        return worked

    def _charged(self, journal: JournalFile[ExamEvent]) -> ExamModels:
        """The models, charged to the item's budget where there is one."""
        if self.plan.budget.unlimited:
            return self.models
        spent = spent_on(call for event in journal.events for call in event.calls)
        return self.models.charged_to(DocumentToll(self.plan.budget, self.book, spent, "item"))

    def _side_by_side(self, todo: Sequence[int], outcome: PartOutcome) -> None:
        workers = min(self.workspace.settings.document_workers, len(todo))
        threads = ThreadPoolExecutor(workers, thread_name_prefix="item")
        try:
            self._gather({threads.submit(self._guarded, slot): slot for slot in todo}, outcome)
        except BaseException as error:
            self.stop.set()
            # Who interrupts does not wait for calls in flight: journals keep what was finished.
            threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            raise
        threads.shutdown()

    def _gather(self, futures: dict[Future[Worked | None], int], outcome: PartOutcome) -> None:
        for future in as_completed(futures):
            slot = futures[future]
            try:
                worked = future.result()
            except ModelError as error:
                outcome.failed[slot], note = str(error), "failed"
            else:
                note = self._note(slot, worked, outcome)
            done = len(outcome.finished) + len(outcome.reused)
            self._say(slot, done, note)
        outcome.finished.sort()
        outcome.stopped.sort()

    def _note(self, slot: int, worked: Worked | None, outcome: PartOutcome) -> str:
        if worked is None:
            outcome.failed[slot] = _NOT_TRIED
            return "not tried"
        if not worked.over:
            outcome.stopped.append(slot)
            return "budget exhausted"
        outcome.finished.append(slot)
        return "accepted" if isinstance(worked.step, Accepted) else "rejected"

    def _say(self, slot: int, done: int, note: str) -> None:
        if self.progress is not None:
            self.progress(done, self.plan.slots, f"{self.plan.part.key} {slot}: {note}")


def _idea(plan: IdeaPlan) -> str:
    """As other designs are told of it."""
    return f"{plan.idea_summary} Asked for: {plan.what_is_asked}"
