"""Runs that are killed, and an unkilled run to compare with: for the tests of `kill -9` and for `make attack`."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from qagen_dagster.records.questions.results import GenerationResult
from qagen_dagster.records.run import RunRecord
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.patience import Patience
from tests.support.project import Project, ended
from tests.support.warm import Command
from tests.support.wire_reader import Asked
from tests.support.wire_server import Step, WireServer

STATIONS = ("ridge", "quay", "mill", "lock", "weir")
TWELVE = (*STATIONS, "pond", "well", "creek", "shore", "marsh", "spring", "canal")
KEY = "water/facts/textual"
WORKERS = 3  # of `Project.environment`: so many calls may be in flight when a process dies
RUN = ("run", "--json", "--profile", "remote")
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}", opening_characters: 0}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}", opening_characters: 0}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""


class Watch(Patience):
    """Answers by rule."""

    def play(self, asked: Asked) -> Step:
        return waterworks.play(asked)


class Bench:
    """A project, its server, and an unkilled run to compare with."""

    def __init__(
        self, folder: Path, server: WireServer, watch: Watch, names: Sequence[str] = STATIONS, target: int = 3
    ) -> None:
        self.project = Project.make(folder / "project")
        documents = {f"{name}.txt": waterworks.notes(name, alike=True) for name in names}
        self.project.corpus("water", waterworks.corpus(target), documents)
        self.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        self.watch = watch

    def unkilled(self) -> int:
        """Run to the end; the number of requests."""
        assert ended(self.project.start(*RUN)).code == 0
        whole, self.watch.received = len(self.watch.received), []
        return whole

    def killed(self, project: Project, now: Callable[[], bool]) -> None:
        """Begin a run and kill it as soon as `now` says so; its parsers go with it."""
        process = project.start(*RUN)
        wait_until(now, process)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        assert ended(process).code == -signal.SIGKILL
        assert left_over(children) == []


def wait_until(now: Callable[[], bool], process: Command | subprocess.Popen[str]) -> None:
    """Until `now` says so. Raises AssertionError if the process ends before."""
    while not now():
        assert process.poll() is None, ended(process)
        time.sleep(0.001)


def is_started(project: Project, partition: str) -> bool:
    """Whether a Dagster run of the partition is under way."""
    store = Store(project.assets)
    found = (store.find_valid(key, RunRecord) for key in store.list("runs") if key.endswith("/run.json"))
    return any(one is not None and (one.status, one.partition) == ("started", partition) for one in found)


def left_over(children: list[psutil.Process], seconds: float = 60) -> list[psutil.Process]:
    """Those that do not end."""
    return psutil.wait_procs(children, timeout=seconds)[1]


def reached(project: Project, place: str) -> Callable[[], bool]:
    """Whether a run has written a file, or is `building` the catalog."""
    if place == "building":
        return lambda: any(project.assets.glob(".catalog.duckdb.building-*"))
    return (project.assets / place).exists


def results(project: Project) -> list[dict[str, Any]]:
    """What every document gave, in words and verdicts."""
    files = sorted(project.assets.glob(f"candidates/{KEY}/*.txt/*.json"))
    found = [GenerationResult.model_validate_json(file.read_bytes()) for file in files]
    kept = {"accepted", "rejected", "stats", "document_id", "fingerprint", "end", "verdicts"}
    return [result.model_dump(include=kept) for result in found]


def published(project: Project) -> dict[str, Any]:
    """The set, but for the time when it was published."""
    return {**project.published(KEY), "timestamp": ""}
