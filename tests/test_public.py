from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import qagen_dagster
from qagen_dagster.errors import StoreError
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown, waterworks
from tests.support.project import Project
from tests.support.scored import published_set


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, qagen_dagster; print(sorted(name for name in sys.modules if 'qagen' in name))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['qagen_dagster']"


def test_there_is_no_other_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'qagen_dagster' has no attribute 'publish'"):
        getattr(qagen_dagster, "publish")  # noqa: B009


def test_the_documented_names_are_the_public_ones() -> None:
    contracts = (PROJECT_ROOT / "docs/contracts.md").read_text(encoding="utf-8")
    rows = markdown.table(contracts, "## The Python interface")
    assert sorted(row[0].strip("`") for row in rows) == sorted(set(qagen_dagster.__all__) - {"__version__"})
    for name, form in ((row[0].strip("`"), row[1]) for row in rows):
        function = getattr(qagen_dagster, name)
        if inspect.isfunction(function):
            told = form.strip("`").partition("(")[2].partition(")")[0]
            names = [part.split("=")[0] for part in told.split(", ") if part not in ("", "*")]
            assert names == list(inspect.signature(function).parameters), name


def test_combinations_are_the_configured_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(modes="textual, visual"), {})
    monkeypatch.setenv("QAGEN_CORPORA", str(project.corpora))
    assert qagen_dagster.combinations() == ["water/facts/textual", "water/facts/visual"]


def test_a_set_that_was_never_published_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="water/facts/textual has no published set"):
        qagen_dagster.published("water/facts/textual", assets=tmp_path)


def test_rows_in_memory_are_scored_and_compared(tmp_path: Path) -> None:
    questions = published_set(tmp_path)
    first = [{"id": one.id, "answer": one.answer} for one in questions]
    report = qagen_dagster.score(questions, first, [{"id": "q-1", "answer": "12 m"}])
    assert [one.overall.counts["right"] for one in report.systems] == [4, 0]
    assert report.comparisons[0].only_first == ("q-1", "q-2", "q-3", "q-4")
    assert qagen_dagster.score_markdown(report).startswith("# Scores: answers and against\n")
