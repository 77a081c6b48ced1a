"""Runs the asset graph in this process, on the project's Dagster instance, so that the UI shows the runs.

A run waits while another process holds the SQLite files of the instance.
"""

import json
import logging
import os
import platform
import sqlite3
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import dagster as dg
from sqlalchemy import Engine, event

from qagen_dagster.defs.executor import INTERRUPTED
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.presentation import JOBS, members
from qagen_dagster.defs.run_records import failure_lines, was_interrupted
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.product_table import TABLE, Fields, Product
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.unfinished import mark
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import apply

KILLED = "the process of this run was killed; start it again to resume"
# Tags that name the machine and the process of a run. The UI hides tags that begin with `.dagster/`.
HOST, PROCESS = ".dagster/qagen_host", ".dagster/qagen_process"
# Dagster would start four processes that copy the output of a run to a file. A Ctrl-C in a terminal reaches them, too, and they
# print tracebacks. Nothing is lost without the file, because logs of ops are events.
_NO_STREAMS = {
    "module_name": "dagster._core.storage.noop_compute_log_manager",
    "class_name": "NoOpComputeLogManager",
    "config_yaml": "{}",
}
MODULE = "qagen_dagster.definitions"
HELD_SECONDS = 60.0  # maximum wait for one access; a backup or a copy of a large instance takes less time
_SILENT = 2.0  # seconds of waiting that are not reported, because other runs hold the files this long when they write
_INSTANCE_FILES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
_LOG = logging.getLogger(__name__)


def _open_instance(home: Path) -> dg.DagsterInstance:
    """The instance in a folder. It does not keep the output that its runs print."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        settings = instance.get_ref()
    streams = settings.compute_logs_data._replace(**_NO_STREAMS)
    return dg.DagsterInstance.from_ref(settings._replace(compute_logs_data=streams))


def home_origin(job: str) -> Any:
    """The origin of a job in the code location of workspace.yaml. The UI lists a run under the job that its origin names.

    Dagster's class for origins is private, but Dagster's public `deserialize_value` makes an origin from JSON.
    """
    code = {"__class__": "LoadableTargetOrigin", "executable_path": None, "python_file": None}
    code |= {"module_name": MODULE, "working_directory": None, "attribute": None, "package_name": None}
    location = {
        "__class__": "ManagedGrpcPythonEnvRepositoryLocationOrigin",
        "loadable_target_origin": code,
        "location_name": "qagen_dagster",
    }
    repository = {
        "__class__": "ExternalRepositoryOrigin",
        "repository_location_origin": location,
        "repository_name": "__repository__",
    }
    origin = {"__class__": "ExternalPipelineOrigin", "external_repository_origin": repository}
    return dg.deserialize_value(json.dumps(origin | {"pipeline_name": job}))


class Progress(Protocol):
    """Shows the progress of a command: the title of each step, notes about the step, and the end of the step."""

    def step(self, title: str) -> None: ...

    def say(self, note: str) -> None: ...

    def done(self) -> None: ...


class Graph:
    """Runs parts of the graph one after another. It is a context manager that closes the Dagster instance.

    The methods return one line for each error of a failed run; no line means success. All runs of one Graph share a budget. `origin` makes
    the origin of a job from its name. Raises StoreError when another process holds the instance for too long.
    """

    def __init__(
        self,
        definitions: dg.Definitions,
        home: Path,
        progress: Progress,
        work: Work,
        layout: Layout,
        origin: Callable[[str], Any] = home_origin,
    ) -> None:
        apply({"DAGSTER_HOME": str(home)})
        self._progress, self._definitions, self.work, self._home = progress, definitions, work, home
        self._layout, self._origin = layout, origin
        _wait_for_instance(home)
        with patient(home):
            self._instance = _open_instance(home)
            self.dead = end_dead_runs(self._instance)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.work.end()
        if not isinstance(error, StoreError):  # otherwise another process may still hold the instance
            with patient(self._home):
                end_dead_runs(self._instance)  # processes may have been killed since the start
        self._instance.dispose()

    def documents(self, corpus: str) -> list[str]:
        """Parse a corpus and find its visuals."""
        return self.make(Product.DOCUMENTS, partition=corpus, run_id=self.work.run_ids.get(corpus))

    def questions(self, combination: Combination, options: RunOptions) -> list[str]:
        """Make the published set of a combination and grade it."""
        key = combination.key
        return self.make(
            Product.QUESTIONS, partition=key, fields=options.given, run_id=self.work.run_ids.get(key)
        )

    def catalog(self) -> list[str]:
        return self.make(Product.CATALOG, partition="")

    def make(
        self,
        *products: Product,
        partition: str,
        fields: Fields | None = None,
        title: str = "",
        run_id: str | None = None,
    ) -> list[str]:
        """Make one partition of products in one run. `partition` is "" for products without partitions. `fields` configure the assets."""
        rows = [TABLE[product] for product in products]
        ops = {name: value for row in rows for name, value in row.ops(fields or {}).items()}
        return self.materialize(
            title or rows[0].title.format(partition),
            tuple(name for row in rows for name in row.assets if self._layout.has(name)),
            partition or None,
            {"ops": ops},
            run_id,
        )

    def materialize(
        self,
        title: str,
        assets: tuple[str, ...],
        partition: str | None,
        config: dict[str, Any] | None = None,
        run_id: str | None = None,
    ) -> list[str]:
        """Materialize `assets` for one partition, or without a partition if it is None.

        Raises KeyboardInterrupt if the run was interrupted (Dagster itself only records this), and StoreError as `patient` does.
        """
        self._progress.step(title)
        run_id = run_id or str(uuid.uuid4())
        tags = {HOST: platform.node(), PROCESS: str(os.getpid()), SPENDING_TAG: self.work.spending_id}
        if partition is not None:
            mark(self.work.space.store, partition, begun=assets)  # so that an interrupted run is found later
        _wait_for_instance(self._home)
        try:
            with patient(self._home):
                events = self._execute(self._job(assets), assets, partition, config or {}, run_id, tags)
        except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
            self._end(run_id)
            raise KeyboardInterrupt from None
        self._progress.done()
        if was_interrupted(events):
            raise KeyboardInterrupt
        failed = any(event.is_run_failure for event in events)
        lines = failure_lines(events) if failed else []
        return [f"{title}: {_held_line(self._home) if _says_locked(line) else line}" for line in lines]

    def _execute(
        self,
        job: dg.JobDefinition,
        assets: tuple[str, ...],
        partition: str | None,
        config: dict[str, Any],
        run_id: str,
        tags: dict[str, str],
    ) -> Sequence[dg.DagsterEvent]:
        instance: Any = self._instance
        create: Any = dg.DagsterInstance.create_run_for_job
        # A selection would add the checks that a job leaves out.
        whole = any(
            job.name == self._layout.name(name) and set(assets) == set(members(self._layout, name))
            for name in JOBS
        )
        # `execute_in_process` has no parameter for the origin of the run.
        instance.create_run_for_job = partial(create, instance, remote_job_origin=self._origin(job.name))
        return job.execute_in_process(
            run_config={
                "ops": self._layout.ops(config.get("ops", {})),
                "loggers": {"console": {"config": {}}},
            },
            instance=instance,
            partition_key=partition,
            asset_selection=None if whole else [self._layout.key(name) for name in assets],
            run_id=run_id,
            tags=tags,
            raise_on_error=False,
        ).all_events

    def _end(self, run_id: str) -> None:
        """Record an interrupted run as failed, unless Dagster has already recorded its end."""
        run = self._instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            _fail(self._instance, run, INTERRUPTED)

    def _job(self, assets: tuple[str, ...]) -> dg.JobDefinition:
        """The first job that has all these assets, else the job of all assets. The UI shows the run under this job."""
        for name, (assets_of_job, _) in JOBS.items():
            if set(assets) <= set(assets_of_job):
                return self._definitions.resolve_job_def(self._layout.name(name))
        return self._definitions.resolve_implicit_global_asset_job_def()


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Record the runs of killed processes of this machine as failed, and return their ids.

    Otherwise these runs would look active for ever, occupy pools, and keep automation from their partitions.
    """
    begun = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    mine = dg.RunsFilter(statuses=begun, tags={HOST: platform.node()})
    # A re-execution from the UI has a copy of these tags, but another process.
    own = (run for run in instance.get_runs(mine) if run.parent_run_id is None)
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
    """The logger that passes the messages of runs to `progress`."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            progress.say(str(getattr(record, "dagster_meta", {}).get("orig_message", record.getMessage())))

    def build(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("qagen.progress", logging.INFO)
        logger.addHandler(Handler())
        return logger

    return dg.LoggerDefinition(build)


def _wait_for_instance(home: Path) -> None:
    """Wait until no process holds the instance. Raises StoreError after HELD_SECONDS, and for a file that cannot be used."""
    begun, reported = time.monotonic(), False
    for file in (home / name for name in _INSTANCE_FILES):
        while file.exists() and _is_held(file):
            waited = time.monotonic() - begun
            if waited >= HELD_SECONDS:
                raise StoreError(_held_line(home))
            if waited >= min(_SILENT, HELD_SECONDS / 2) and not reported:
                reported = True
                _LOG.warning(
                    "another process holds the Dagster instance %s: waiting up to %.0f s", home, HELD_SECONDS
                )
            time.sleep(0.2)


@contextmanager
def patient(home: Path) -> Generator[None]:
    """In the body, accesses to SQLite wait for other processes, up to HELD_SECONDS. Raises StoreError if the files are still held then."""

    def connected(connection: Any, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute(f"PRAGMA busy_timeout = {HELD_SECONDS * 1000:.0f}")

    event.listen(Engine, "connect", connected)
    try:
        yield
    except Exception as error:
        if _is_locked(error):
            raise StoreError(_held_line(home)) from None
        raise
    finally:
        event.remove(Engine, "connect", connected)


def _is_locked(error: BaseException | None) -> bool:
    """Whether an error is, or comes from, a lock of SQLite that another process holds."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if _says_locked(str(error)):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def _says_locked(text: str) -> bool:
    """Whether the text of an error is from a lock of SQLite that another process holds."""
    return ("OperationalError" in text and "database is locked" in text) or text == "database is locked"


def _is_held(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            return True
        fault = f"{file} of the Dagster instance cannot be used ({error})"
    else:
        return False
    raise StoreError(
        f"{fault}: correct its permissions, or move it away; then Dagster has no history of runs, and all sets stay"
    )


def _held_line(home: Path) -> str:
    return (
        f"another process holds the Dagster instance {home}; what is done is stored: "
        "run the same command again when that process has ended, and it goes on"
    )
