"""Processes that use one ledger at once, and die: `python -m tests.support.ledger_processes write|ask FOLDER ...`.

    write FOLDER --processes 8 --writes 2000     half of the writers are killed midway; then all is read and counted
    ask FOLDER --processes 4 [--kill]            all ask the same; with --kill the one who pays dies while it does

Prints counts as JSON. Children are made by fork from this process, which has one thread and has loaded everything.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qagen_dagster.models.ledger import Entry, Ledger, LedgeredModel, unseal
from qagen_dagster.models.messages import AssistantMessage, Request, Text, UserMessage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.scripted import ScriptedProvider
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Blobs, Store

SHARED = 5  # every so many writes all writers write the same entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("write", "ask"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    blobs = Store(given.folder / "store").blobs("ledger")
    if given.task == "write":
        counts = write(blobs, given.folder, given.processes, given.writes)
    else:
        counts = ask(blobs, given.folder, given.processes, given.kill)
    sys.stdout.write(json.dumps(counts) + "\n")


def write(blobs: Blobs, folder: Path, processes: int, writes: int) -> dict[str, int]:
    """Let `processes` write at once, kill every second one at a random point of its work, and read everything."""
    diaries = [folder / f"diary-{number}" for number in range(processes)]
    for diary in diaries:
        diary.touch()
    children = [_child(_writer(blobs, diary, writes)) for diary in diaries]
    chance = random.Random(writes)
    killed = _kill(
        {children[n]: (diaries[n], chance.randrange(writes * 3 // 4)) for n in range(0, processes, 2)}
    )
    for child in children:
        os.waitpid(child, 0)
    done = [json.loads(line) for diary in diaries for line in diary.read_text().splitlines()]
    counts = {"killed": killed, "finished": len(done), "readable": 0, "corrupt": 0}
    ledger = Ledger(blobs)
    for one in done:
        entry = ledger.get(one["key"])
        counts["readable"] += entry is not None and entry.body == _body(one["key"])
    for key in list(blobs.keys()):
        data = blobs.get(key)
        counts["corrupt"] += data is None or _unsealed(data, key) is None
    counts["finished_by_survivors"] = sum(len(diary.read_text().splitlines()) for diary in diaries[1::2])
    return counts


def _writer(blobs: Blobs, diary: Path, writes: int) -> Callable[[], None]:
    def work() -> None:
        ledger = Ledger(blobs)
        with diary.open("a", buffering=1) as lines:
            for number in range(writes):
                key = digest(str(number), "all" if number % SHARED == 0 else diary.name)
                ledger.put(key, _body(key), model="scripted:writer", seconds=0.1, retries=0)
                lines.write(json.dumps({"key": key}) + "\n")  # after the write has returned

    return work


def _body(key: str) -> dict[str, Any]:
    return {"text": f"answer to {key} " * (1 + int(key[:2], 16))}


def _unsealed(data: bytes, key: str) -> Entry | None:
    try:
        return unseal(data, key)
    except ValueError:
        return None


def _kill(victims: dict[int, tuple[Path, int]]) -> int:
    """Kill each process when its diary has so many lines; how many died before they were done."""
    killed = 0
    while victims:
        for child, (diary, lines) in list(victims.items()):
            if diary.read_bytes().count(b"\n") >= lines:
                os.kill(child, signal.SIGKILL)
                killed += 1
                del victims[child]
        time.sleep(0.002)
    return killed


def ask(blobs: Blobs, folder: Path, processes: int, kill: bool) -> dict[str, int]:
    """Let `processes` ask the same at once; how often it was paid, and how many got the answer."""
    payers, got = folder / "payers", folder / "got"
    for file in (payers, got):
        file.touch()
    children = [_child(_asker(blobs, payers, got)) for _ in range(processes)]
    if kill:
        while not payers.read_text():
            time.sleep(0.001)
        os.kill(int(payers.read_text().split()[0]), signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    answers = got.read_text().splitlines()
    return {
        "paid": len(payers.read_text().split()),
        "answered": len(answers),
        "answers": len(set(answers)),
        "locks": len(list((folder / "store").glob("locks/ledger/*"))),
    }


def _asker(blobs: Blobs, payers: Path, got: Path) -> Callable[[], None]:
    def script(request: Request) -> AssistantMessage:
        del request
        _note(payers, str(os.getpid()))
        time.sleep(0.3)
        return AssistantMessage(content=(Text(text=f"answer for {os.getpid()}"),))

    def work() -> None:
        model = LedgeredModel(
            ScriptedProvider(ModelSpec(provider="scripted", model="asked"), script), Ledger(blobs)
        )
        question = Request(system="", messages=(UserMessage(content=(Text(text="What?"),)),))
        _note(got, model.respond(question).message.text)

    return work


def _note(file: Path, line: str) -> None:
    with file.open("a") as lines:
        lines.write(line + "\n")


def _child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
