from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run_iterator

from qagen_dagster.definitions import build_definitions
from qagen_dagster.defs.executor import (
    INTERRUPTED,
    TERMINATED,
    StoredOutputs,
    build_celery_app,
    build_executor,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.settings import EXECUTORS, Settings
from qagen_dagster.store import Store


@dg.op(out=dg.DynamicOut(dict))
def plan() -> Iterator[dg.DynamicOutput[dict[str, Any]]]:
    for number in range(3):
        yield dg.DynamicOutput({"number": number, "names": ["é"]}, f"shard_{number}")


@dg.op
def work(shard: dict[str, Any]) -> dict[str, Any]:
    return {"twice": 2 * shard["number"], **shard}


@dg.op
def collect(found: list[dict[str, Any]]) -> int:
    return sum(one["twice"] for one in found)


@dg.job
def fan() -> None:
    collect(plan().map(work).collect())


def test_what_ops_hand_on_is_in_the_store_for_other_machines() -> None:
    root = f"memory://{uuid.uuid4().hex}"
    done = fan.execute_in_process(resources={"io_manager": StoredOutputs(assets=root)})
    assert done.output_for_node("collect") == 6
    store = Store(root)
    keys = store.list("outputs")
    assert keys == store.list(f"outputs/{done.run_id}")
    assert len(keys) == 3 + 3 + 1
    assert b'"shard_' not in b"".join(store.read_bytes(key) for key in keys)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the optional packages define, without the packages."""
    schema = {"broker": dg.StringSource, "backend": dg.StringSource, "config_source": dg.Permissive()}
    for package, name, config in (("celery", "celery_executor", schema), ("k8s", "k8s_job_executor", {})):
        module = ModuleType(f"dagster_{package}")
        definition = dg.ExecutorDefinition(name=package, config_schema=config)
        setattr(module, name, definition)
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", EXECUTORS)
def test_the_executor_is_chosen_by_a_variable(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QAGEN_EXECUTOR", name)
    monkeypatch.setenv("QAGEN_OP_SECONDS", "60")
    made = build_definitions(Settings(corpora=tmp_path, assets="memory://assets"))
    executor: Any = made.executor
    assert executor.name == name
    stored = isinstance((made.resources or {}).get("io_manager"), StoredOutputs)
    assert stored is (name in ("celery", "k8s"))


def test_without_the_variable_ops_run_in_the_process_of_their_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QAGEN_EXECUTOR", raising=False)
    assert build_executor().name == dg.in_process_executor.name


@dg.op
def interrupted() -> None:
    raise dg.DagsterExecutionInterruptedError


@pytest.mark.parametrize("terminated", [True, False])
def test_a_terminated_run_counts_as_failed_and_is_not_retried(terminated: bool) -> None:
    job = dg.GraphDefinition(name="one", node_defs=[interrupted]).to_job(executor_def=build_executor())
    with dg.DagsterInstance.ephemeral() as instance:
        run = instance.create_run_for_job(job)
        events = execute_run_iterator(InMemoryJob(job), run, instance)
        assert next(events).event_type is dg.DagsterEventType.RUN_START
        if terminated:
            instance.report_run_canceling(run)
        list(events)
        stored = instance.get_run_by_id(run.run_id)
        assert stored is not None
        assert stored.status is dg.DagsterRunStatus.FAILURE
        assert (stored.tags.get("dagster/max_retries") == "0") is terminated
        told = [entry.message for entry in instance.all_logs(run.run_id)]
        assert any(TERMINATED in line for line in told) is terminated
        data = (
            entry.dagster_event.event_specific_data
            for entry in instance.all_logs(run.run_id)
            if entry.dagster_event
        )
        errors = [error for one in data if (error := getattr(one, "error", None)) is not None]
        assert {(one.message, len(one.stack)) for one in errors} == {(INTERRUPTED, 0)}


def test_an_executor_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QAGEN_EXECUTOR", "dask")
    with pytest.raises(ConfigError, match="QAGEN_EXECUTOR='dask' is not one of in_process, multiprocess, "):
        build_executor()
    monkeypatch.setenv("QAGEN_EXECUTOR", "celery")
    for module in ("dagster_celery", "dagster_celery.make_app"):
        monkeypatch.setitem(sys.modules, module, None)
    for build in (build_executor, build_celery_app):
        with pytest.raises(ConfigError, match="QAGEN_EXECUTOR=celery needs dagster_celery"):
            build()
