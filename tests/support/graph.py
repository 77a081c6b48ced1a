"""The asset graph of a test's project on a Dagster instance of its own, as runs, the UI and the daemon see it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
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
        self.definitions = build_definitions(project.settings(**settings))
        self.instance = project.instance()

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

    def observe(self) -> dict[str, str]:
        """Let the sensor look at the configuration, record what it saw as the daemon does; versions by partition."""
        sensor = self.definitions.resolve_sensor_def("observe_model_config")
        with dg.build_sensor_context(self.instance, resources=self.definitions.resources) as context:
            seen = sensor.evaluate_tick(context)
        found: dict[str, str] = {}
        for event in seen.asset_events:
            assert isinstance(event, dg.AssetObservation)
            self.instance.report_runless_asset_event(event)
            found[str(event.partition)] = event.tags["dagster/data_version"]
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
        resolver = CachingStaleStatusResolver(
            self.instance,
            self.definitions.resolve_asset_graph(),
            LoadingContextForTest(self.instance),
        )
        key = dg.AssetKey(asset)
        return [name for name in partitions if resolver.get_status(key, name) == StaleStatus.STALE]

    def nightly(self) -> list[str]:
        """Partitions that the schedule would run tonight."""
        schedule = self.definitions.resolve_schedule_def("nightly_refresh")
        with dg.build_schedule_context(
            self.instance,
            datetime(2026, 11, 22, 2, tzinfo=UTC),
            self.definitions.resources,
            self.definitions.get_repository_def(),
        ) as context:
            tick = schedule.evaluate_tick(context)
        return sorted(str(request.partition_key) for request in tick.run_requests or ())


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
