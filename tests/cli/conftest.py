from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.cli.main import main
from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.once import once
from tests.support.problems.board import PROFILE, ProblemBoard
from tests.support.project import Ended, Project
from tests.support.wire_server import WireServer

Play = Callable[..., ProblemBoard]


class Command:
    """The command run in this process, in a project of its own."""

    def __init__(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        self.project, self._capsys = project, capsys

    def __call__(self, *words: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)


@pytest.fixture
def qagen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    project = Project.make(tmp_path / "project")
    for name, value in project.environment().items():
        if name.startswith(("QAGEN_", "DAGSTER_", "COLUMNS")):
            monkeypatch.setenv(name, value)
    return Command(project, capsys)


@pytest.fixture(scope="session")
def ran_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project whose set of two questions is published. Tests copy it."""
    return once(tmp_path_factory, "ran", _run)


def _run(folder: Path) -> None:
    project = Project.make(folder)
    project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    assert project.qagen("run", "--json").code == 0


@pytest.fixture
def ran(qagen: Command, ran_once: Path) -> Command:
    """The command in a copy of `ran_once`."""
    shutil.rmtree(qagen.project.root)
    shutil.copytree(ran_once, qagen.project.root)
    return qagen


@pytest.fixture
def play(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> Generator[Play]:
    """Puts models of problems behind the command; what they submit can be given by the name of the tool."""
    monkeypatch.setenv("PATH", "")  # no TeX engine, wherever this runs
    servers: list[WireServer] = []

    def start(**replies: Any) -> ProblemBoard:
        board = ProblemBoard(**replies)
        server = WireServer(board)
        server.__enter__()
        servers.append(server)
        qagen.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        monkeypatch.setenv("QAGEN_PROFILE", "remote")
        return board

    yield start
    for server in servers:
        server.__exit__()


def pytest_itemcollected(item: pytest.Item) -> None:
    for mark in DAGSTER_WARNINGS:
        item.add_marker(mark)
