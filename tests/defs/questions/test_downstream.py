from __future__ import annotations

from typing import Any

import dagster as dg

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.defs.partitions import build_partitions
from qagen_dagster.defs.questions.downstream import upstream
from qagen_dagster.loop.questions.publication.published_set import PublishedSet
from tests.defs.conftest import TEXTUAL, VISUAL, Made


def downstream(name: str, partitions: dg.PartitionsDefinition[str] | None) -> dg.AssetsDefinition:
    @dg.asset(name=name, partitions_def=partitions)
    def ordinary(corpus_json: Any) -> Any:
        """An ordinary asset."""
        return corpus_json

    return ordinary


def taken(name: str, definitions: dg.Definitions, instance: dg.DagsterInstance, partition: str | None) -> Any:
    """What the asset got as its input."""
    job = definitions.resolve_implicit_global_asset_job_def()
    ended = job.execute_in_process(
        instance=instance, asset_selection=[dg.AssetKey(name)], partition_key=partition
    )
    return ended.output_for_node(name)


def test_an_ordinary_asset_gets_the_rows_of_its_partition(made: Made) -> None:
    partitions = build_partitions(load_corpora(made.project.corpora))
    asset = downstream("one", partitions.combinations)
    for beside in (made.graph.definitions, upstream(made.project.settings())):
        found = taken(
            "one", dg.Definitions.merge(beside, dg.Definitions([asset])), made.graph.instance, TEXTUAL
        )
        assert isinstance(found, PublishedSet)
        published = made.project.published(TEXTUAL)["questions"]
        assert [one.id for one in found] == [one["id"] for one in published]


def test_an_asset_without_partitions_gets_all_sets_that_are_published(made: Made) -> None:
    found = taken(
        "all",
        dg.Definitions.merge(upstream(made.project.settings()), dg.Definitions([downstream("all", None)])),
        made.graph.instance,
        None,
    )
    assert {key: len(one) for key, one in found.items()} == {
        key: len(made.project.published(key)["questions"]) for key in (TEXTUAL, VISUAL)
    }
