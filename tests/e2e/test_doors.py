"""The UI and the command line are two doors into one store: they say the same, and neither removes what the other made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qagen_dagster.cli.main import main
from qagen_dagster.loop.product_table import TABLE, Product
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import ValidatedSet
from tests.support import waterworks
from tests.support.changes import QUIZ
from tests.support.dagster_ui import Installed, dagster_ui, wait_for
from tests.support.exams.mini import write_exam
from tests.support.graph import DAGSTER_WARNINGS, GraphRun
from tests.support.project import Ended, Project

pytestmark = list(DAGSTER_WARNINGS)
KEY = "water/facts/textual"
COMBINATION = Combination.from_key(KEY)
EXAM = """\
name: Mini
candidate_profile: Somebody who can add.
difficulties: {easy: 1, hard: 1}
items: 2
profile: quiz
"""
Launch = Callable[
    [str, Product, dict[str, Any]], None
]  # a partition, what to make of it, fields of the launchpad


@dataclass
class Site:
    """A project whose first questions were made by the command."""

    project: Project
    capsys: pytest.CaptureFixture[str]

    def qagen(self, *words: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = self.capsys.readouterr()
        assert ended.value.code == 0, err
        return Ended(0, out, err)

    def listed(self, outcome: str) -> list[dict[str, Any]]:
        return self.qagen("questions", "--outcome", outcome, "--limit", "1000", "--json").value


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Site:
    project = Project.make(tmp_path / "project")
    for name, value in project.environment().items():
        if name.startswith(("QAGEN_", "DAGSTER_")):
            monkeypatch.setenv(name, value)
    for name in ("ridge", "quay"):
        project.corpus("water", waterworks.corpus(2), {f"{name}.txt": waterworks.notes(name)})
    # The comparison of documents removes the questions of a copy, after its own run accepted them.
    project.corpus("water", waterworks.corpus(2), {"copy.txt": waterworks.notes("ridge")})
    project.profile("quiz", QUIZ)
    write_exam(project.corpora, yaml=EXAM)
    site = Site(project, capsys)
    site.qagen("run")
    return site


def all_counts_agree(site: Site, shown: dict[str, Any]) -> None:
    """`shown`: the numbers in the metadata of `validated_qa` in the UI."""
    accepted, rejected = site.listed("accepted"), site.listed("rejected")
    status, stats = site.qagen("status", "--json").value, site.qagen("stats", "--json").value
    assert status["states"] == {KEY: "up to date"}
    for row in (status["combinations"][0], stats[0], shown):
        assert (row["accepted"], row["rejected"]) == (len(accepted), len(rejected))
    assert {one["id"] for one in site.project.published(KEY)["questions"]} == {one["id"] for one in accepted}
    for one in (*accepted, *rejected):
        told = site.qagen("show", one["id"], "--json").value
        assert (told["question_id"], told["outcome"]) == (one["id"], one["outcome"])
    assert len(accepted) == status["questions"]


def what_the_ui_made_is_what_the_commands_say(site: Site, graph: GraphRun, launch: Launch) -> None:
    before = len(site.listed("accepted"))
    launch(KEY, Product.QUESTIONS, {"target_count": 4})
    site.capsys.readouterr()
    all_counts_agree(site, latest(graph, "validated_qa"))
    assert len(site.listed("accepted")) > before
    candidates = latest(graph, "candidate_qa")
    removed = len(Workspace(graph.settings).store.read(ValidatedSet.key(COMBINATION), ValidatedSet).removed)
    assert removed > 0
    assert candidates["accepted_before_deduplication"] == len(site.listed("accepted")) + removed


def latest(graph: GraphRun, asset: str) -> dict[str, Any]:
    """The metadata of the last materialization, as the UI shows it."""
    event = graph.instance.get_latest_materialization_event(dg.AssetKey(asset))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: one.value for name, one in event.asset_materialization.metadata.items()}


def no_tick_removes_what_was_asked_for(site: Site, graph: GraphRun) -> None:
    """Goals of the command line stay, also when the files ask for less."""
    site.qagen("exam", "run", "--exam", "mini", "--schema", "M1,P2", "--items", "6")
    made = bank(site)
    assert sum(made.values()) > 2, "more than exam.yaml asks for"
    questions = site.project.published(KEY)["questions"]
    for fewer in ("items: 2", "items: 1"):
        (site.project.corpora / "exams/mini/exam.yaml").write_text(EXAM.replace("items: 2", fewer))
        site.project.corpus("water", waterworks.corpus(1), {})
        launched = [task for tick in graph.settle() for task in tick]
        assert [one for one in launched if one.startswith(("exam", "questions"))] == []
        assert bank(site) == made
        assert site.project.published(KEY)["questions"] == questions
    assert site.qagen("stale", "--json").value["tasks"] == []


def bank(site: Site) -> Counter[str]:
    """The slots of each part of the exam that have ended."""
    (exam,) = site.qagen("exam", "status", "--exam", "mini", "--json").value["exams"]
    return Counter({part["part"]: part["slots"] for part in exam["parts"]})


@pytest.fixture
def graph(site: Site) -> Generator[GraphRun]:
    with GraphRun(site.project) as graph:
        yield graph


def test_runs_and_commands_agree_and_remove_nothing(site: Site, graph: GraphRun) -> None:
    def launch(partition: str, product: Product, fields: dict[str, Any]) -> None:
        job = graph.definitions.resolve_job_def("question_set")
        assert job.execute_in_process(
            run_config={"ops": TABLE[product].ops(fields)}, instance=graph.instance, partition_key=partition
        ).success

    what_the_ui_made_is_what_the_commands_say(site, graph, launch)
    no_tick_removes_what_was_asked_for(site, graph)


@pytest.mark.daemon
def test_the_same_by_graphql(site: Site, graph: GraphRun) -> None:
    with dagster_ui(Installed.make(site.project, "dry_run")) as ui:

        def launch(partition: str, product: Product, fields: dict[str, Any]) -> None:
            run = ui.launch("question_set", partition, TABLE[product].ops(fields))
            wait_for(lambda: ui.ended(run), True)

        what_the_ui_made_is_what_the_commands_say(site, graph, launch)
    no_tick_removes_what_was_asked_for(site, graph)
