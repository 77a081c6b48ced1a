from __future__ import annotations

from collections.abc import Generator

import dagster as dg
import pytest

from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS, DOCUMENTS, QUESTIONS, GraphRun
from tests.support.project import Project

TEXTUAL, VISUAL = "water/facts/textual", "water/facts/visual"


class Made:
    """A project with everything materialized once; `runs` by what was asked for. Tests leave it as it is."""

    def __init__(self, project: Project, graph: GraphRun) -> None:
        self.project, self.graph = project, graph
        self.runs: dict[str, dg.ExecuteInProcessResult] = {
            "documents": graph.materialize("water", *DOCUMENTS),
            "textual": graph.materialize(TEXTUAL, *QUESTIONS),
            "visual": graph.materialize(VISUAL, *QUESTIONS),
            "exports": graph.materialize(TEXTUAL, "exports"),
            "catalog": graph.materialize(None, "catalog"),
        }


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Generator[Made]:
    project = Project.make(tmp_path_factory.mktemp("made") / "project")
    documents = {
        "ridge.txt": waterworks.notes("ridge"),
        "quay.txt": waterworks.notes("quay"),
        "mill.pdf": waterworks.sheet("mill"),
        "scan.pdf": b"no PDF at all",
    }
    project.corpus("water", waterworks.corpus(2, "textual, visual"), documents)
    with GraphRun(project) as graph:
        yield Made(project, graph)


def pytest_itemcollected(item: pytest.Item) -> None:
    for mark in DAGSTER_WARNINGS:
        item.add_marker(mark)
