"""What sensors and the schedule launch: one launch at a time, within the budget, each task once until it changes."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qagen_dagster.defs.automation import launch_id
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.models.budget import Spent
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.graph import GraphRun
from tests.support.project import Project

KEY = "water/facts/textual"
CONTINUE = "continue_nightly_refresh"
PAID = """\
roles:
  generator: {{provider: openai_compatible, model: writer, base_url: "http://127.0.0.1:9", max_attempts: 1{price}}}
  validator: {{provider: scripted, model: cloze-check}}
  deduplicator: {{provider: scripted, model: cloze-compare}}
"""
PRICE = ", usd_per_million_input: 1, usd_per_million_output: 1"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return _project(tmp_path / "project")


def _project(root: Path) -> Project:
    project = Project.make(root)
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    project.profile("paid", PAID.format(price=PRICE))
    return project


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """With the documents and the catalog, which cost nothing. The questions have paid models."""
    project = _project(tmp_path_factory.mktemp("prepared") / "project")
    with GraphRun(project, profile="paid") as graph:
        assert graph.settle() == [["documents water"], ["catalog"]], "these are free"
    return project


@pytest.fixture
def parsed(prepared: Project, tmp_path: Path) -> Project:
    """A copy of `prepared`."""
    return Project(shutil.copytree(prepared.root, tmp_path / "project"))


def test_a_night_continues_up_to_the_catalog_and_tries_each_task_once(project: Project) -> None:
    with GraphRun(project) as graph:
        assert graph.requests(CONTINUE).skipped == "there is no unfinished nightly launch"
        night = graph.nightly()
        assert night.tasks == ["documents water"]
        assert graph.nightly().requests[0].run_key == night.requests[0].run_key
        graph.run(night.requests)
        for expected in (f"questions {KEY}", "catalog"):
            tick = graph.requests(CONTINUE)
            assert tick.tasks == [expected]
            assert {one.tags[SPENDING_TAG] for one in tick.requests} == {night.requests[0].tags[SPENDING_TAG]}
            graph.run(tick.requests)
        over = graph.requests(CONTINUE)
        assert over.tasks == []
        assert over.cursor == night.requests[0].tags[SPENDING_TAG]
        (project.assets / "published" / KEY / "corpus.json").unlink()
        assert graph.requests(CONTINUE, over.cursor).tasks == [], "the night is over"
        assert graph.requests(CONTINUE).tasks == [], "each task once in a night"
        assert graph.nightly(23).tasks == [f"questions {KEY}"]


def test_a_task_that_changed_nothing_is_not_launched_again_until_it_changes(project: Project) -> None:
    with GraphRun(project, profile="paid", automation_max_usd=1, automation_max_usd_per_day=1) as graph:
        graph.run(graph.requests().requests)
        (failing,) = graph.requests().requests
        graph.run([failing], success=False)
        assert graph.requested() == ["catalog"]
        graph.run(graph.requests().requests)
        idle = graph.requests()
        assert idle.skipped == "nothing is out of date that was not tried before"
        again = graph.requests(cursor=idle.cursor)
        assert (again.skipped, again.cursor) == ("nothing changed since the last tick", idle.cursor)
        project.corpus("water", waterworks.corpus(3), {})
        assert graph.requests(cursor=idle.cursor).tasks == [f"questions {KEY}"]


@pytest.mark.parametrize(
    ("price", "limits", "said"),
    [
        (PRICE, (None, None), "QAGEN_AUTOMATION_MAX_USD is not set"),
        (PRICE, (1, None), "QAGEN_AUTOMATION_MAX_USD_PER_DAY is not set"),
        (", api_key_env: WRITER_KEY", (1, 2), "max_usd needs prices"),
    ],
)
def test_paid_models_without_a_budget_are_refused_in_one_line(
    parsed: Project, price: str, limits: tuple[float | None, float | None], said: str
) -> None:
    parsed.profile("paid", PAID.format(price=price))
    per_tick, per_day = limits
    with GraphRun(
        parsed, profile="paid", automation_max_usd=per_tick, automation_max_usd_per_day=per_day
    ) as graph:
        assert said in graph.requests().skipped
        assert said in graph.nightly().skipped


@pytest.mark.parametrize(("spent", "limit"), [(0.0, 1.0), (1.5, 0.5), (2.0, None)])
def test_a_launch_gets_what_the_day_has_left(parsed: Project, spent: float, limit: float | None) -> None:
    with GraphRun(parsed, profile="paid", automation_max_usd=1, automation_max_usd_per_day=2) as graph:
        store, today = Store(str(parsed.assets)), launch_id(datetime.now(UTC))
        store.write(f"spending/{today[:19]}-000000/{KEY}/one.json", Spent(usd=spent))
        store.write(f"spending/automation-20200101-000000/{KEY}/one.json", Spent(usd=9))
        asked = [one for one in graph.requests().requests if one.tags["qagen/task"] == f"questions {KEY}"]
        given = [one.run_config["ops"]["grounding_report"]["config"] for one in asked]
    assert given == ([] if limit is None else [{"max_usd": limit}])


def test_runs_of_the_last_launch_hold_the_next_one_back(project: Project) -> None:
    with GraphRun(project) as graph:
        (request,) = graph.requests().requests
        graph.begin(request)
        assert graph.requests().skipped == "the runs of the last launch have not ended"
        assert graph.nightly().skipped == "the runs of the last launch have not ended"


@pytest.mark.parametrize(
    "change",
    [
        "a lower target",
        pytest.param("a higher target of the command line", marks=pytest.mark.long),
        pytest.param("fewer attempts", marks=pytest.mark.long),
    ],
)
def test_fewer_wanted_questions_remove_none(project: Project, change: str) -> None:
    published = project.assets / "published" / KEY / "questions.jsonl"
    attempts = "max_attempts: {}, modes:" if change == "fewer attempts" else "modes:"
    first = waterworks.corpus(2 if "higher" in change else 4)
    project.corpus("water", first.replace("modes:", attempts.format(30)), {})
    words = ("--target-count", "4") if "higher" in change else ()
    assert project.qagen("run", *words).code == 0
    before = published.read_bytes()
    assert before.count(b"\n") == 4
    if "lower" in change:
        project.corpus("water", waterworks.corpus(1), {})
    if "attempts" in change:
        project.corpus("water", first.replace("modes:", attempts.format(1)), {})
    with GraphRun(project) as graph:
        assert graph.settle() == []
        project.corpus("water", waterworks.corpus(1), {"plain.txt": waterworks.notes("plain")})
        assert graph.settle() != []
        assert before.splitlines()[0] in published.read_bytes()
        assert published.read_bytes().count(b"\n") == 8
    assert project.qagen("run", "--replace", "--force").code == 0
    assert published.read_bytes().count(b"\n") == 2


def test_a_set_of_paid_models_is_not_launched_with_free_ones(project: Project) -> None:
    assert project.qagen("run").code == 0
    for name in ("corpus.json", "questions.jsonl"):
        path = project.assets / "published" / KEY / name
        path.write_text(path.read_text().replace("scripted:", "openai:"))
    project.corpus("water", waterworks.corpus(3), {})
    with GraphRun(project) as graph:
        assert "made the published set" in graph.requests().skipped
