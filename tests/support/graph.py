"""The asset graph of a test's project on a Dagster instance of its own, as runs, the UI and the daemon see it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from qagen_dagster.definitions import build_definitions
from qagen_dagster.defs.metadata import Metadata
from tests.support.project import Project

# Data versions are beta and partitioned checks preview: `defs` silences that for people, pytest listens again before
# each test. The other is Dagster talking to itself.
DAGSTER_WARNINGS = (
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    pytest.mark.filterwarnings("ignore::dagster.PreviewWarning"),
    pytest.mark.filterwarnings("ignore:Property `OpDefinition.version`:DeprecationWarning"),
)
DOCUMENTS = ("parsed_documents", "visual_manifests")
QUESTIONS = ("candidate_qa", "validated_qa", "corpus_json", "grounding_report")


class GraphRun:
    """A context manager around the instance."""

    def __init__(self, project: Project, **settings: Any) -> None:
        self.settings = project.settings(**settings)
        self.definitions = build_definitions(self.settings)
        self.instance = project.instance()
        self.checked: dict[tuple[str, str], dg.AssetCheckEvaluation] = {}  # by asset and check

    def __enter__(self) -> GraphRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.instance.dispose()

    def materialize(self, partition: str | None, *assets: str) -> dg.ExecuteInProcessResult:
        """Run the named assets for one partition; a failure is a result."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        return job.execute_in_process(
            instance=self.instance,
            asset_selection=[dg.AssetKey(name) for name in assets],
            partition_key=partition,
            raise_on_error=False,
        )

    def observe(self, asset: str = "model_config") -> dict[str, str]:
        """Let the sensor look at the configurations, record what it saw as the daemon does; versions by partition of an asset."""
        return {
            str(one.partition): one.tags["dagster/data_version"] for one in self.seen() if _name(one) == asset
        }

    def seen(self) -> list[dg.AssetObservation]:
        """What the sensor observes. It is recorded."""
        sensor = self.definitions.resolve_sensor_def("observe_model_config")
        with dg.build_sensor_context(self.instance, resources=self.definitions.resources) as context:
            tick = sensor.evaluate_tick(context)
        for event in tick.asset_events:
            if isinstance(event, dg.AssetCheckEvaluation):
                self.checked[_name(event), event.check_name] = event
            self.instance.report_runless_asset_event(event)
        return [event for event in tick.asset_events if isinstance(event, dg.AssetObservation)]

    def reload_check(self) -> str:
        """What the sensor reports about corpora that the definitions do not have."""
        self.seen()
        check = self.checked["corpus_files", "definitions_loaded"]
        assert check.passed == (check.metadata["definitions"].value == "all are loaded")
        return str(check.metadata["definitions"].value)

    def requests(self, sensor: str = "refresh_changed_combinations", cursor: str | None = None) -> Tick:
        """What a sensor launches, as the daemon hears it."""
        found = self.definitions.resolve_sensor_def(sensor)
        with dg.build_sensor_context(
            self.instance,
            cursor,
            repository_def=self.definitions.get_repository_def(),
            resources=self.definitions.resources,
        ) as context:
            tick = found.evaluate_tick(context)
        return Tick(list(tick.run_requests or ()), tick.skip_message or "", tick.cursor)

    def requested(self) -> list[str]:
        """The tasks that the sensor launches. They are not run."""
        return self.requests().tasks

    def begin(self, request: dg.RunRequest) -> None:
        """Let a requested run stand as queued."""
        self.instance.create_run_for_job(
            self.definitions.resolve_implicit_global_asset_job_def(),
            status=dg.DagsterRunStatus.NOT_STARTED,
            tags=dict(request.tags),
        )

    def run(self, requests: Sequence[dg.RunRequest], *, success: bool = True) -> None:
        """Run what was requested, as the daemon does."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        for request in requests:
            ended = job.execute_in_process(
                instance=self.instance,
                asset_selection=list(request.asset_selection or ()),
                partition_key=request.partition_key,
                run_config=dict(request.run_config),
                tags=dict(request.tags),
                raise_on_error=False,
            )
            assert ended.success is success, request.tags

    def settle(self) -> list[list[str]]:
        """Let the sensor launch and the runs end, until nothing is launched any more; the tasks of each tick."""
        found: list[list[str]] = []
        while (tick := self.requests()).tasks:
            found.append(tick.tasks)
            self.run(tick.requests)
        return found

    def observe_in_a_run(self) -> tuple[dict[str, str], list[str]]:
        """Run the asset model_config itself, as the UI does; the versions that it recorded, and the errors it logged."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        ended = job.execute_in_process(
            instance=self.instance, asset_selection=[dg.AssetKey("model_config")], raise_on_error=False
        )
        assert ended.success
        seen = [
            event.asset_observation_data.asset_observation for event in ended.get_asset_observation_events()
        ]
        errors = [
            log.user_message for log in self.instance.all_logs(ended.run_id) if log.level == logging.ERROR
        ]
        return {str(one.partition): one.tags["dagster/data_version"] for one in seen}, errors

    def stale(self, asset: str, partitions: Sequence[str]) -> list[str]:
        """Those that the UI shows as stale."""
        return [name for _, name in self.all_stale({asset: partitions})]

    def all_stale(self, partitions: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """Of the partitions of each asset, those that the UI shows as stale, seen at one time."""
        resolver = CachingStaleStatusResolver(
            self.instance, self.definitions.resolve_asset_graph(), LoadingContextForTest(self.instance)
        )
        return [
            (asset, name)
            for asset, names in partitions.items()
            for name in names
            if resolver.get_status(dg.AssetKey(asset), name) == StaleStatus.STALE
        ]

    def nightly(self, day: int = 22) -> Tick:
        """What the schedule launches tonight."""
        schedule = self.definitions.resolve_schedule_def("nightly_refresh")
        with dg.build_schedule_context(
            self.instance,
            datetime(2026, 11, day, 2, tzinfo=UTC),
            self.definitions.resources,
            self.definitions.get_repository_def(),
        ) as context:
            tick = schedule.evaluate_tick(context)
        return Tick(list(tick.run_requests or ()), tick.skip_message or "", None)


@dataclass(frozen=True)
class Tick:
    """What a sensor or schedule returned."""

    requests: list[dg.RunRequest]
    skipped: str
    cursor: str | None

    @property
    def tasks(self) -> list[str]:
        return sorted(one.tags["qagen/task"] for one in self.requests)


def _name(event: dg.AssetObservation | dg.AssetCheckEvaluation) -> str:
    return event.asset_key.to_user_string()


def metadata(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    """What a run attached to the materialization of an asset."""
    (event,) = _materializations(result, asset)
    return {name: value.value for name, value in event.metadata.items()}


def plain(shown: Metadata) -> dict[str, Any]:
    """Metadata that no run attached yet, as `metadata` returns it."""
    return {name: getattr(value, "value", value) for name, value in shown.items()}


def _materializations(result: dg.ExecuteInProcessResult, asset: str) -> list[dg.AssetMaterialization]:
    return [
        event.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey(asset)
    ]


def version(result: dg.ExecuteInProcessResult, asset: str) -> str:
    """The data version that a run gave an asset."""
    (event,) = _materializations(result, asset)
    return (event.tags or {})["dagster/data_version"]


def checks(result: dg.ExecuteInProcessResult) -> dict[str, tuple[bool, dict[str, Any]]]:
    """Every check that a run evaluated: whether it passed, and its numbers."""
    return {
        found.check_name: (found.passed, {name: value.value for name, value in found.metadata.items()})
        for found in result.get_asset_check_evaluations()
    }
