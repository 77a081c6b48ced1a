"""The component: what it leaves out, its names under a prefix, and two of them in one instance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qagen_dagster import PublishedSet
from qagen_dagster.components import QuestionSets
from qagen_dagster.errors import ConfigError
from qagen_dagster.settings import OPTIONAL, load_settings
from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS, DOCUMENTS
from tests.support.project import Project

pytestmark = list(DAGSTER_WARNINGS)
KEY = "water/facts/textual"
BASE = {
    *("corpus_files", "parsed_documents", "visual_manifests", "model_config", "candidate_qa", "validated_qa"),
    *("corpus_json", "exports", "review_decisions", "catalog"),
}
ALONE: dict[str, set[str]] = {
    "grading": {"grading_config", "grounding_report"},
    "evaluation": {
        *("index_config", "document_index", "closed_book_config", "closed_book_check", "retrieval_config"),
        *("retrieval_baseline", "answer_config", "answer_baseline", "label_config", "relevance_labels"),
        *("panel_config", "answer_panel"),
    },
    "exams": {"exam_config", "exam_schemas", "idea_plans", "exam_items", "item_bank"},
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.make(tmp_path / "project")
    made.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    return made


def _component(**values: Any) -> QuestionSets:
    return QuestionSets.model_validate(values)


def _definitions(project: Project, store: str, **values: Any) -> dg.Definitions:
    component = _component(**values)
    settings = project.settings(assets=str(project.root / store), optional=tuple(component.include))
    return component.assemble(settings)


def _names(definitions: dg.Definitions) -> set[str]:
    return {key.to_user_string() for key in definitions.resolve_asset_graph().get_all_asset_keys()}


@pytest.mark.parametrize("option", [None, *ALONE])
def test_optional_products_are_left_out_unless_they_are_asked_for(
    project: Project, option: str | None
) -> None:
    definitions = _definitions(project, "one", key_prefix="", include=[option] if option else [])
    dg.Definitions.validate_loadable(definitions)
    assert _names(definitions) == BASE | (ALONE[option] if option else set())


@pytest.mark.parametrize("prefix", ["sets", "team/sets", "a/b_c/d"])
def test_all_names_have_the_prefix(project: Project, prefix: str) -> None:
    definitions = _definitions(project, "one", key_prefix=prefix, include=list(OPTIONAL))
    repository, name = definitions.get_repository_def(), prefix.replace("/", "_") + "_"
    assert all(key.startswith(f"{prefix}/") for key in _names(definitions))
    others = [one for one in repository.job_names if not one.startswith("__")]
    others += [one.name for one in (*repository.sensor_defs, *repository.schedule_defs)]
    graph = definitions.resolve_asset_graph()
    nodes = [graph.get(key) for key in graph.get_all_asset_keys()]
    others += [one.group_name for one in nodes] + [pool for one in nodes for pool in one.pools or ()]
    others += list(definitions.resources or {})
    assert [one for one in others if not one.startswith(name)] == []
    assert {check.asset_key for check in graph.asset_check_keys} <= graph.get_all_asset_keys()


@pytest.mark.parametrize("prefix", ["/", "a//b", "a b", "é", "a/", "a.b"])
def test_a_prefix_that_cannot_be_used_is_refused_in_one_line(project: Project, prefix: str) -> None:
    with pytest.raises(ConfigError, match="key_prefix"):
        _definitions(project, "one", key_prefix=prefix)


def test_two_components_share_a_location_and_an_instance(project: Project) -> None:
    @dg.asset(
        partitions_def=dg.StaticPartitionsDefinition([KEY]),
        ins={"one": dg.AssetIn(["one", "corpus_json"]), "two": dg.AssetIn(["team", "two", "corpus_json"])},
    )
    def both(one: PublishedSet, two: PublishedSet) -> list[int]:
        return [len(one), len(two)]

    definitions = dg.Definitions.merge(
        _definitions(project, "one", key_prefix="one"),
        _definitions(project, "two", key_prefix="team/two", include=["grading"]),
        dg.Definitions(assets=[both], executor=dg.in_process_executor),
    )
    with project.instance() as instance:

        def run(partition: str, *keys: dg.AssetKey, config: Any = None) -> dg.ExecuteInProcessResult:
            job = definitions.resolve_implicit_global_asset_job_def()
            ended = job.execute_in_process(
                instance=instance, asset_selection=keys, partition_key=partition, run_config=config
            )
            assert ended.success
            return ended

        for prefix, graded in ((["one"], []), (["team", "two"], ["grounding_report"])):
            run("water", *(dg.AssetKey([*prefix, name]) for name in DOCUMENTS))
            made = ["candidate_qa", "validated_qa", *graded, "corpus_json"]
            plan = {"ops": {"__".join((*prefix, "plan_shards")): {"config": {"target_count": 1}}}}
            config = {"ops": {"__".join((*prefix, "candidate_qa")): plan}}
            run(KEY, *(dg.AssetKey([*prefix, name]) for name in made), config=config)
        assert run(KEY, both.key).output_for_node("both") == [1, 1]
        for sensor, partitions in (("one_observe_model_config", 1), ("team_two_observe_model_config", 1)):
            found = definitions.resolve_sensor_def(sensor)
            with dg.build_sensor_context(instance, resources=definitions.resources) as context:
                events = found.evaluate_tick(context).asset_events
            prefix = ("one",) if sensor.startswith("one") else ("team", "two")
            assert {tuple(event.asset_key.path[:-1]) for event in events} == {prefix}
            assert events
            assert partitions
    for store in ("one", "two"):
        assert (project.root / store / "published" / KEY / "corpus.json").is_file()


@pytest.mark.parametrize("include", [[], ["grading"]], ids=["sets alone", "graded"])
def test_the_refresh_job_of_a_component_makes_what_the_component_has(
    project: Project, include: list[str]
) -> None:
    definitions = _definitions(project, "one", key_prefix="team/one", include=include)
    with project.instance() as instance:
        job = definitions.resolve_job_def("team_one_refresh_stale")
        assert job.execute_in_process(instance=instance).success
    store = project.root / "one"
    assert (store / "published" / KEY / "corpus.json").is_file()
    assert (store / "grounding").exists() == bool(include)


def test_paths_are_relative_to_the_project_and_addresses_stay(tmp_path: Path) -> None:
    found = _component(corpora="data/corpora", store="s3://bucket/sets", max_usd=2).settings(tmp_path)
    assert found.corpora == tmp_path / "data/corpora"
    assert (found.assets, found.automation_max_usd, found.optional) == ("s3://bucket/sets", 2.0, ())
    assert _component(store="sets").settings(tmp_path).assets == str(tmp_path / "sets")
    usual = _component().settings(tmp_path)
    assert (usual.corpora, usual.assets) == (tmp_path / "corpora", str(tmp_path / "assets/qagen"))
    assert usual.profile == load_settings().profile


def test_options_of_the_component_are_seen_in_the_graph(project: Project) -> None:
    definitions = _definitions(
        project,
        "one",
        schedule="0 4 * * *",
        blocking_checks=True,
        fresh_within_hours=24,
        git_url="https://github.com/owner/name",
    )
    graph, repository = definitions.resolve_asset_graph(), definitions.get_repository_def()
    node = graph.get(dg.AssetKey(["qagen", "corpus_json"]))
    assert str(node.metadata["docs"].value) == "https://github.com/owner/name/tree/main/docs/contracts.md"
    assert f"See [docs/contracts.md]({node.metadata['docs'].value})." in (node.description or "")
    sources: Any = node.metadata["dagster/code_references"]
    assert sources.code_references[0].url.startswith(
        "https://github.com/owner/name/tree/main/qagen_dagster/defs"
    )
    assert node.freshness_policy is not None
    assert graph.get(dg.AssetKey(["qagen", "exports"])).freshness_policy is None
    (schedule,) = repository.schedule_defs
    assert (schedule.cron_schedule, schedule.default_status.value) == ("0 4 * * *", "RUNNING")
    checks = [
        spec
        for one in definitions.assets or ()
        if isinstance(one, dg.AssetsDefinition)
        for spec in one.check_specs
    ]
    assert {spec.blocking for spec in checks} == {True}
