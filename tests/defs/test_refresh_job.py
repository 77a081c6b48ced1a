"""What is out of date is named where people look first, and one job runs exactly that."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS, QUESTIONS, GraphRun, checks
from tests.support.project import Project

pytestmark = list(DAGSTER_WARNINGS)
WATER, RAIL = "water/facts/textual", "rail/facts/textual"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.make(tmp_path / "project")
    for corpus, station in (("water", "ridge"), ("rail", "quay")):
        project.corpus(corpus, waterworks.corpus(1), {f"{station}.txt": waterworks.notes(station)})
    return project


@pytest.fixture
def graph(project: Project) -> Generator[GraphRun]:
    with GraphRun(project) as graph:
        yield graph


def refresh(graph: GraphRun, **limits: Any) -> dg.ExecuteInProcessResult:
    """Launch the job as the UI does."""
    return graph.definitions.resolve_job_def("refresh_stale").execute_in_process(
        run_config={"ops": {"run_out_of_date": {"config": limits}}},
        instance=graph.instance,
        raise_on_error=False,
    )


def named(graph: GraphRun, asset: str = "corpus_json") -> list[str]:
    """The partitions that the check of an asset names, with the reasons, after a tick of the sensor."""
    graph.seen()
    found = graph.checked[asset, "up_to_date"]
    shown = {name: one.value for name, one in found.metadata.items()}
    count = shown.pop("out_of_date")
    assert ("refresh_stale" in str(shown.pop("what_to_do", ""))) is not found.passed
    assert (found.passed, len(shown)) == (not count, count)
    assert [name.partition(" ")[0] for name in shown] == [f"{number + 1:02}" for number in range(len(shown))]
    return [f"{name.partition(' ')[2]}: {why}" for name, why in shown.items()]


def ran(graph: GraphRun) -> list[tuple[str, str | None]]:
    """The runs of partitions, the first first."""
    runs = reversed(graph.instance.get_runs())
    return [
        (run.job_name, run.tags.get("dagster/partition")) for run in runs if run.job_name != "refresh_stale"
    ]


def test_the_check_names_what_is_out_of_date_and_the_job_runs_exactly_that(
    project: Project, graph: GraphRun
) -> None:
    never = "its documents were never parsed"
    assert named(graph) == [
        *(f"documents {corpus}: {never}" for corpus in ("rail", "water")),
        *(f"questions {key}: {never}" for key in (RAIL, WATER)),
    ]
    before = graph.requests("observe_model_config").cursor
    assert "changed" in graph.requests("observe_model_config", before).skipped
    assert refresh(graph).success
    assert graph.requests("observe_model_config", before).cursor not in (before, None), "runs have ended"
    assert named(graph) == named(graph, "problem_bank") == []
    made = ran(graph)
    assert made == [
        ("parse_corpus", "rail"), ("parse_corpus", "water"),
        ("question_set", RAIL), ("question_set", WATER), ("__ASSET_JOB", None),
    ]  # fmt: skip
    project.corpus("rail", waterworks.corpus(2), {})
    assert named(graph) == [f"questions {RAIL}: target_count: 1 → 2"]
    assert refresh(graph).success
    assert ran(graph)[len(made) :] == [("question_set", RAIL), ("__ASSET_JOB", None)]
    assert len(project.published(RAIL)["questions"]) == 2
    latest = graph.instance.event_log_storage.get_latest_asset_check_execution_by_key(
        [dg.AssetCheckKey(dg.AssetKey("corpus_json"), "up_to_date")]
    )
    assert [one.status.value for one in latest.values()] == ["SUCCEEDED"], (
        "the job records the check at its end"
    )
    assert refresh(graph).success
    assert len(ran(graph)) == len(made) + 2
    a_materialization_evaluates_the_check_as_if_its_run_had_ended(project, graph)


def a_materialization_evaluates_the_check_as_if_its_run_had_ended(project: Project, graph: GraphRun) -> None:
    """Everything is up to date before."""
    project.corpus("water", waterworks.corpus(2), {})
    passed, shown = checks(graph.materialize(WATER, *QUESTIONS))["up_to_date"]
    assert (passed, shown["out_of_date"]) == (True, 0)
    project.corpus("rail", waterworks.corpus(3), {})
    passed, shown = checks(graph.materialize(WATER, *QUESTIONS))["up_to_date"]
    assert (passed, shown["out_of_date"]) == (False, 1)


def test_what_fails_or_cannot_be_examined_is_told_and_keeps_nothing_else_from_running(
    project: Project, graph: GraphRun
) -> None:
    project.corpus("water", waterworks.corpus(1).replace("modes:", "profile: nobody, modes:"), {})
    failed = refresh(graph)
    assert not failed.success
    (told,) = [event for event in failed.all_events if event.is_step_failure]
    assert "there is no profile 'nobody'" in str(told.step_failure_data.error)
    assert project.published(RAIL)["questions"]
    assert not (project.assets / "published/water").exists()
    graph.seen()
    found = graph.checked["corpus_json", "up_to_date"]
    assert not found.passed
    assert "there is no profile" in str(found.metadata["not_examined"].value)


def test_a_limit_of_the_launch_holds_for_all_its_runs(project: Project, graph: GraphRun) -> None:
    refresh(graph, max_calls=2)
    made = {key: (project.assets / "published" / key / "corpus.json").exists() for key in (RAIL, WATER)}
    questions = [one for key, exists in made.items() if exists for one in project.published(key)["questions"]]
    assert len(questions) < 2
