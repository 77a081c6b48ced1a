"""`qagen process` on a file of many items over the command: killed and started again, it gives the same bank."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.problems.board import PROFILE, ProblemBoard
from tests.support.problems.files import tex
from tests.support.project import Project, ended
from tests.support.wire_server import WireServer

WORKERS = 3  # of `Project.environment`: so many calls may be in flight when a process dies
WORDS = ("--variants", "numerical", "context", "conceptual", "calculus", "--alternate", "--profile", "remote")
CALLS = 7  # for each item: classified, ideas, alternate, four variants; a whole item is scanned by code


@pytest.mark.parametrize(
    ("items", "kills"),
    [(8, (18,)), pytest.param(40, (90, 80), marks=pytest.mark.long)],
    ids=["once", "twice"],
)
def test_killed_it_gives_the_same_bank_and_pays_nothing_twice(
    tmp_path: Path, items: int, kills: tuple[int, ...]
) -> None:
    """Each kill comes after so many more answers."""
    board = ProblemBoard()
    with WireServer(board) as server:
        project = Project.make(tmp_path / "project")
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        source = project.root / "problems.tex"
        source.write_text(tex(items))
        whole = project.qagen("process", "-t", str(source), *WORDS, "-o", "whole", PATH="")
        assert whole.code == 0, whole.err
        calls, board.received = len(board.received), []
        assert calls == items * CALLS
        killed = project.another(2)
        for answers in kills:
            board.allow(answers)
            kill_when_silent(killed, board, source)
        board.allow(None)
        last = killed.qagen("process", "-t", str(source), *WORDS, "-o", "again", PATH="")
        assert last.code == 0, last.err
    assert calls <= len(board.received) <= calls + len(kills) * WORKERS
    assert files(project.root / "again") == files(project.root / "whole")


def kill_when_silent(project: Project, board: ProblemBoard, source: Path) -> None:
    process = project.start("process", "-t", str(source), *WORDS, "-o", "again", PATH="")
    while not board.silent.is_set():
        assert process.poll() is None, ended(process).err
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert ended(process).code == -signal.SIGKILL


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
