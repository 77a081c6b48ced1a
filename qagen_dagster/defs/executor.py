"""Executors run ops in the process of the run, in other processes of the same machine, or on other machines. QAGEN_EXECUTOR chooses one.

The executors for several machines are optional packages, so they are imported only when they are chosen.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import dagster as dg
from pydantic import Field

from qagen_dagster.defs.layout import Layout
from qagen_dagster.errors import ConfigError
from qagen_dagster.settings import CELERY_BACKEND, CELERY_BROKER, Settings, executor, op_seconds, secret
from qagen_dagster.store import Store

TERMINATED = "this run was terminated; start it again to resume"
INTERRUPTED = "this run was interrupted; start it again to resume"
_INTERRUPTS = (dg.DagsterExecutionInterruptedError.__name__, KeyboardInterrupt.__name__)
_MOST_RETRIES = "dagster/max_retries"
_SEVERAL_MACHINES = ("celery", "k8s")


def build_executor() -> dg.ExecutorDefinition:
    """The executor of all jobs. Raises ConfigError when its package is not installed."""
    chosen = _chosen()
    schema: Any = chosen.config_schema
    create: Any = chosen.executor_creation_fn

    def terminable(context: dg.InitExecutorContext) -> dg.Executor:
        made = create(context)
        made.execute = partial(_execute, made.execute)
        return made

    return dg.ExecutorDefinition(chosen.name, schema, chosen.get_requirements, terminable)


def _execute(
    execute: Callable[..., Iterator[dg.DagsterEvent]], context: Any, plan: Any
) -> Iterator[dg.DagsterEvent]:
    """Execute a run, and record the run as failed if it is terminated. Events of interrupts get no stack traces.

    Dagster would record the run as canceled, and the UI would show the partition as before the run: green if it had a result.
    """
    instance = context.instance
    store: Any = dg.DagsterInstance.handle_new_event  # pyright: ignore[reportUnknownMemberType]
    instance.handle_new_event = partial(_store_plainly, store, instance)
    try:
        yield from execute(context, plan)
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
        run = context.instance.get_run_by_id(context.run_id)
        if run is not None and run.status is dg.DagsterRunStatus.CANCELING:
            # Keep an instance that retries failed runs from retrying this one.
            context.instance.add_run_tags(run.run_id, {_MOST_RETRIES: "0"})
            context.instance.report_run_failed(run, TERMINATED)
        raise


def _store_plainly(store: Callable[..., None], instance: object, entry: Any, **more: Any) -> None:
    """Store an event. The error of an interrupt becomes a plain message, because its stack trace only says where the run happened to be."""
    event: Any = entry.dagster_event
    data: Any = getattr(event, "event_specific_data", None)
    error: Any = getattr(data, "error", None)
    if error is not None and error.cls_name in _INTERRUPTS:
        plain = {"error": error._replace(message=INTERRUPTED, stack=[], cause=None, context=None)}
        plain |= {"first_step_failure_event": None} if event.is_run_failure else {}
        entry = entry._replace(dagster_event=event._replace(event_specific_data=data._replace(**plain)))
    store(instance, entry, **more)


def _chosen() -> dg.ExecutorDefinition:
    name = executor()
    if name == "celery":
        urls = {"broker": {"env": CELERY_BROKER}, "backend": {"env": CELERY_BACKEND}}
        config = {**urls, "config_source": _celery_settings()}
        return _package("dagster_celery").celery_executor.configured(config, name="celery")
    if name == "k8s":
        return _package("dagster_k8s").k8s_job_executor
    return dg.multiprocess_executor if name == "multiprocess" else dg.in_process_executor


def build_celery_app() -> Any:
    """The application of a Celery worker, with the settings of the executor. Raises ConfigError when its package is not installed."""
    make = _package("dagster_celery.make_app").make_app
    celery_executor = _package("dagster_celery.executor").CeleryExecutor
    urls = {"broker": secret(CELERY_BROKER), "backend": secret(CELERY_BACKEND)}
    app = make(celery_executor.for_cli(**urls, config_source=_celery_settings()).app_args())
    _package("dagster_celery.tasks").create_task(app)
    return app


class StoredOutputs(dg.ConfigurableIOManager):
    """Keeps the outputs of ops as JSON in the store, where ops on other machines find them."""

    assets: str = Field(description="Root of the store: a folder or an fsspec URL.")

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        Store(self.assets).write_bytes(_key(context), json.dumps(obj).encode())

    def load_input(self, context: dg.InputContext) -> Any:
        return json.loads(Store(self.assets).read_bytes(_key(context)))


def build_outputs(settings: Settings, layout: Layout) -> dict[str, Any]:
    """By name, the resource that keeps outputs of ops. For ops on one machine: none, or with a prefix Dagster's own."""
    name = layout.name("io_manager")
    if executor() in _SEVERAL_MACHINES:
        return {name: StoredOutputs(assets=settings.assets)}
    return {name: dg.FilesystemIOManager()} if layout.prefix else {}


def _key(context: dg.OutputContext | dg.InputContext) -> str:
    return (
        "/".join(("outputs", *(re.sub(r"[^\w.-]", "-", part) for part in context.get_identifier()))) + ".json"
    )


def _celery_settings() -> dict[str, Any]:
    """Settings of Celery: an op whose process died goes to another process, at once if its worker is alive, else after `op_seconds`."""
    return {
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "broker_transport_options": {"visibility_timeout": op_seconds()},
    }


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"QAGEN_EXECUTOR={executor()} needs {error.name}: install the lock file of deploy/"
        ) from None
