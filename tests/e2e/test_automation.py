"""A change moves exactly what depends on it: it turns stale in Dagster, `qagen stale` lists it, the sensor and the schedule launch
it, and its runs bring it up to date. Sensors and schedule are evaluated as the daemon does it, on a real instance.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from qagen_dagster.agents import prompts
from qagen_dagster.catalog.database import snapshot
from qagen_dagster.loop.refresh.tasks import find_out_of_date, whole_project
from qagen_dagster.loop.workspace import Workspace
from tests.support import waterworks
from tests.support.exams.mini import write_exam
from tests.support.graph import DAGSTER_WARNINGS, GraphRun
from tests.support.project import Project

pytestmark = list(DAGSTER_WARNINGS)
STATIONS = ("ridge", "quay", "mill", "weir")
WATER, RAIL = "water/facts/textual", "rail/facts/textual"
PARTS = ("mini/M1/easy",)  # the part that the only item of the exam belongs to
EVALUATIONS = ("closed_book_check", "retrieval_baseline", "answer_baseline")
CORPUS = """\
name: {name}
corpus_context: Notes on the stations of an invented {name}.
scenarios:
  facts: {{name: Facts, description: Single facts., target_count: 1, modes: [textual], profile: {profile}}}
"""
PROFILE = """\
roles:
  generator: {provider: scripted, model: cloze}
  validator: {provider: scripted, model: cloze-check}
  deduplicator: {provider: scripted, model: cloze-compare}
  answerer: {provider: scripted, model: cloze}
  judge: {provider: scripted, model: cloze-compare}
"""
QUIZ = (
    PROFILE
    + """\
  designer: {provider: embedded, model: exam-designer}
  implementer: {provider: embedded, model: exam-implementer}
  verifier: {provider: embedded, model: exam-verifier}
  style_judge: {provider: embedded, model: exam-style-judge}
"""
)
EXAM = """\
name: Mini
candidate_profile: Somebody who can add.
difficulties: {easy: 1, hard: 1}
items: 1
profile: quiz
"""


@dataclass
class Site:
    """The project, its graph, and what Dagster shows as stale."""

    project: Project
    graph: GraphRun

    def edit(self, file: str, before: str, after: str) -> None:
        path = self.project.root / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    def listed(self) -> list[str]:
        """What `qagen stale` lists that waits for nothing."""
        space = Workspace(self.graph.settings)
        found = find_out_of_date(space, whole_project(space))
        assert found.faults == ()
        return sorted(one.name for one in found.tasks if not one.after)

    def stale(self) -> list[str]:
        """The partitions that the UI shows as stale."""
        wanted = {
            "parsed_documents": ("rail", "water"),
            "document_index": ("water",),
            **dict.fromkeys(("candidate_qa", "grounding_report"), (RAIL, WATER)),
            **dict.fromkeys(EVALUATIONS, (WATER,)),
            **dict.fromkeys(("idea_plans", "exam_items"), PARTS),
        }
        return [f"{asset} {key}" for asset, keys in wanted.items() for key in self.graph.stale(asset, keys)]

    def changed(self, stale: list[str], launched: list[str]) -> list[list[str]]:
        """Let the change be seen, requested and run. Returns the later ticks, and what was observed."""
        assert self.graph.requested() == self.listed() == launched
        assert self.graph.nightly().tasks == launched
        self.graph.seen()
        assert self.stale() == stale
        first, *later = self.graph.settle()
        assert first == launched
        assert self.stale() == []
        assert self.listed() == []
        assert self.graph.nightly().tasks == []
        return later


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Everything made once, before any sensor was on."""
    project = Project.make(tmp_path_factory.mktemp("automation") / "project")
    documents = {f"{name}.txt": waterworks.notes(name, ["intake", "outlet"]) for name in STATIONS}
    project.corpus("water", CORPUS.format(name="waterworks", profile="main"), documents)
    project.corpus(
        "rail", CORPUS.format(name="railway", profile="other"), {"halt.txt": waterworks.notes("halt")}
    )
    write_exam(project.corpora, yaml=EXAM)
    for name, text in (("main", PROFILE), ("other", PROFILE), ("quiz", QUIZ)):
        project.profile(name, text)
    with GraphRun(project, profile="main") as graph:
        site = Site(project, graph)
        graph.settle()
        assert graph.materialize("water", "document_index").success
        assert graph.materialize(WATER, *EVALUATIONS).success
        for part in PARTS:
            assert graph.materialize(part, "idea_plans", "exam_items").success
        assert graph.materialize("mini", "item_bank").success
        assert graph.settle() == [["catalog"]]
        yield site


@contextmanager
def edited_prompt(folder: Path) -> Generator[None]:
    """A prompt file with other words, as after an update of the package."""
    shutil.copytree(prompts.FOLDER, folder)
    file = folder / "grading" / "judge.md"
    file.write_text(file.read_text() + "\nTake your time.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompts, "FOLDER", folder)
        prompts.load_prompt.cache_clear()
        yield
    prompts.load_prompt.cache_clear()


def an_edit_before_the_sensor_was_on_is_found(site: Site) -> None:
    site.edit(
        "profiles/other.yaml",
        "validator: {provider: scripted, model: cloze-check}",
        "validator: {provider: scripted, model: cloze-compare}",
    )
    observed = [one for one in site.graph.seen() if one.asset_key.to_user_string() == "model_config"]
    assert [one.partition for one in observed] == [RAIL]
    assert observed[0].metadata["changed"].value == "validator: scripted:cloze-check → scripted:cloze-compare"
    assert observed[0].metadata["stale"].value == f"candidate_qa {RAIL}"
    assert site.changed([f"candidate_qa {RAIL}"], [f"questions {RAIL}"]) == [["catalog"]]


def validators(site: Site, combination: str) -> list[str]:
    """The validator of each run that made candidates, as the catalog has it."""
    with snapshot(site.project.assets / "catalog.duckdb") as connection:
        rows = connection.execute(
            "SELECT models['validator'] FROM runs WHERE combination = ? AND collected ORDER BY started",
            [combination],
        ).fetchall()
    return [row[0] for row in rows]


def models(site: Site) -> None:
    questions = [f"candidate_qa {WATER}"]
    site.edit(
        "profiles/main.yaml",
        "validator: {provider: scripted, model: cloze-check}",
        "validator: {provider: scripted, model: cloze-check, max_output_tokens: 4000}",
    )
    assert site.changed(questions, [f"questions {WATER}"]) == [["catalog"]]
    site.edit(
        "profiles/main.yaml",
        "judge: {provider: scripted, model: cloze-compare}",
        "judge: {provider: scripted, model: cloze-check}",
    )
    judged = [f"grounding_report {WATER}", f"closed_book_check {WATER}", f"answer_baseline {WATER}"]
    assert site.changed(judged, [f"answers {WATER}", f"closed_book {WATER}", f"grading {WATER}"]) == [
        ["catalog"]
    ]
    site.edit(
        "profiles/main.yaml",
        "answerer: {provider: scripted, model: cloze}",
        "answerer: {provider: scripted, model: cloze, max_output_tokens: 4000}",
    )
    assert site.changed(judged[1:], [f"answers {WATER}", f"closed_book {WATER}"]) == [["catalog"]]


def embedder(site: Site) -> None:
    path = site.project.profiles / "main.yaml"
    path.write_text(path.read_text() + "embedder: {passage_prefix: 'passage: '}\n")
    stale = ["document_index water", f"retrieval_baseline {WATER}", f"answer_baseline {WATER}"]
    assert site.changed(stale, ["index water"]) == [[f"answers {WATER}", f"retrieval {WATER}"], ["catalog"]]


def exam_role(site: Site) -> None:
    site.edit("profiles/quiz.yaml", "model: exam-designer}", "model: exam-designer, max_output_tokens: 4000}")
    stale = [f"{asset} {part}" for asset in ("idea_plans", "exam_items") for part in PARTS]
    assert site.changed(stale, [f"exam_part {part}" for part in PARTS]) == [["item_bank mini"], ["catalog"]]


def documents(site: Site) -> None:
    folder = site.project.corpora / "water" / "documents"
    before = site.project.stored(f"candidates/{WATER}")
    (folder / "quay.txt").write_text(waterworks.notes("quay", ["bypass", "drain"]))
    after_reading = [
        ["index water", f"questions {WATER}"],
        [f"answers {WATER}", f"closed_book {WATER}", f"retrieval {WATER}"],
        ["catalog"],
    ]
    assert site.changed(["parsed_documents water"], ["documents water"]) == after_reading
    now = site.project.stored(f"candidates/{WATER}")
    assert {name.split("/")[4] for name in now.keys() - before.keys()} == {"quay.txt"}
    (folder / "ridge.txt").unlink()
    assert site.changed(["parsed_documents water"], ["documents water"]) == after_reading
    sources = {one["source_document"] for one in site.project.published(WATER)["questions"]}
    assert sources == {f"documents/{name}.txt" for name in STATIONS if name != "ridge"}


def prompt(site: Site, folder: Path) -> None:
    with edited_prompt(folder):
        combinations = [f"grounding_report {key}" for key in (RAIL, WATER)]
        launched = [f"answers {WATER}", f"grading {RAIL}", f"grading {WATER}"]
        assert site.changed([*combinations, f"answer_baseline {WATER}"], launched) == [["catalog"]]
    assert site.graph.settle()[-1] == ["catalog"]


def corpus(site: Site) -> None:
    """A new corpus is named by the sensor and by a check, and is made after the definitions are loaded again."""
    site.project.corpus(
        "port", CORPUS.format(name="port", profile="other"), {"quay.txt": waterworks.notes("quay")}
    )
    assert site.listed() == ["documents port"]
    tick = site.graph.requests()
    assert tick.tasks == []
    assert (
        tick.skipped
        == "reload definitions to run documents port; reload definitions to run questions port/facts/textual"
    )
    assert site.graph.reload_check() == "reload definitions to see corpus port"
    shutil.rmtree(site.project.corpora / "rail")
    with GraphRun(site.project, profile="main") as again:
        assert again.settle() == [["documents port"], ["questions port/facts/textual"], ["catalog"]]
        assert again.reload_check() == "all are loaded"
    space = Workspace(site.graph.settings)
    assert find_out_of_date(space, whole_project(space)).gone == (
        f"{RAIL}: the folder of its corpus is gone; the published set stays",
    )


def test_one_change_after_another(site: Site, tmp_path: Path) -> None:
    """One test, for each step goes on from the instance that the one before it left."""
    an_edit_before_the_sensor_was_on_is_found(site)
    models(site)
    embedder(site)
    exam_role(site)
    documents(site)
    prompt(site, tmp_path / "prompts")
    corpus(site)
    assert len(validators(site, WATER)) == 4
    assert validators(site, RAIL) == ["scripted:cloze-check", "scripted:cloze-compare"]
