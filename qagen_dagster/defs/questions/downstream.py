"""Published sets as inputs of downstream assets: the IO manager that loads them, and the definitions that other code locations merge."""

from typing import Any

import dagster as dg
from pydantic import Field

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.defs.layout import Layout, path_of
from qagen_dagster.defs.partitions import build_partitions
from qagen_dagster.loop.questions.publication.published_set import PublishedSet, read_published
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.settings import Settings, load_settings
from qagen_dagster.store import Store

PUBLISHED_SETS = "published_sets"


class PublishedSets(dg.ConfigurableIOManager):
    """Loads one partition of the asset `corpus_json` as a PublishedSet. Loads several as a dictionary by key, without unpublished sets."""

    assets: str = Field(description="Root of the store: a folder or an fsspec URL.")

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Does nothing, because the asset writes its files itself."""

    def load_input(self, context: dg.InputContext) -> PublishedSet | dict[str, PublishedSet]:
        store = Store(self.assets)
        keys = list(context.asset_partition_keys)
        if len(keys) == 1:
            return read_published(store, Combination.from_key(keys[0]))
        wanted = {key: Combination.from_key(key) for key in keys}
        return {
            key: read_published(store, combination)
            for key, combination in wanted.items()
            if store.exists(CorpusGenerationResult.key(combination))
        }


def upstream(settings: Settings | None = None, key_prefix: str = "") -> dg.Definitions:
    """Definitions to merge into those of another code location, whose assets can then take `corpus_json` as an input.

    They contain the external asset `corpus_json`, whose partitions are the combinations, and the resource that loads it. `key_prefix`
    is the prefix of the component that makes the asset.
    """
    chosen, layout = settings or load_settings(), Layout(path_of(key_prefix))
    partitions = build_partitions(load_corpora(chosen.corpora))
    spec = dg.AssetSpec(
        layout.key("corpus_json"), group_name="questions", partitions_def=partitions.combinations
    )
    return dg.Definitions(
        assets=[spec.with_io_manager_key(layout.name(PUBLISHED_SETS))],
        resources={layout.name(PUBLISHED_SETS): PublishedSets(assets=chosen.assets)},
    )
