"""Runs the asset graph in this process, on the project's Dagster instance: the runs appear in the UI."""

from __future__ import annotations

import logging
import os
import platform
import uuid
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

import dagster as dg

from qagen_dagster.defs.evaluation.assets import STAGES as EVALUATION_STAGES
from qagen_dagster.defs.jobs import DOCUMENTS, EXAM_PART, ITEM_BANK, PROBLEMS, QUESTIONS
from qagen_dagster.defs.launch import assets_of, config_of, every, problem_ops, question_ops
from qagen_dagster.defs.run_records import failure_lines, was_interrupted
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.errors import ConfigError, QagenError
from qagen_dagster.loop.questions.combination import RunOptions, plan, unfinished
from qagen_dagster.loop.questions.run_shard import CombinationRun, announce, forget, start_all
from qagen_dagster.loop.refresh.tasks import Task
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.evaluation import Kind
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import apply, dagster_home

KILLED = "the process of this run was killed; start it again to resume"
# Tags of a run: the machine and the process it runs in. The UI hides tags that begin with `.dagster/`.
HOST, PROCESS = ".dagster/qagen_host", ".dagster/qagen_process"


class Progress(Protocol):
    """Receives the progress of runs."""

    def step(self, title: str) -> None: ...

    def say(self, note: str) -> None: ...

    def done(self) -> None: ...


class Graph:
    """Runs parts of the graph one after another; a context manager around the Dagster instance.

    Methods return the errors of failed runs, one line each; all runs of one Graph share a budget.
    """

    def __init__(self, definitions: dg.Definitions, progress: Progress) -> None:
        home = dagster_home()
        if not home.is_dir():
            raise ConfigError("is not a folder (DAGSTER_HOME)", file=home)
        apply({"DAGSTER_HOME": str(home)})
        self._progress = progress
        self._spending = str(uuid.uuid4())
        self._definitions = definitions
        self._started: dict[str, str] = {}  # run ids of combinations whose documents have been started
        self._instance = dg.DagsterInstance.get()
        self.dead = end_dead_runs(self._instance)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run_id in self._started.values():
            forget(run_id)
        self._instance.dispose()

    def documents(self, corpus: str) -> list[str]:
        """Parse a corpus and find its visuals."""
        return self.materialize(f"parse {corpus}", DOCUMENTS, corpus)

    def start(self, space: Workspace, combinations: Iterable[Combination], options: RunOptions) -> None:
        """Start the documents of several combinations, so that the runs of `questions` wait for them in parallel.

        A combination that cannot be planned is left to its run, which reports the error.
        """
        runs: list[CombinationRun] = []
        for one in combinations:
            with suppress(QagenError):
                planned, run_id = plan(space, one, options), str(uuid.uuid4())
                names = tuple(unfinished(space, planned))
                runs.append(CombinationRun(space, planned, names, run_id, self._spending))
                announce(runs[-1])
                self._started[one.key] = run_id
        start_all(runs)

    def questions(
        self,
        combination: Combination,
        profile: str | None,
        target_count: int | None,
        shard_size: int | None,
        budget: Allowance | None = None,
        *,
        replace: bool = False,
    ) -> list[str]:
        """Make the published set of a combination and grade it."""
        chosen = {"profile": profile, "target_count": target_count, "shard_size": shard_size}
        money = {} if budget is None else budget.model_dump(exclude_none=True)
        given = {name: value for name, value in chosen.items() if value is not None} | money
        ops = question_ops(given, money, replace=replace)
        run_id = self._started.get(combination.key)
        return self.materialize(combination.key, QUESTIONS, combination.key, {"ops": ops}, run_id)

    def evaluate(
        self,
        combination: Combination,
        kinds: tuple[Kind, ...],
        profile: str | None,
        budget: Allowance | None = None,
    ) -> list[str]:
        """Evaluate a published set."""
        money = {} if budget is None else budget.model_dump(exclude_none=True)
        given = ({} if profile is None else {"profile": profile}) | money
        assets = tuple(EVALUATION_STAGES[kind].asset for kind in kinds)
        config = {"ops": every(assets, given)}
        return self.materialize(f"evaluate {combination.key}", assets, combination.key, config)

    def refresh(self, task: Task, options: RunOptions) -> list[str]:
        """Bring one product up to date."""
        limits = {} if options.run_budget is None else options.run_budget.model_dump(exclude_none=True)
        config = config_of(task, limits, options.profile)
        return self.materialize(task.name, assets_of(task), task.partition or None, config)

    def exam_schemas(self, exam: str) -> list[str]:
        """Read the schemas of an exam."""
        return self.materialize(f"schemas {exam}", ("exam_schemas",), exam)

    def exam_part(self, part: str, chosen: dict[str, Any]) -> list[str]:
        """Make the items of one part. `chosen` holds fields of ExamRunConfig."""
        return self.materialize(part, EXAM_PART, part, {"ops": every(EXAM_PART, chosen)})

    def item_bank(self, exam: str, *, replace: bool = False) -> list[str]:
        """Collect the items of an exam into its bank and export it."""
        config = {"ops": every(ITEM_BANK, {"replace": replace})}
        return self.materialize(f"bank {exam}", ITEM_BANK, exam, config)

    def problem_set(self, key: str, chosen: dict[str, Any]) -> list[str]:
        """Make the bank of a problem set. `chosen` holds fields of ProblemConfig."""
        return self.materialize(f"problems {key}", PROBLEMS, key, {"ops": problem_ops(chosen)})

    def catalog(self) -> list[str]:
        """Rebuild the catalog."""
        return self.materialize("catalog", ("catalog",), None)

    def materialize(
        self,
        title: str,
        assets: tuple[str, ...],
        partition: str | None,
        config: dict[str, Any] | None = None,
        run_id: str | None = None,
    ) -> list[str]:
        """Materialize `assets` for one partition.

        Raises KeyboardInterrupt when the run was interrupted, which Dagster only records.
        """
        self._progress.step(title)
        job = self._definitions.resolve_implicit_global_asset_job_def()
        try:
            result = job.execute_in_process(
                instance=self._instance,
                asset_selection=[dg.AssetKey(name) for name in assets],
                partition_key=partition,
                tags={HOST: platform.node(), PROCESS: str(os.getpid()), SPENDING_TAG: self._spending},
                run_config={**(config or {}), "loggers": {"console": {"config": {}}}},
                raise_on_error=False,
                run_id=run_id,
            )
        except dg.DagsterExecutionInterruptedError:
            raise KeyboardInterrupt from None
        self._progress.done()
        if was_interrupted(result.all_events):
            raise KeyboardInterrupt
        return [] if result.success else [f"{title}: {line}" for line in failure_lines(result.all_events)]


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """End the runs that a killed process of this machine left as started; returns their ids.

    Nothing else ends them: they would look busy for ever, occupy pools, and keep automation from their partitions.
    """
    begun = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    mine = dg.RunsFilter(statuses=begun, tags={HOST: platform.node()})
    dead = [run for run in instance.get_runs(mine) if not _is_alive(int(run.tags[PROCESS]))]
    for run in dead:
        instance.report_run_failed(run, KILLED)
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in dead]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process of another user
        return True
    return True


def progress_logger(progress: Progress) -> dg.LoggerDefinition:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            progress.say(str(getattr(record, "dagster_meta", {}).get("orig_message", record.getMessage())))

    def build(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("qagen.progress", logging.INFO)
        logger.addHandler(Handler())
        return logger

    return dg.LoggerDefinition(build)
