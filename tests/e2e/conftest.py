from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import waterworks
from tests.support.once import once
from tests.support.project import Ended, Project

BROKEN = """\
name: Broken
corpus_context: A corpus with a key that nobody knows.
scenarios:
  facts: {name: Facts, description: Single facts.}
topic: pumps
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project after one `qagen run` with the profile dry_run. Tests must leave it as it is."""
    return Project(once(tmp_path_factory, "finished", _run))


@pytest.fixture(scope="session")
def first_run(finished: Project) -> Ended:
    """How that run ended."""
    return Ended(**json.loads((finished.root / "first_run.json").read_text()))


def _run(folder: Path) -> None:
    folder.mkdir()
    project = Project.make(folder)
    documents = {
        "ridge.txt": waterworks.notes("ridge"),
        "quay.txt": waterworks.notes("quay"),
        "mill.pdf": waterworks.sheet("mill"),
        "scan.pdf": b"no PDF at all",
    }
    project.corpus("water", waterworks.corpus(2, "textual, visual"), documents)
    project.corpus("broken", BROKEN, {})
    ended = project.qagen_fresh("run")
    (folder / "first_run.json").write_text(json.dumps(vars(ended)))
