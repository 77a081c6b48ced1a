from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.cli.main import main
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.project import Ended, Project


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


def pytest_itemcollected(item: pytest.Item) -> None:
    for mark in DAGSTER_WARNINGS:
        item.add_marker(mark)
