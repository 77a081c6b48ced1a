"""The search index of a corpus. Generating questions does not need it, so `question_set` does not build it."""

from typing import Any

import dagster as dg

from qagen_dagster.defs.index import metadata
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import ModelConfig, spending_id
from qagen_dagster.loop.index.build import build_index, index_meter
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.records.ids import fingerprint


def build_document_index(partitions: Partitions) -> dg.AssetsDefinition:
    """The asset `document_index` over the corpus partitions."""

    @dg.asset(
        partitions_def=partitions.corpora,
        group_name=Group.DOCUMENTS,
        kinds={MODELS, "parquet"},
        deps=["parsed_documents", "index_config"],
        description="The search index of a corpus. It has the chunks of each document with their embeddings and words. "
        "`retrieval_baseline` needs it; generating questions does not.",
    )
    def document_index(
        context: dg.AssetExecutionContext, config: ModelConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult[Any]:
        space = workspace.open()
        progress = log_progress(context, "indexed")
        launch, corpus = spending_id(context.run), context.partition_key
        meter = index_meter(space, corpus, launch, config.profile, config.allowance)
        built = build_index(space, corpus, config.profile, progress, meter)
        index = built.index
        for one in index.documents:
            if one.failure is not None:
                context.log.warning(f"{one.id}: {one.failure}")
        return dg.MaterializeResult(
            metadata=metadata.of_build(built, space.store),
            data_version=dg.DataVersion(
                fingerprint(
                    [index.fingerprint, *(f"{d.id}{d.text_sha256}{d.chunks}" for d in index.documents)]
                )
            ),
        )

    return document_index
