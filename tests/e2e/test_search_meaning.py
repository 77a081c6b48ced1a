"""Agents that search by meaning: offered where the scenario says so, and answered from the index."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support import waterworks
from tests.support.project import Project
from tests.support.wire_reader import read
from tests.support.wire_server import Reply, Seen, Step, WireServer

KEY = "water/facts/textual"
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}", opening_characters: 0}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}", opening_characters: 0}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""
_PASSAGE = re.compile(r"-- lines? \d+(?:-\d+)?, score 0\.\d\d")


class Searching:
    """Plays the waterworks' models, who search by meaning first where they can."""

    def __init__(self) -> None:
        self.offered: set[tuple[str, bool]] = set()
        self.shown: list[str] = []

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        asked = read(seen)
        if asked.role in ("generator", "validator"):
            self.offered.add((asked.role, "search_meaning" in asked.tools))
            if "search_meaning" in asked.tools and not asked.results:
                return _search()
            self.shown += [one for one in asked.results if _PASSAGE.search(one)]
        return waterworks.play(asked)


def _search() -> Reply:
    return waterworks.call("search_meaning", query="how much force opens the water gate", max_passages=2)


def _project(root: Path, server: WireServer) -> Project:
    project = Project.make(root)
    corpus = waterworks.corpus(2).replace("modes: [textual]", "modes: [textual], search_meaning: true")
    project.corpus(
        "water", corpus, {"ridge.txt": waterworks.notes("ridge"), "quay.txt": waterworks.notes("quay")}
    )
    project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
    return project


def test_agents_search_by_meaning_where_the_scenario_says_so(tmp_path: Path) -> None:
    playing = Searching()
    with WireServer(playing) as server:
        project = _project(tmp_path / "project", server)
        assert project.qagen("index").code == 0
        before = project.stored("search")
        assert project.qagen("run", "--profile", "remote").code == 0
        assert playing.offered == {("generator", True), ("validator", True)}
        assert any("valve of the ridge station" in one for one in playing.shown)
        assert not any("quay" in one and "ridge" in one for one in playing.shown), (
            "one document alone is searched"
        )
        assert len(project.published(KEY)["questions"]) == 4
        assert project.stored("search") == before
        asked = len(server.requests)
        assert project.qagen("run", "--profile", "remote").code == 0
        assert len(server.requests) == asked, "it is up to date"
