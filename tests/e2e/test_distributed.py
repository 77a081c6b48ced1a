"""Two Celery workers on one store in a bucket. A process of one is killed, then all of the other: `make test-distributed` installs what this needs.

The run has the set of a run on one machine. Only requests that were in flight at the kill are paid again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.records.ids import digest
from tests.support import waterworks
from tests.support.killed import KEY, PROFILE, RUN
from tests.support.machines import Servers, Worker, bucket, servers, until
from tests.support.project import Project
from tests.support.wire_reader import read
from tests.support.wire_server import Reply, Seen, WireServer

pytestmark = pytest.mark.distributed
DOCUMENTS, WORKERS, PROCESSES, CALLS = 60, 2, 2, 3
DELAY = 0.1
QUESTIONS = "candidate_qa,validated_qa,corpus_json,grounding_report"
_SYLLABLES = ("ba", "do", "fe", "gu", "hi", "ka", "lo", "me")


class Server:
    """Answers by rule after a while, and keeps when each request came."""

    def __init__(self) -> None:
        self.received: list[tuple[float, str]] = []

    def __call__(self, seen: Seen, number: int) -> Reply:
        del number
        body = json.dumps(seen.body, sort_keys=True)
        self.received.append((time.monotonic(), body))
        reply = waterworks.play(read(seen))
        calls = (replace(call, id=f"{digest(body)[:16]}-{n}") for n, call in enumerate(reply.calls))
        return replace(reply, calls=tuple(calls), delay=DELAY)  # no id counts the requests

    def counted(self) -> Counter[str]:
        return Counter(body for _, body in self.received)


@pytest.fixture(scope="module")
def shared() -> Generator[Servers]:
    with servers() as running:
        yield running


def test_killed_workers_lose_nothing_and_only_calls_in_flight_are_paid_again(
    shared: Servers, tmp_path: Path
) -> None:
    server = Server()
    with WireServer(server) as wire:
        single = _project(tmp_path / "project", wire)
        done = single.qagen_fresh(*RUN)
        assert done.code == 0, done
        alone, server.received = server.counted(), []

        project = single.another(2)
        (project.home / "dagster.yaml").write_text(shared.dagster_yaml())
        environment = _environment(project, shared)
        workers = [Worker(f"worker{number}", environment, tmp_path, PROCESSES) for number in range(WORKERS)]
        try:
            _materialize(environment, "parsed_documents,visual_manifests", "water")
            run = _start(environment, QUESTIONS, KEY)
            killed: list[float] = []
            for share, kill in ((0.2, workers[1].kill_one), (0.5, workers[0].kill)):
                until(lambda share=share: len(server.received) > sum(alone.values()) * share, 600)
                kill()
                killed.append(time.monotonic())
            out, _ = run.communicate(timeout=900)
        finally:
            for worker in workers:
                worker.kill()
        assert run.returncode == 0, out[-4000:]
        again = server.counted() - alone
        first = {body: at for at, body in reversed(server.received)}
    store = bucket(shared.environment, "store")
    assert alone - server.counted() == Counter()  # the same was asked
    assert sum(again.values()) <= (1 + PROCESSES) * CALLS
    since = [
        [round(at - first[body], 1) for at in killed] for body in again
    ]  # first asked, then the process was killed
    assert [times for times in since if not any(-1 < one < 30 * DELAY for one in times)] == []
    assert _set(json.loads(store.read_bytes(f"published/{KEY}/corpus.json"))) == _set(single.published(KEY))
    assert len(_set(single.published(KEY))["questions"]) == DOCUMENTS
    assert len(store.list(f"candidates/{KEY}")) == DOCUMENTS + 1  # results, and the list of them


def _project(folder: Path, wire: WireServer) -> Project:
    project = Project.make(folder)
    names = [a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES][:: 512 // DOCUMENTS][
        :DOCUMENTS
    ]
    documents: dict[str, str | bytes] = {f"{name}.txt": waterworks.notes(name) for name in names}
    project.corpus("water", waterworks.corpus(1), documents)
    project.profile("remote", PROFILE.format(url=wire.url("openai_compatible")))
    return project


def _environment(project: Project, shared: Servers) -> dict[str, str]:
    return project.environment(
        **shared.environment,
        QAGEN_ASSETS="s3://qagen/store",
        QAGEN_PROFILE="remote",
        QAGEN_DOCUMENT_WORKERS=str(CALLS),
        QAGEN_SHARD_SIZE="5",
        QAGEN_EXECUTOR="celery",
        QAGEN_CELERY_BROKER=shared.redis,
        QAGEN_CELERY_BACKEND=shared.redis,
        QAGEN_OP_SECONDS="60",
    )


def _start(environment: dict[str, str], assets: str, partition: str) -> subprocess.Popen[str]:
    what = ["--select", assets, "--partition", partition, "-m", "qagen_dagster.definitions"]
    return subprocess.Popen(
        [sys.executable, "-m", "dagster", "asset", "materialize", *what],
        env=environment,
        cwd=environment["DAGSTER_HOME"],  # in the project's folder, the DAGSTER_HOME of its file .env wins
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _materialize(environment: dict[str, str], assets: str, partition: str) -> None:
    run = _start(environment, assets, partition)
    out, _ = run.communicate(timeout=600)
    assert run.returncode == 0, out[-4000:]


def _set(published: dict[str, Any]) -> dict[str, Any]:
    return {**published, "timestamp": ""}
