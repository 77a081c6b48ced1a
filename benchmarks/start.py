"""How long a command takes to start: `--help`, `status`, the import of the definitions, and `run` up to its first model call.

`python -m benchmarks.start [--runs 10]` starts each in a process of its own and prints the minimum and the median, on the clock and
in seconds of CPU. `run` parses three new documents and calls a model server on this machine. One round before the first measured
one writes the bytecode and the Dagster instance.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks import project
from benchmarks.resume import PROFILE
from qagen_dagster.settings import Settings, export
from tests.support import waterworks
from tests.support.wire_server import Seen, Step, WireServer

QAGEN = ("-c", "from qagen_dagster.cli.main import main; main()")
COMMANDS = {
    "qagen --help": (*QAGEN, "--help"),
    "qagen status": (*QAGEN, "status"),
    "import of the definitions": ("-c", "import qagen_dagster.definitions"),
}
FIRST_CALL = "first model call of qagen run"
STATIONS = ("north", "south", "west")


class Start(NamedTuple):
    """Seconds: on the clock, and of CPU."""

    wall: float
    cpu: float


class Command:
    """A command in a process of its own."""

    def __init__(self, settings: Settings, words: tuple[str, ...]) -> None:
        environment = os.environ | export(settings)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._begun = time.perf_counter()
        self._process = psutil.Popen(
            [sys.executable, *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def so_far(self) -> Start:
        """What the command has taken up to now, without its child processes."""
        wall, times = time.perf_counter() - self._begun, self._process.cpu_times()
        return Start(wall, times.user + times.system)

    def end(self) -> Start:
        """Wait for the end of the command, and return what it took. Raises SystemExit if it failed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _, error = self._process.communicate()
        wall, after = time.perf_counter() - self._begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if self._process.returncode:
            raise SystemExit(error)
        return Start(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class Server:
    """A model server that measures `command` when the first request comes in."""

    def __init__(self) -> None:
        self.command: Command | None = None
        self.first: Start | None = None
        self.wire = WireServer(self._answer)

    def _answer(self, seen: Seen, number: int) -> Step:
        if self.command is not None and self.first is None:
            self.first = self.command.so_far()
        return waterworks.answer(seen, number)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    rounds: int = parser.parse_args().runs
    server = Server()
    with tempfile.TemporaryDirectory() as folder, server.wire:
        settings = _prepare(Path(folder), server.wire.url("openai_compatible"))
        starts = [_round(settings, server) for _ in range(rounds + 1)][1:]
    print(f"{rounds} runs: minimum, median")
    for name in starts[0]:
        _row(name, [one[name] for one in starts])


def _prepare(root: Path, url: str) -> Settings:
    documents = {f"{name}.md": waterworks.notes(name) for name in STATIONS}
    settings = project.make(root, "water", waterworks.corpus(), documents, "remote")
    (root / "profiles" / "remote.yaml").write_text(PROFILE.format(url=url), encoding="utf-8")
    return settings


def _round(settings: Settings, server: Server) -> dict[str, Start]:
    shutil.rmtree(settings.assets, ignore_errors=True)
    server.first, server.command = None, Command(settings, (*QAGEN, "run"))
    server.command.end()
    assert server.first is not None
    return {name: Command(settings, words).end() for name, words in COMMANDS.items()} | {
        FIRST_CALL: server.first
    }


def _row(name: str, starts: list[Start]) -> None:
    wall, cpu = ([getattr(one, field) for one in starts] for field in Start._fields)
    print(
        f"{name:<32} {min(wall):6.2f} s {statistics.median(wall):6.2f} s"
        f"   of CPU {min(cpu):6.2f} s {statistics.median(cpu):6.2f} s"
    )


if __name__ == "__main__":
    main()
