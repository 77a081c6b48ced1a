"""Assets per corpus: its parsed documents, and what there is to look at in them."""

from typing import Any

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora
from qagen_dagster.defs import metadata
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.ingest.visuals import build_manifests
from qagen_dagster.records.ids import fingerprint

GROUP = "documents"


def build_document_assets(partitions: Partitions, corpora: Corpora) -> list[dg.AssetsDefinition]:
    """parsed_documents and visual_manifests over the corpus partitions."""

    @dg.asset(
        partitions_def=partitions.corpora,
        group_name=GROUP,
        kinds={"parser"},
        metadata={"broken_corpora": metadata.broken_corpora(corpora)},
        description="Every file of the corpus as text with line positions, or the named outcome of trying.",
    )
    def parsed_documents(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> dg.MaterializeResult[Any]:
        space = workspace.open()
        corpus = space.corpus(context.partition_key)
        result = parse_corpus(
            corpus, space.store, space.parsers(), space.settings, metadata.log_progress(context, "parsed")
        )
        index = result.index
        return dg.MaterializeResult(
            metadata=metadata.of_index(index, result.parsed_files, space.store),
            data_version=dg.DataVersion(
                fingerprint(f"{d.id}{d.version}{d.text_sha256}{d.outcome}" for d in index.documents)
            ),
        )

    @dg.asset(
        partitions_def=partitions.corpora,
        group_name=GROUP,
        kinds={"parser"},
        deps=[parsed_documents],
        description="Tables, figures, images and diagrams of each document, with page, box and caption.",
    )
    def visual_manifests(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> dg.MaterializeResult[Any]:
        space = workspace.open()
        corpus = space.corpus(context.partition_key)
        pool = space.parsers()
        manifests = build_manifests(
            corpus,
            space.index(corpus.key),
            space.store,
            pool,
            space.settings,
            metadata.log_progress(context, "looked through"),
        )
        crops = metadata.page_crops(space, corpus, manifests, pool)
        return dg.MaterializeResult(
            metadata=metadata.of_manifests(manifests) | crops,
            data_version=dg.DataVersion(fingerprint(m.model_dump_json() for m in manifests)),
        )

    return [parsed_documents, visual_manifests]
