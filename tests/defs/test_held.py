"""A Dagster instance whose SQLite files another process holds."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from qagen_dagster.definitions import open_graph
from qagen_dagster.defs import in_process
from qagen_dagster.errors import StoreError
from tests.defs.test_in_process import Told
from tests.support import quick_dagster, waterworks
from tests.support.project import Project

HOLD = """
import sqlite3, sys
held = [sqlite3.connect(path, isolation_level=None) for path in sys.argv[2:]]
for one in held: one.execute("BEGIN " + sys.argv[1])
print("held", flush=True); sys.stdin.read()
"""


@contextmanager
def holding(files: list[Path], how: str = "EXCLUSIVE") -> Generator[subprocess.Popen[str]]:
    """Another process holds `files`, until the body ends it."""
    command = [sys.executable, "-c", HOLD, how, *map(str, files)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    monkeypatch.setenv("DAGSTER_HOME", str(project.home))
    with open_graph(project.settings(), Told()) as graph:
        assert graph.documents("water") == []
    quick_dagster.close()  # before files are damaged: what is in memory must not mend them
    return project


def files(project: Project) -> list[Path]:
    return sorted((project.home / "history").rglob("*.db"))


@pytest.mark.parametrize("how", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_held_instance_is_one_line_without_sql(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    monkeypatch.setattr(in_process, "HELD_SECONDS", 0.5)
    with caplog.at_level(logging.WARNING), holding(files(project), how), pytest.raises(StoreError) as failed:
        open_graph(project.settings(), Told())
    assert str(failed.value).startswith(f"another process holds the Dagster instance {project.home}; ")
    assert "\n" not in str(failed.value)
    assert "waiting up to" in caplog.text


@pytest.mark.parametrize("kind", ["text", "folder"])
def test_a_file_that_is_no_database_is_named_in_one_line(project: Project, kind: str) -> None:
    file = project.home / "history/runs.db"
    file.unlink()
    file.write_text("no database " * 20) if kind == "text" else file.mkdir()
    with pytest.raises(StoreError) as failed:
        open_graph(project.settings(), Told())
    assert str(failed.value).startswith(f"{file} of the Dagster instance cannot be used (")
    file.rename(file.with_suffix(".away"))
    with open_graph(project.settings(), Told()) as graph:
        assert graph.documents("water") == []


def test_an_instance_that_is_taken_during_a_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_graph(project.settings(), Told()) as graph:
        monkeypatch.setattr(in_process, "HELD_SECONDS", 0.5)
        with holding(files(project)), pytest.raises(StoreError, match="the same command again"):
            graph.documents("water")
    with open_graph(project.settings(), Told()) as graph:
        assert graph.documents("water") == []


def test_a_run_waits_until_the_instance_is_free(project: Project) -> None:
    with holding(files(project)) as process:
        threading.Timer(1.0, process.kill).start()
        with open_graph(project.settings(), Told()) as graph:
            assert graph.documents("water") == []


def test_accesses_wait_and_no_sql_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "runs.db"
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": 0})
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a)"))
    engine.dispose()
    monkeypatch.setattr(in_process, "HELD_SECONDS", 0.3)
    with (
        holding([file]),
        pytest.raises(StoreError) as failed,
        in_process.patient(tmp_path),
        engine.begin() as connection,
    ):
        connection.execute(text("INSERT INTO t VALUES (1)"))
    assert "INSERT" not in str(failed.value)
    with pytest.raises(ValueError, match="another"), in_process.patient(tmp_path):
        raise ValueError("another")
