"""Runs stages over the problems of a set in parallel, and derives the record of each problem from the results of its tasks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ModelError
from qagen_dagster.ingest.parallel import Progress
from qagen_dagster.loop.parallel import EarlyStop, WorkOutcome, counter, work_on_each
from qagen_dagster.loop.problems.inputs import ROLE_OF, ProblemWork
from qagen_dagster.loop.problems.plan import PlaceholderModel, SetPlan
from qagen_dagster.loop.problems.run_problem import Worked, work_problem
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, total_spent
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.records.problems.result import (
    ORIGINAL,
    PipelineResult,
    ProblemBank,
    ProblemEnd,
    ProblemRecord,
    Stage,
    TaskEnd,
    TaskResult,
)
from qagen_dagster.records.problems.submissions import Problem, VariantKind

_MORE = (Stage.ALTERNATE, Stage.VARIANT, Stage.CONVERT)
STOP_AFTER = 3  # a run ends early after this many permanent model failures without any success


def record_of(problem: Problem, worked: Worked, models: Mapping[str, str]) -> ProblemRecord:
    """The record of a problem. Rejected outputs appear only in its tasks."""
    results, ended = worked.state.results, worked.ended
    good = [result for result in results if result.end in (TaskEnd.DONE, TaskEnd.GIVEN)]
    scan = next((one for one in good if one.scan is not None), None)
    classification = next((one.classification for one in good if one.classification), problem.classification)
    return ProblemRecord(
        id=problem.id,
        end=ended.end,
        problem=problem,
        detail=ended.detail,
        classification=classification,
        latex=scan.scan.latex if scan is not None and scan.scan is not None else problem.tex.strip(),
        raw_diagram_description=scan.scan.raw_diagram_description if scan is not None and scan.scan else None,
        tikz=next((one.tikz for one in good if one.tikz is not None), None),
        ideas=next((one.ideas for one in good if one.ideas is not None), problem.ideas),
        alternates=tuple(one.alternate for one in good if one.alternate is not None),
        variants={one.task.made: one.variant.latex for one in good if one.variant and one.task.made},
        conversions={one.task.made: one.conversion.latex for one in good if one.conversion and one.task.made},
        compiled=scan.compiled if scan is not None else None,
        tasks=tuple(result.model_copy(update={"raw": ""}) for result in results),
        breaches=tuple(breach for result in results for breach in result.breaches),
        models=dict(models),
        timestamp=max((result.at for result in results), default=""),
    )


def pipeline_result(record: ProblemRecord) -> PipelineResult | None:
    """The result of a problem in the form that the pipeline's design describes; None if the problem was never classified."""
    if record.classification is None:
        return None
    return PipelineResult(
        source_path=record.problem.source_path,
        classification=record.classification,
        latex=record.edited.get(ORIGINAL, record.latex),
        tikz_code=record.tikz.tikz_code if record.tikz is not None else None,
        ideas=record.ideas,
        alternate_solutions=[alternate.solution for alternate in record.alternates],
        variants={
            made: record.edited.get(made, latex)
            for made, latex in record.variants.items()
            if made not in record.withdrawn
        },
    )


def failures(record: ProblemRecord) -> tuple[str, ...]:
    """One line for each requested output that is missing."""
    return tuple(_outcome_line(record, task) for task in record.tasks if not task.end.ok)


def refusals(record: ProblemRecord) -> tuple[str, ...]:
    """The lines of `failures` that leave the problem itself valid: a further solution, variant or format is impossible."""
    return tuple(
        _outcome_line(record, task)
        for task in record.tasks
        if task.task.stage in _MORE
        and task.end is TaskEnd.DECLINED
        and task.task.variant is not VariantKind.MULTI
    )


def _outcome_line(record: ProblemRecord, result: TaskResult) -> str:
    return f"{record.id}: {result.task.key}: {result.end.value}: {result.detail}"


def run_stages(
    workspace: Workspace,
    plan: SetPlan,
    problem_ids: Sequence[str],
    stages: Collection[Stage],
    run_id: str,
    progress: Progress | None = None,
    spending_id: str | None = None,
) -> WorkOutcome[str]:
    """Do the missing tasks of `stages` for the named problems.

    A finished problem has a result for every task of the stages, or was rejected. A reused problem had these results before the run.
    Runs with the same `spending_id` (default `run_id`) share a budget. Raises ConfigError for an unknown problem, and if a model
    cannot be built.
    """
    problems = [plan.problem(one) for one in problem_ids]
    run = _SetRun(workspace, plan, tuple(stages), spending_id or run_id, progress)
    return run.work(problems)


def stored_work(workspace: Workspace, plan: SetPlan, problem: Problem) -> tuple[ProblemWork, Worked]:
    """The work on a problem, with models that cannot be asked, and its progress by the stored results."""
    models = {role: PlaceholderModel(spec) for role, spec in plan.specs.items()}
    work = plan.work(problem, models, workspace.store)
    return work, work_problem(work, plan.results(problem, workspace.store), ())


def gather_record(workspace: Workspace, plan: SetPlan, problem: Problem) -> ProblemRecord:
    """The current record of a problem: the published record if it stays. Asks no model and writes nothing."""
    _, worked = stored_work(workspace, plan, problem)
    models = {role.value: spec.name for role, spec in plan.specs.items()}
    asked = {ROLE_OF[one.task.stage].value: one.model for one in worked.state.results if one.model}
    made, former = record_of(problem, worked, models | asked), plan.former.get(problem.id)
    kept = made.end is ProblemEnd.UNFINISHED or (not plan.replace and made.end is not ProblemEnd.ACCEPTED)
    return former if former is not None and kept else made


def gather_bank(workspace: Workspace, plan: SetPlan, title: str) -> ProblemBank:
    """A bank of all problems of the set in their current state, and of the problems that only the published bank has and that stay."""
    records = {problem.id: gather_record(workspace, plan, problem) for problem in plan.problems}
    if (plan.refresh or not plan.replace) and plan.former.keys() - records.keys():
        records = {**plan.former, **records}
    return ProblemBank(name=plan.name, title=title, problems=tuple(records.values()))


@dataclass
class _SetRun:
    workspace: Workspace
    plan: SetPlan
    stages: tuple[Stage, ...]
    spending_id: str
    progress: Progress | None
    stop: EarlyStop = field(default_factory=lambda: EarlyStop(STOP_AFTER))

    @cached_property
    def models(self) -> dict[Role, Model]:
        return {role: self.workspace.model(spec) for role, spec in self.plan.specs.items()}

    @cached_property
    def spending(self) -> RunSpending:
        return RunSpending(
            self.workspace.store, ProblemBank.spending_folder(self.spending_id, self.plan.name)
        )

    def work(self, problems: Sequence[Problem]) -> WorkOutcome[str]:
        outcome = WorkOutcome[str]()
        if not problems:
            return outcome
        _ = self.models, self.spending  # built before threads share them
        count = counter(self.progress, len(problems))

        def done(problem: Problem, worked: Worked | ModelError | None) -> None:
            count(f"{problem.id}: {_note(problem.id, worked, outcome)}")

        workers = self.workspace.settings.document_workers
        work_on_each(problems, lambda one: self.stop.run(lambda: self._work(one)), done, workers=workers)
        order = [one.id for one in problems]
        for names in (outcome.finished, outcome.reused, outcome.stopped):
            names.sort(key=order.index)
        return outcome

    def _work(self, problem: Problem) -> Worked:
        work = self.plan.work(problem, self.models, self.workspace.store)
        results = self.plan.results(problem, self.workspace.store)
        if not self.plan.budget.unlimited:
            known = work_problem(work, results, ()).state.results
            spent = total_spent(call for result in known for call in result.calls)
            work = work.metered(BudgetMeter(self.plan.budget, self.spending, spent, "problem"))
        return work_problem(work, results, self.stages)


def _note(problem_id: str, worked: Worked | ModelError | None, outcome: WorkOutcome[str]) -> str:
    if worked is None or isinstance(worked, ModelError):
        return outcome.missed(problem_id, worked)
    if worked.stopped:
        outcome.stopped.append(problem_id)
        return "budget exhausted"
    (outcome.finished if worked.asked else outcome.reused).append(problem_id)
    ended = worked.ended
    return "done" if ended.end in (ProblemEnd.ACCEPTED, ProblemEnd.UNFINISHED) else ended.end.value
