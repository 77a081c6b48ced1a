from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
from syrupy.assertion import SnapshotAssertion

from qagen_dagster.definitions import build_definitions, defs
from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS, DOCUMENTS, GraphRun
from tests.support.project import Project

pytestmark = list(DAGSTER_WARNINGS)
BROKEN = """\
name: Broken
corpus_context: A corpus with a scenario that says too little.
scenarios:
  facts: {name: Facts}
"""


def test_the_graph_is_the_one_that_was_agreed_on(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(modes="textual, visual"), {})
    project.corpus("rail", waterworks.corpus(modes="visual"), {})
    definitions = build_definitions(project.settings())
    assert _assets(definitions) == snapshot(name="assets")
    assert _work(definitions) == snapshot(name="jobs, schedules, sensors")


def test_a_corpus_maps_to_its_combinations_alone(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(modes="textual, visual"), {})
    project.corpus("rail", waterworks.corpus(modes="visual"), {})
    graph = build_definitions(project.settings()).resolve_asset_graph()
    candidates = graph.get(dg.AssetKey("candidate_qa"))
    assert candidates.partitions_def is not None
    for name in DOCUMENTS:
        upstream = graph.get(dg.AssetKey(name))
        assert upstream.partitions_def is not None
        mapping = candidates.partition_mappings[dg.AssetKey(name)]
        for corpus, expected in {
            "water": {"water/facts/textual", "water/facts/visual"},
            "rail": {"rail/facts/visual"},
        }.items():
            subset = upstream.partitions_def.subset_with_partition_keys([corpus])
            down = mapping.get_downstream_partitions_for_partitions(
                subset, upstream.partitions_def, candidates.partitions_def
            )
            assert set(down.get_partition_keys()) == expected


def test_a_broken_corpus_is_told_and_the_good_one_works(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("broken", BROKEN, {})
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    with GraphRun(project) as graph:
        parsed = graph.definitions.resolve_asset_graph().get(dg.AssetKey("parsed_documents"))
        assert parsed.partitions_def is not None
        assert list(parsed.partitions_def.get_partition_keys()) == ["water"]
        told = str(parsed.metadata["broken_corpora"].value)
        assert graph.materialize("water", *DOCUMENTS).success
    place = f"{project.corpora}/broken/corpus.yaml:4"
    assert told == f"- {place}: scenarios.facts.description: required key is missing"


def test_no_corpora_and_no_folder_of_corpora_load(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    for settings in (project.settings(), project.settings(corpora=tmp_path / "nowhere")):
        definitions = build_definitions(settings)
        dg.Definitions.validate_loadable(definitions)
        parsed = definitions.resolve_asset_graph().get(dg.AssetKey("parsed_documents"))
        assert parsed.partitions_def is not None
        assert list(parsed.partitions_def.get_partition_keys()) == []


def test_a_resource_can_be_replaced(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    replaced = dg.ResourceDefinition.hardcoded_resource("another")
    definitions = build_definitions(project.settings(), workspace=replaced)
    assert (definitions.resources or {})["workspace"] is replaced


def test_the_shipped_code_location_loads() -> None:
    definitions = defs()
    dg.Definitions.validate_loadable(definitions)
    keys = {key.to_user_string() for key in definitions.resolve_asset_graph().get_all_asset_keys()}
    assert keys >= {
        "parsed_documents",
        "visual_manifests",
        "candidate_qa",
        "validated_qa",
        "corpus_json",
        "catalog",
    }


def test_everything_in_the_ui_has_a_description() -> None:
    definitions = defs()
    graph, repository = definitions.resolve_asset_graph(), definitions.get_repository_def()
    descriptions = {key.to_user_string(): graph.get(key).description for key in graph.get_all_asset_keys()}
    descriptions |= {
        f"{spec.asset_key.to_user_string()}: {spec.name}": spec.description
        for checks in definitions.assets or ()
        if isinstance(checks, dg.AssetsDefinition)
        for spec in checks.check_specs
    }
    jobs = (job for job in repository.get_all_jobs() if not job.name.startswith("__"))
    automation = (*repository.sensor_defs, *repository.schedule_defs)
    descriptions |= {one.name: one.description for one in (*jobs, *automation)}
    assert len(descriptions) >= 21 + 17 + 7 + 3
    assert [name for name, text in descriptions.items() if not text or not text.endswith(".")] == []


def _assets(definitions: dg.Definitions) -> dict[str, Any]:
    graph = definitions.resolve_asset_graph()
    return {
        key.to_user_string(): {
            "depends on": sorted(parent.to_user_string() for parent in node.parent_keys),
            "group": node.group_name,
            "kinds": sorted(node.kinds),
            "partitions": None
            if node.partitions_def is None
            else list(node.partitions_def.get_partition_keys()),
            "partition mappings": {
                parent.to_user_string(): type(mapping).__name__
                for parent, mapping in sorted(node.partition_mappings.items())
            },
            "checks": sorted(check.name for check in node.check_keys),
            "automation": None
            if node.automation_condition is None
            else node.automation_condition.get_label(),
            "observable": node.is_observable,
            "materializable": node.is_materializable,
            "pools": sorted(node.pools or ()),
        }
        for key in sorted(graph.get_all_asset_keys())
        for node in [graph.get(key)]
    }


def _label(node: Any) -> str | None:
    return None if node.automation_condition is None else node.automation_condition.get_label()


def _work(definitions: dg.Definitions) -> dict[str, Any]:
    repository = definitions.get_repository_def()
    return {
        "jobs": sorted(name for name in repository.job_names if not name.startswith("__")),
        "schedules": {
            one.name: (one.job_name, one.cron_schedule, one.default_status.value)
            for one in repository.schedule_defs
        },
        "sensors": {
            one.name: (type(one).__name__, one.default_status.value) for one in repository.sensor_defs
        },
        "executor": definitions.executor.name if definitions.executor else None,  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
        "resources": sorted(definitions.resources or {}),
    }
