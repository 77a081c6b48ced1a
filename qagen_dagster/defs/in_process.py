"""Runs the asset graph in this process, on the project's Dagster instance: the runs appear in the UI."""

from __future__ import annotations

import logging
import os
import platform
import uuid
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import dagster as dg
from dagster._core.definitions.assets.job.asset_job import IMPLICIT_ASSET_JOB_NAME
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.definitions.repository_definition import SINGLETON_REPOSITORY_NAME
from dagster._core.execution.api import execute_run_iterator
from dagster._core.instance.ref import InstanceRef
from dagster._core.remote_origin import ManagedGrpcPythonEnvCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from dagster._core.storage.sql import create_engine
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from qagen_dagster.defs.evaluation.assets import STAGES as EVALUATION_STAGES
from qagen_dagster.defs.jobs import DOCUMENTS, EXAM_PART, ITEM_BANK, JOBS, PROBLEMS, QUESTIONS
from qagen_dagster.defs.launch import assets_of, config_of, every, problem_ops, question_ops
from qagen_dagster.defs.run_records import PARTITION_TAG, failure_lines, was_interrupted
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.questions.head_start import HeadStart
from qagen_dagster.loop.refresh.tasks import Task
from qagen_dagster.loop.unfinished import mark
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.evaluation import Kind
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import apply
from qagen_dagster.store import Store

KILLED = "the process of this run was killed; start it again to resume"
# Tags of a run: the machine and the process it runs in. The UI hides tags that begin with `.dagster/`.
HOST, PROCESS = ".dagster/qagen_host", ".dagster/qagen_process"
INTERRUPTED = "this run was interrupted; start it again to resume"
# Dagster would copy the output of a run to a file by four processes of its own, which a Ctrl-C of a terminal also
# reaches: they print their tracebacks. Logs of ops are events, so the file has nothing to show.
_NO_STREAMS = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
MODULE = "qagen_dagster.definitions"
# The code location of workspace.yaml. The UI lists a run under its job by it.
REPOSITORY = RemoteRepositoryOrigin(
    ManagedGrpcPythonEnvCodeLocationOrigin(LoadableTargetOrigin(module_name=MODULE), "qagen_dagster"),
    SINGLETON_REPOSITORY_NAME,
)


def keep_engines() -> None:
    """Let Dagster's SQLite storages keep the engines of the last few databases.

    They make an engine for each event, and a new engine compiles every statement again, which takes longer than writing the
    event. The engines have no pool, so a kept engine holds no connection.
    """
    for module in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
        vars(module)["create_engine"] = _engine


def _engine(address: str, poolclass: type, connect_args: dict[str, Any] | None = None) -> Any:
    return _kept(address, poolclass, tuple((connect_args or {}).items()))


@lru_cache(maxsize=8)  # a run has a database of its own, and three are shared
def _kept(address: str, poolclass: type, connect_args: tuple[tuple[str, Any], ...]) -> Any:
    return create_engine(address, poolclass=poolclass, connect_args=dict(connect_args))


class Progress(Protocol):
    """Receives the progress of runs."""

    def step(self, title: str) -> None: ...

    def say(self, note: str) -> None: ...

    def done(self) -> None: ...


class Graph:
    """Runs parts of the graph one after another; a context manager around the Dagster instance.

    Methods return the errors of failed runs, one line each; all runs of one Graph share a budget.
    """

    def __init__(
        self,
        definitions: dg.Definitions,
        store: Store,
        home: Path,
        progress: Progress,
        ahead: HeadStart | None = None,
    ) -> None:
        apply({"DAGSTER_HOME": str(home)})
        self._progress, self._store = progress, store
        self._definitions = definitions
        self.ahead = ahead or HeadStart()
        keep_engines()
        reference = InstanceRef.from_dir(str(home), overrides={"compute_logs": _NO_STREAMS})
        self._instance = dg.DagsterInstance.from_ref(reference)
        self.dead = end_dead_runs(self._instance)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ahead.end()
        end_dead_runs(self._instance)  # of processes that were killed meanwhile
        self._instance.dispose()

    def documents(self, corpus: str) -> list[str]:
        """Parse a corpus and find its visuals."""
        return self.materialize(f"parse {corpus}", DOCUMENTS, corpus, run_id=self.ahead.run_ids.get(corpus))

    def questions(
        self,
        combination: Combination,
        options: RunOptions,
        shard_size: int | None = None,
        *,
        replace: bool = False,
    ) -> list[str]:
        """Make the published set of a combination and grade it."""
        chosen = {
            "profile": options.profile,
            "target_count": options.target_count,
            "num_documents": options.num_documents,
            "shard_size": shard_size,
        }
        money = {} if options.run_budget is None else options.run_budget.model_dump(exclude_none=True)
        given = {name: value for name, value in chosen.items() if value is not None} | money
        ops = question_ops(given, money, replace=replace)
        run_id = self.ahead.run_ids.get(combination.key)
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
        run_id = run_id or str(uuid.uuid4())
        keys = [dg.AssetKey(name) for name in assets]
        job = self._job(assets).as_ephemeral_job({}, {}, asset_selection=keys)
        tags = {HOST: platform.node(), PROCESS: str(os.getpid()), SPENDING_TAG: self.ahead.spending_id}
        if partition is not None:
            mark(self._store, partition, begun=assets)  # from here on, an interrupted run shows in the UI
        try:
            run = self._instance.create_run_for_job(
                job_def=job,
                run_id=run_id,
                run_config={**(config or {}), "loggers": {"console": {"config": {}}}},
                tags=tags if partition is None else {**tags, PARTITION_TAG: partition},
                asset_selection=frozenset(keys),
                remote_job_origin=REPOSITORY.get_job_origin(job.name),
            )
            events = list(execute_run_iterator(InMemoryJob(job), run, self._instance))
        except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
            self._end(run_id)
            raise KeyboardInterrupt from None
        self._progress.done()
        if was_interrupted(events):
            raise KeyboardInterrupt
        failed = any(event.is_run_failure for event in events)
        return [f"{title}: {line}" for line in failure_lines(events)] if failed else []

    def _end(self, run_id: str) -> None:
        """End a run that was interrupted while Dagster did not listen for it."""
        run = self._instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            _fail(self._instance, run, INTERRUPTED)

    def _job(self, assets: tuple[str, ...]) -> dg.JobDefinition:
        """The job of the code location that has these assets, under which the UI shows the run."""
        names = (name for name, (members, _) in JOBS.items() if set(assets) <= set(members))
        return self._definitions.resolve_job_def(next(names, IMPLICIT_ASSET_JOB_NAME))


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """End the runs that a killed process of this machine left as started; returns their ids.

    Nothing else ends them: they would look busy for ever, occupy pools, and keep automation from their partitions.
    """
    begun = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    mine = dg.RunsFilter(statuses=begun, tags={HOST: platform.node()})
    own = (
        run for run in instance.get_runs(mine) if run.parent_run_id is None
    )  # the UI copies tags to a re-execution
    dead = [run for run in own if not _is_alive(int(run.tags[PROCESS]))]
    for run in dead:
        _fail(instance, run, KILLED)
    return [run.run_id for run in dead]


def _fail(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    instance.report_run_failed(run, why)
    instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


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
