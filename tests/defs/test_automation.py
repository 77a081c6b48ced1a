"""What sensors and the schedule launch: one launch at a time, within the budget, each task once until it changes."""

from __future__ import annotations

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
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    project.profile("paid", PAID.format(price=PRICE))
    return project


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
        ("", (1, 2), "max_usd needs prices"),
    ],
)
def test_paid_models_without_a_budget_are_refused_in_one_line(
    project: Project,
    price: str,
    limits: tuple[float | None, float | None],
    said: str,
) -> None:
    project.profile("paid", PAID.format(price=price))
    per_tick, per_day = limits
    with GraphRun(
        project, profile="paid", automation_max_usd=per_tick, automation_max_usd_per_day=per_day
    ) as graph:
        assert graph.settle() == [["documents water"], ["catalog"]], "these are free"
        assert said in graph.requests().skipped
        assert said in graph.nightly().skipped


@pytest.mark.parametrize(("spent", "limit"), [(0.0, 1.0), (1.5, 0.5), (2.0, None)])
def test_a_launch_gets_what_the_day_has_left(project: Project, spent: float, limit: float | None) -> None:
    with GraphRun(project, profile="paid", automation_max_usd=1, automation_max_usd_per_day=2) as graph:
        graph.run(graph.requests().requests)
        store, today = Store(str(project.assets)), launch_id(datetime.now(UTC))
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
