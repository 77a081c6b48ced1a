"""Problems worked by the embedded roles through the real prompts: what the roles read of a prompt stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import PROBLEM_ROLES, Role
from qagen_dagster.loop.problems.inputs import ProblemWork
from qagen_dagster.loop.problems.run_problem import work_problem
from qagen_dagster.loop.problems.run_set import record_of
from qagen_dagster.loop.problems.state_machine import FULL, Wishes, tasks_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.messages import Image
from qagen_dagster.records.problems.result import ProblemRecord, TaskEnd
from qagen_dagster.records.problems.submissions import Format, VariantKind
from qagen_dagster.settings import Settings
from tests.support.problems.play import item, mcq, photo, task_results, typed

WISHES = Wishes(
    alternates=1,
    variants=(VariantKind.NUMERICAL, VariantKind.CONTEXT),
    variants_each=2,
    conversions=(Format.INTEGER, Format.MCQ_SC, Format.SUBJECTIVE),
)


def worked(root: Path, tex: str) -> ProblemRecord:
    space = Workspace(Settings(corpora=root, assets=str(root / "assets"), profile="embedded"))
    specs = {role: space.profile("embedded").spec_or_fallback(role) for role in PROBLEM_ROLES}
    models = {role: space.model(spec) for role, spec in specs.items() if spec is not None}
    problem = typed(tex) if tex else photo()
    tasks = tasks_of(problem, WISHES)
    work = ProblemWork(problem, tasks, models, lambda _: Image(media_type="image/png", data=b""))
    return record_of(problem, work_problem(work, task_results(root, problem), FULL), {})


@pytest.mark.parametrize("tex", [item(12, 30), mcq(12, 30), f"% the first one\n{item(12, 30)}\n% its end"])
def test_what_can_be_computed_is_made_and_all_else_is_declined(tmp_path: Path, tex: str) -> None:
    found = worked(tmp_path, tex)
    ends = {task.task.key: task.end for task in found.tasks}
    given = "convert-mcq_sc" if "tasks" in tex else "convert-subjective"
    assert ends.pop(given) is TaskEnd.SKIPPED
    assert ends.pop("diagram") is TaskEnd.SKIPPED
    assert ends.pop("scan") is (TaskEnd.DONE if tex.startswith("%") else TaskEnd.GIVEN)
    declined = {"alternate-1", "variant-context-1", "variant-context-2"}
    assert {key for key, end in ends.items() if end is TaskEnd.DECLINED} == declined
    assert {end for key, end in ends.items() if key not in declined} == {TaskEnd.DONE}
    assert {"variant-numerical-1", "variant-numerical-2", "idea", "classify", "convert-integer"} <= set(ends)
    assert len({found.latex, *found.variants.values()}) == 3
    assert not found.flagged


def test_each_declines_in_a_line_that_says_what_to_do(tmp_path: Path) -> None:
    said = {task.task.key: task.detail for task in worked(tmp_path, item(12, 30)).tasks}
    assert said["alternate-1"].endswith("bind alternate to a language model")
    assert said["variant-context-1"].endswith("bind variant to a language model")
    picture = worked(tmp_path / "picture", "")
    assert picture.detail.startswith("classify: reading a picture needs a model that takes images")
    assert Role.CLASSIFIER.value in picture.detail
