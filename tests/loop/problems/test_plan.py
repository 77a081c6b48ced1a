"""Prompts that the user of a problem set wrote."""

from __future__ import annotations

from pathlib import Path

from qagen_dagster.agents.prompts import FOLDER
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.problems.bank import keep_sources, plan_problem_set
from qagen_dagster.loop.problems.inputs import task_fingerprint
from qagen_dagster.loop.problems.outdated import wanted_problems
from qagen_dagster.loop.problems.run_problem import perform
from qagen_dagster.loop.problems.state_machine import ProblemState
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import Stage, Task, TaskEnd
from tests.support.problems.play import ProblemPlay, item
from tests.support.project import Project

YAML = "name: Motion\nsources: [{file: a.tex}]\n"


def test_prompts_of_the_user_are_sent_and_move_only_their_fingerprints(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = project.corpora / "problems" / "motion"
    (folder / "sources").mkdir(parents=True)
    (folder / "sources" / "a.tex").write_text(item())
    (folder / "problems.yaml").write_text(YAML)
    space = Workspace(project.settings(profile="embedded"))

    def planned() -> tuple[list[str], str, ProblemPlay]:
        problem_set = find_problem_set(project.corpora, "motion")
        keep_sources(space, problem_set)
        plan, play = plan_problem_set(space, problem_set), ProblemPlay()
        work = plan.work(plan.problems[0], play.fakes, space.store)
        tasks = [Task(stage=stage) for stage in (Stage.CLASSIFY, Stage.IDEA)]
        assert perform(tasks[0], work, ProblemState()).end is TaskEnd.DONE
        found = [task_fingerprint(task, work, ProblemState()) for task in tasks]
        return found, wanted_problems(space, "motion").version, play

    before, version, play = planned()
    assert "Be strict." not in play.fakes[Role.CLASSIFIER].requests[0].system
    (folder / "own").mkdir()
    shipped = (FOLDER / "problems" / "classify.md").read_text()
    (folder / "own" / "classify.md").write_text(f"Be strict.\n{shipped}")
    (folder / "problems.yaml").write_text(f"{YAML}prompts: own\n")
    after, changed, play = planned()
    assert "Be strict." in play.fakes[Role.CLASSIFIER].requests[0].system
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True]
    assert changed != version
    (folder / "own" / "classify.md").write_text(shipped)
    assert planned()[:2] == (before, version)
