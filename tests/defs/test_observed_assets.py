"""A changed model, prompt-bearing text or limit moves exactly the combinations that use it: observation, staleness,
the sensor that launches runs and the nightly schedule on a real instance.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support import waterworks
from tests.support.graph import DOCUMENTS, GraphRun
from tests.support.project import Project

WATER = """\
name: Waterworks
corpus_context: Notes on the stations of an invented waterworks.
scenarios:
  facts: {name: Facts, description: Single facts., target_count: 1, profile: cheap}
  reading: {name: Reading, description: Careful reading., target_count: 1, modes: [textual], profile: dear}
"""
RAIL = """\
name: Railway
corpus_context: Notes on the stations of an invented railway.
scenarios:
  facts: {name: Facts, description: Single facts., target_count: 1, modes: [textual], profile: dear}
"""
CORPORA = ("rail", "water")
CHEAP = ["water/facts/textual", "water/facts/visual"]
DEAR = ["rail/facts/textual", "water/reading/textual"]
ALL = sorted(CHEAP + DEAR)


class Change:
    """What one edit must move, and how it is made."""

    def __init__(self, moved: list[str], file: str, before: str, after: str) -> None:
        self.moved, self.file, self.before, self.after = sorted(moved), file, before, after

    def make(self, project: Project) -> None:
        self._replace(project, self.before, self.after)

    def undo(self, project: Project) -> None:
        self._replace(project, self.after, self.before)

    def _replace(self, project: Project, before: str, after: str) -> None:
        path = project.root / self.file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))


CHANGES = {
    "override for pictures": Change(
        ["water/facts/visual"],
        "profiles/cheap.yaml",
        "\nvisual: {}",
        "\nvisual: {validator: {provider: scripted, model: cloze-compare}}",
    ),
    "description of one scenario": Change(
        ["rail/facts/textual"], "corpora/rail/corpus.yaml", "Single facts.", "Single facts with dates."
    ),
    "limit of one scenario": Change(
        ["water/reading/textual"],
        "corpora/water/corpus.yaml",
        "Careful reading., target_count: 1",
        "Careful reading., target_count: 2",
    ),
    "validator of one profile": Change(
        DEAR, "profiles/dear.yaml", "model: cloze-check", "model: cloze-compare"
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.make(tmp_path_factory.mktemp("models") / "project")
    project.corpus("water", WATER, {"ridge.txt": waterworks.notes("ridge", ["intake", "outlet"])})
    project.corpus("rail", RAIL, {"quay.txt": waterworks.notes("quay", ["intake", "outlet"])})
    for name in ("cheap", "dear"):
        project.profile(name, _profile())
    return project


@pytest.fixture(scope="module")
def graph(project: Project) -> Generator[GraphRun]:
    with GraphRun(project) as graph:
        yield graph


def before_anything_is_made_every_corpus_is_due(graph: GraphRun) -> None:
    versions = graph.observe()
    assert sorted(versions) == ALL
    assert len(set(versions.values())) == len(ALL)
    assert graph.observe() == {}
    assert graph.nightly().tasks == ["documents rail", "documents water"]


def once_made_nothing_is_stale_requested_or_due(graph: GraphRun) -> None:
    made = [["documents rail", "documents water"], _questions(ALL), ["catalog"]]
    assert graph.settle() == made
    assert graph.stale("candidate_qa", ALL) == []
    assert graph.nightly().tasks == []


def a_change_moves_exactly_what_uses_it(graph: GraphRun, project: Project) -> None:
    assert graph.requested() == []
    stale: list[str] = []
    for change in CHANGES.values():
        change.make(project)
        assert sorted(graph.observe()) == change.moved
        assert graph.observe() == {}
        stale = sorted({*stale, *change.moved})
        assert graph.stale("candidate_qa", ALL) == stale
        assert graph.nightly().tasks == _questions(stale)
    kept = CHANGES["description of one scenario"]
    for change in CHANGES.values():
        if change is not kept:
            change.undo(project)
    assert sorted(graph.observe()) == stale, "each was moved by something that is undone"
    assert graph.stale("candidate_qa", ALL) == kept.moved
    assert graph.settle() == [_questions(kept.moved), ["catalog"]]
    assert graph.stale("candidate_qa", ALL) == []
    assert graph.nightly().tasks == []


def a_profile_that_cannot_be_used_is_told_and_moves_nothing(graph: GraphRun, project: Project) -> None:
    good = (project.profiles / "cheap.yaml").read_text()
    project.profile("cheap", "roles: {}\n")
    assert graph.observe() == {}
    assert graph.nightly().tasks == []
    project.profile("cheap", good)
    assert graph.observe() == {}


def observing_the_asset_itself_sees_what_the_sensor_sees(graph: GraphRun, project: Project) -> None:
    """As the button "Observe" of the UI does it: in a run."""
    good = (project.profiles / "cheap.yaml").read_text()
    project.profile("cheap", "roles: {}\n")
    seen, errors = graph.observe_in_a_run()
    assert sorted(seen) == DEAR
    assert len(set(seen.values())) == len(DEAR)
    assert [error.split(": ")[0] for error in errors] == CHEAP
    project.profile("cheap", good)
    assert sorted(graph.observe_in_a_run()[0]) == ALL
    assert graph.observe() == {}


def changed_documents_request_their_combinations(graph: GraphRun, project: Project) -> None:
    document = project.corpora / "rail/documents/quay.txt"
    document.write_text(
        document.read_text() + "\nThe keeper of the quay station left in the spring of the year.\n"
    )
    assert [one.partition for one in graph.seen()] == ["rail"]
    assert graph.stale("parsed_documents", CORPORA) == ["rail"]
    assert graph.requested() == ["documents rail"]
    assert graph.materialize("rail", *DOCUMENTS).success
    rail = [key for key in ALL if key.startswith("rail/")]
    assert graph.stale("candidate_qa", ALL) == rail
    assert graph.requested() == _questions(rail)


def test_exactly_what_a_change_affects_is_stale_requested_and_due(graph: GraphRun, project: Project) -> None:
    """One test, for each step goes on from the instance that the one before it left."""
    before_anything_is_made_every_corpus_is_due(graph)
    once_made_nothing_is_stale_requested_or_due(graph)
    a_change_moves_exactly_what_uses_it(graph, project)
    a_profile_that_cannot_be_used_is_told_and_moves_nothing(graph, project)
    observing_the_asset_itself_sees_what_the_sensor_sees(graph, project)
    changed_documents_request_their_combinations(graph, project)


def _questions(keys: list[str]) -> list[str]:
    return [f"questions {key}" for key in keys]


def _profile() -> str:
    models = {"generator": "cloze", "validator": "cloze-check", "deduplicator": "cloze"}
    roles = "\n".join(f"  {role}: {{provider: scripted, model: {model}}}" for role, model in models.items())
    return f"roles:\n{roles}\nvisual: {{}}\n"
