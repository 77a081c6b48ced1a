"""The Dagster UI of a project with its daemon, as `qagen ui` starts them, and what its GraphQL server says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from qagen_dagster.settings import PROJECT_ROOT
from tests.support.machines import free_port, until
from tests.support.project import QAGEN, Ended, Project

LOCATION = "qagen_dagster"
_PLACE = {"repositoryName": "__repository__", "repositoryLocationName": LOCATION}
_WORKSPACE = (
    f"load_from: [{{python_module: {{module_name: qagen_dagster.definitions, location_name: {LOCATION}}}}}]\n"
)
_PATIENCE = 900  # seconds


@dataclass(frozen=True)
class Installed:
    """A copy of the package whose prompts may be edited, and whose sensors tick every five seconds."""

    project: Project
    profile: str

    @classmethod
    def make(cls, project: Project, profile: str) -> Installed:
        copy = cls(project, profile)
        shutil.copytree(
            PROJECT_ROOT / "qagen_dagster", copy.package, ignore=shutil.ignore_patterns("__pycache__")
        )
        sensors = copy.package / "defs" / "automation.py"
        sensors.write_text(re.sub(r"interval_seconds=\d+", "interval_seconds=5", sensors.read_text()))
        (copy.package.parent / "workspace.yaml").write_text(_WORKSPACE)
        return copy

    @property
    def package(self) -> Path:
        return self.project.root / "installed" / "qagen_dagster"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PYTHONPATH": os.pathsep.join(
                [str(self.package.parent), str(PROJECT_ROOT)]
            ),  # the scripts of the tests, too
            "QAGEN_PROFILE": self.profile,
            "DAGSTER_GRPC_TIMEOUT_SECONDS": "600",  # on a busy machine
        }

    def qagen(self, *words: str) -> Ended:
        return self.project.qagen_fresh(*words, **self.environment)


@dataclass(frozen=True)
class Server:
    """The GraphQL server of the UI."""

    address: str

    def ask(self, query: str, **variables: Any) -> Any:
        """The only field of the answer."""
        body = {"query": query, "variables": variables}
        answer = httpx.post(f"{self.address}/graphql", json=body, timeout=_PATIENCE).json()
        assert "errors" not in answer, answer["errors"]
        (found,) = answer["data"].values()
        return found

    def is_up(self) -> bool:
        try:
            return bool(
                self.ask("{repositoriesOrError {... on RepositoryConnection {nodes {name}}}}")["nodes"]
            )
        except (httpx.TransportError, KeyError):
            return False

    def reload(self) -> None:
        """Click *Reload definitions*."""
        query = (
            "mutation($name: String!) {reloadRepositoryLocation(repositoryLocationName: $name) {__typename}}"
        )
        assert self.ask(query, name=LOCATION)["__typename"] == "WorkspaceLocationEntry"

    def start(self, sensor: str) -> None:
        """Switch a sensor on."""
        query = "mutation($of: SensorSelector!) {startSensor(sensorSelector: $of) {__typename}}"
        assert self.ask(query, of={**_PLACE, "sensorName": sensor})["__typename"] == "Sensor"

    def stop(self, sensor: str) -> None:
        query = "mutation($id: String!) {stopSensor(id: $id) {__typename}}"
        assert self.ask(query, id=self._state(sensor)["id"])["__typename"] == "StopSensorMutationResult"

    def tick(self, sensor: str) -> dict[str, Any] | None:
        """The last tick of a sensor; None before the first."""
        return next(iter(self._state(sensor)["ticks"]), None)

    def _state(self, sensor: str) -> dict[str, Any]:
        query = (
            "query($of: SensorSelector!) {sensorOrError(sensorSelector: $of) {... on Sensor "
            "{sensorState {id ticks(limit: 1) {status skipReason timestamp error {message}}}}}}"
        )
        return self.ask(query, of={**_PLACE, "sensorName": sensor})["sensorState"]

    def tonight(self) -> list[str]:
        """The tasks that the nightly schedule would launch: *Preview tick result*."""
        query = (
            "mutation($of: ScheduleSelector!, $at: Float!) {scheduleDryRun(selectorData: $of, timestamp: $at) "
            "{... on DryRunInstigationTick {evaluationResult {runRequests {tags {key value}} error {message}}}}}"
        )
        selected = {**_PLACE, "scheduleName": "nightly_refresh"}
        found = self.ask(query, of=selected, at=time.time())["evaluationResult"]
        assert found["error"] is None, found["error"]
        return sorted(_tags(one)["qagen/task"] for one in found["runRequests"] or ())

    def stale(self, partitions: Mapping[str, tuple[str, ...]]) -> list[str]:
        """The partitions that the UI shows as stale, of these of each asset."""
        query = (
            "query($key: AssetKeyInput!, $names: [String!]) {assetNodeOrError(assetKey: $key) "
            "{... on AssetNode {staleStatusByPartition(partitions: $names)}}}"
        )
        found: list[str] = []
        for asset, names in partitions.items():
            answer = self.ask(query, key={"path": [asset]}, names=list(names))
            states = zip(names, answer["staleStatusByPartition"], strict=True)
            found += [f"{asset} {name}" for name, state in states if state == "STALE"]
        return found

    def check(self, asset: str, name: str) -> str:
        """The text of the last result of a check."""
        query = (
            "query($key: AssetKeyInput!, $name: String!) {assetCheckExecutions(assetKey: $key, checkName: $name, limit: 1) "
            "{evaluation {metadataEntries {... on TextMetadataEntry {text}}}}}"
        )
        found = self.ask(query, key={"path": [asset]}, name=name)
        return found[0]["evaluation"]["metadataEntries"][0]["text"] if found else ""

    def launch(self, job: str, partition: str, ops: Mapping[str, Any]) -> str:
        """Launch a run of a partition; its id."""
        query = "mutation($of: ExecutionParams!) {launchRun(executionParams: $of) {__typename ... on LaunchRunSuccess {run {runId}}}}"
        tags = [{"key": "dagster/partition", "value": partition}]
        selected = {**_PLACE, "jobName": job}
        given = {"selector": selected, "runConfigData": {"ops": ops}, "executionMetadata": {"tags": tags}}
        return self.ask(query, of=given)["run"]["runId"]

    def terminate(self, run: str) -> None:
        """Click *Terminate*."""
        query = "mutation($run: String!) {terminateRun(runId: $run) {__typename}}"
        assert self.ask(query, run=run)["__typename"] == "TerminateRunSuccess"

    def ended(self, run: str) -> bool:
        query = "query($run: ID!) {runOrError(runId: $run) {... on Run {endTime}}}"
        return self.ask(query, run=run)["endTime"] is not None

    def runs(self) -> list[dict[str, Any]]:
        """All runs that sensors and schedules launched, the first first."""
        query = "{runsOrError {... on Runs {results {status endTime tags {key value}}}}}"
        found = ({**one, "tags": _tags(one)} for one in self.ask(query)["results"])
        return [one for one in found if "qagen/task" in one["tags"]][::-1]


def _tags(of: Mapping[str, Any]) -> dict[str, str]:
    return {one["key"]: one["value"] for one in of["tags"]}


def wait_for(what: Callable[[], Any], expected: object) -> None:
    """Wait until it is as expected. Fails with what it is instead."""
    try:
        until(lambda: what() == expected, _PATIENCE)
    except TimeoutError:
        assert what() == expected


@contextmanager
def dagster_ui(installed: Installed) -> Generator[Server]:
    """The UI of a project, and its daemon. All their processes end with it."""
    port = free_port()
    with (installed.project.root / "ui.log").open("w") as log:
        process = subprocess.Popen(
            [str(QAGEN), "ui", "--port", str(port)],
            cwd=installed.project.root,
            env=installed.project.environment(**installed.environment),
            stdout=log,
            stderr=log,
        )
    server = Server(f"http://127.0.0.1:{port}")
    try:
        wait_for(server.is_up, True)
        yield server
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.wait(60)
        for child in psutil.wait_procs(children, timeout=30)[1]:
            child.kill()
