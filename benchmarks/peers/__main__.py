"""Ours beside ragas, deepeval and synthetic-data-kit: ten Markdown documents, twenty questions, one local model server.

`python -m benchmarks.peers [--only NAME] [--cache FOLDER]`. Each peer gets an environment of its own in the cache folder, from PyPI. A call
takes 50 ms in the first round, and 0.2-0.8 s by a hash of the request in the second; up to 20 calls run at once. The last column
is the cost of a `kill -9` at half of the calls: how many more calls it takes to the end than without.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import project
from benchmarks.environments import cache_folder, environment
from benchmarks.peers.documents import QUESTIONS_EACH, documents
from benchmarks.peers.server import DRAWN, FIXED, Counts, Server, started
from benchmarks.resume import PROFILE
from qagen_dagster.settings import Settings, export
from tests.support import waterworks

OURS = "qagen"
PEERS = {
    "ragas": ("run_ragas.py", ["ragas==0.4.3", "langchain-community<0.4", "langchain-openai", "rapidfuzz"]),
    "deepeval": ("run_deepeval.py", ["deepeval==4.3.1"]),
    "synthetic-data-kit": ("run_synthetic_data_kit.py", ["synthetic-data-kit==0.0.5"]),
}
DRIVERS = Path(__file__).with_name("drivers")
LONGEST = 900.0  # seconds for one run
Row = dict[str, Any]


class Task(NamedTuple):
    """A generator as a command, and how to read what it made. A second start resumes, if the generator can."""

    command: list[str]
    environment: dict[str, str]
    rows: Callable[[], list[Row]]


class Outcome(NamedTuple):
    seconds: float
    cpu: float  # seconds, of the generator and its child processes
    counts: Counts
    rows: list[Row]


def main() -> None:
    """Measure and print a table for each speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[OURS, *PEERS])
    parser.add_argument("--cache", type=Path, default=cache_folder())
    given = parser.parse_args()
    names = [given.only] if given.only else [OURS, *PEERS]
    pythons = {name: environment(given.cache, name, PEERS[name][1]) for name in names if name != OURS}
    for speed in (FIXED, DRAWN):
        print(f"\na call takes {speed}\n")
        print(
            "| generator | seconds | of CPU | rows | calls / row | tokens / row | evidence | duplicates | seconds / proven row | after kill -9 |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for name in names:
            print(_measured(name, pythons.get(name), speed), flush=True)


def _measured(name: str, python: Path | None, speed: str) -> str:
    """A row of the table."""
    try:
        with tempfile.TemporaryDirectory() as place, started(speed) as server:
            whole = _run(_task(Path(place), name, python, server), server)
        with tempfile.TemporaryDirectory() as place, started(speed) as server:
            task = _task(Path(place), name, python, server)
            _kill_at(task, server, whole.counts.calls // 2)
            again = _run(task, server)
    except (subprocess.SubprocessError, OSError) as error:
        return f"| {name} | does not run: {' '.join(str(error).split())[:200]} |"
    return _row(_version(name, python), whole, again.counts.calls - whole.counts.calls)


def _task(root: Path, name: str, python: Path | None, server: Server) -> Task:
    if python is None:
        return _ours(root, server)
    folder, output = root / "documents", root / "rows.json"
    folder.mkdir()
    for file, text in documents().items():
        (folder / file).write_text(text, encoding="utf-8")
    count = str(len(documents()) * QUESTIONS_EACH)
    command = [str(python), str(DRIVERS / PEERS[name][0]), str(folder), server.url, count, str(output)]
    quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "RAGAS_DO_NOT_TRACK": "true", "HOME": str(root)}
    return Task(command, quiet, lambda: json.loads(output.read_text(encoding="utf-8")))


def _ours(root: Path, server: Server) -> Task:
    settings = project.make(root, "water", waterworks.corpus(QUESTIONS_EACH), documents(), "remote")
    profile = PROFILE.format(url=server.url)
    (root / "profiles" / "remote.yaml").write_text(profile, encoding="utf-8")
    environment = export(settings) | {
        "DAGSTER_HOME": os.environ["DAGSTER_HOME"],
        "QAGEN_DOCUMENT_WORKERS": "20",
    }
    command = [
        sys.executable,
        "-c",
        "from qagen_dagster.cli.main import main; main(['run', '--corpus', 'water'])",
    ]
    return Task(command, environment, lambda: _published(settings))


def _published(settings: Settings) -> list[Row]:
    (file,) = Path(settings.assets, "published").glob("*/*/*/questions.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [{**row, "evidence": [one["quote"] for one in row["evidence"]]} for row in rows]


def _start(task: Task) -> subprocess.Popen[bytes]:
    environment = os.environ | task.environment
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.Popen(
        task.command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _run(task: Task, server: Server) -> Outcome:
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = _start(task)
    try:
        _, error = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode:
        lines = error.decode(errors="replace").strip().splitlines()
        raise OSError(lines[-1] if lines else f"exit code {process.returncode}")
    return Outcome(seconds, cpu, server.counts(), task.rows())


def _kill_at(task: Task, server: Server, calls: int) -> None:
    process = _start(task)
    while server.counts().calls < calls and process.poll() is None:
        time.sleep(0.02)
    _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _version(name: str, python: Path | None) -> str:
    if python is None:
        return f"{name} {metadata.version('qagen-dagster')}"
    code = f"from importlib.metadata import version; print(version({name!r}))"
    said = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout
    return f"{name} {said.strip()}"


def _row(name: str, whole: Outcome, more_calls: int) -> str:
    rows, count = whole.rows, max(len(whole.rows), 1)
    texts = [" ".join(text.split()) for text in documents().values()]
    good = [_words(row) for row in rows if any(_stands(quote, texts) for quote in row["evidence"])]
    proven = len(set(good))
    cells = (
        name,
        f"{whole.seconds:.1f}",
        f"{whole.cpu:.1f}",
        len(rows),
        f"{whole.counts.calls / count:.1f}",
        f"{whole.counts.tokens / count:,.0f}",
        f"{100 * len(good) / count:.0f} %",
        len(rows) - len({_words(row) for row in rows}),
        f"{whole.seconds / proven:.2f}" if proven else "none is proven",
        f"{more_calls:+d} of {whole.counts.calls} calls",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _words(row: Row) -> str:
    """What a question asks, whatever its punctuation."""
    return " ".join(re.findall(r"\w+", row["question"].lower()))


def _stands(quote: str, texts: list[str]) -> bool:
    flat = " ".join(quote.split())
    return bool(flat) and any(flat in text for text in texts)


if __name__ == "__main__":
    main()
