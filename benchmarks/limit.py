"""How close a run comes to the models' own time: the span of all model calls against the least that it could be.

`python -m benchmarks.limit [--documents 200] [--combinations 12]` runs the command `qagen run` on two jobs, against a model server in
a process of its own. The server takes 0.2 to 0.8 s per call, drawn by the hash of the request, and keeps the time of every call.
The span is the time from the first request to the last response. It cannot be less than the total time of the calls divided by the
number of calls at once, nor less than the calls of one document, which follow one another. On a busy machine, `--latency 2.4 9.6`
tells waiting from a lack of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from benchmarks import project
from qagen_dagster.settings import Settings, export
from tests.support import waterworks
from tests.support.wire_reader import read
from tests.support.wire_server import Seen, wire_body

QUESTIONS = 5
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""
COMMAND = "from qagen_dagster.cli.main import main; main()"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_STATION = re.compile(r"station\d+x\d+")


class Job(NamedTuple):
    """Corpora, each with one combination of so many documents, and the calls at once."""

    title: str
    combinations: int
    documents: int
    workers: int


class Call(NamedTuple):
    """One request: its document, its arrival and the time that the server takes."""

    document: str
    arrived: float
    seconds: float


class Cost(NamedTuple):
    """What the command took: seconds on the clock and of CPU."""

    wall: float
    cpu: float


class Served(NamedTuple):
    """What the server did: its calls, its seconds of CPU, and the mean delay of its responses."""

    calls: list[Call]
    cpu: float
    late: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--combinations", type=int, default=12)
    parser.add_argument(
        "--profiler", help="a program that starts the command, such as 'py-spy record -o FILE --'"
    )
    parser.add_argument(
        "--latency", type=float, nargs=2, default=(0.2, 0.8), help="seconds per call, least and most"
    )
    parser.add_argument("--serve", action="store_true", help="be the model server")
    given = parser.parse_args()
    if given.serve:
        asyncio.run(_serve(*given.latency))
        return
    for job in (
        Job("one combination", 1, given.documents, 32),
        Job("small combinations", given.combinations, 6, 16),
    ):
        if job.combinations and job.documents:
            _measure(job, given.latency, given.profiler)


def _measure(job: Job, latency: Sequence[float], profiler: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder, _server(latency) as server:
        settings = _prepare(Path(folder), job, server.url)
        cost = _run(settings, profiler)
        _report(job, server.served(), cost)


def _prepare(root: Path, job: Job, url: str) -> Settings:
    settings: Settings | None = None
    for number in range(job.combinations):
        names = [f"station{number:02d}x{one:03d}" for one in range(job.documents)]
        documents = {f"{name}.txt": waterworks.notes(name) for name in names}
        settings = project.make(root, f"water{number:02d}", waterworks.corpus(QUESTIONS), documents, "remote")
    assert settings is not None
    (root / "profiles" / "remote.yaml").write_text(PROFILE.format(url=url), encoding="utf-8")
    return replace(settings, document_workers=job.workers)


def _run(settings: Settings, profiler: str | None) -> Cost:
    prefix = profiler.split() if profiler else []
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [*prefix, sys.executable, "-c", COMMAND, "run", "--json"],
        env=os.environ | export(settings),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - begun, cpu)


def _report(job: Job, served: Served, cost: Cost) -> None:
    calls = served.calls
    span = max(call.arrived + call.seconds for call in calls) - min(call.arrived for call in calls)
    total = sum(call.seconds for call in calls)
    chains: Counter[str] = Counter()
    for call in calls:
        chains[call.document] += call.seconds
    longest = max(seconds for document, seconds in chains.items() if document != "several")
    bound = max(total / job.workers, longest)
    print(
        f"{job.title}: {job.combinations} x {job.documents} documents x {QUESTIONS} questions, {job.workers} at once\n"
        f"  {len(calls)} calls, {total:.1f} s in all, longest document {longest:.1f} s, at most {_most(calls)} at once\n"
        f"  span {span:.1f} s, bound {bound:.1f} s: {span / bound:.2f}; {total / span:.1f} calls in flight on average\n"
        f"  the command: {cost.wall:.1f} s, {cost.cpu:.1f} s of CPU, {1000 * cost.cpu / len(calls):.1f} ms per call\n"
        f"  the server: {served.cpu:.1f} s of CPU, responses {1000 * served.late:.1f} ms late on average",
        flush=True,
    )


def _most(calls: list[Call]) -> int:
    changes = sorted(
        change for call in calls for change in ((call.arrived, 1), (call.arrived + call.seconds, -1))
    )
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


class Server:
    """The model server; for a line on its input it writes what it has done."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def served(self) -> Served:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        calls, *rest = json.loads(self._line())
        return Served([Call(*one) for one in calls], *rest)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def _server(latency: Sequence[float]) -> Generator[Server]:
    command = [sys.executable, "-m", "benchmarks.limit", "--serve", "--latency", *map(str, latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


class _Connection(asyncio.Protocol):
    """One connection: reads requests, one at a time, and answers each when its time has come."""

    def __init__(self, calls: list[Call], late: list[float], least: float, most: float) -> None:
        self._late = late
        self._calls, self._least, self._most, self._data = calls, least, most, b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, rest = self._data.partition(b"\r\n\r\n")
        size = _LENGTH.search(head)
        if end and len(rest) >= (wanted := int(size[1]) if size else 0):
            self._data = b""
            self._take(head.split(b" ")[1].decode(), rest[:wanted])

    def _take(self, path: str, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        arrived = loop.time()
        drawn = int.from_bytes(blake2b(body, digest_size=4).digest())
        asked = read(Seen(path, {}, request := json.loads(body)))
        documents = set(_STATION.findall(asked.whole))
        document = documents.pop() if len(documents) == 1 else "several"
        seconds = self._least + (self._most - self._least) * drawn / 2**32
        self._calls.append(Call(document, arrived, seconds))
        answer = json.dumps(wire_body(path, waterworks.play(asked), request, drawn)).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(answer)}\r\n\r\n"
        loop.call_at(arrived + seconds, self._answer, arrived + seconds, head.encode() + answer)

    def _answer(self, due: float, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)
        self._late.append(asyncio.get_running_loop().time() - due)


async def _serve(least: float, most: float) -> None:
    calls: list[Call] = []
    late: list[float] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(calls, late, least, most), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps((calls, time.process_time(), sum(late) / max(1, len(late)))), flush=True)


if __name__ == "__main__":
    main()
