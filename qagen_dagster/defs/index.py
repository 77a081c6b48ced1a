"""The asset of a corpus's search index, and what it shows in the UI."""

from typing import Any

import dagster as dg

from qagen_dagster.defs import metadata
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import ModelConfig, spending_id
from qagen_dagster.loop.index import IndexBuild, build_index, index_meter
from qagen_dagster.records.document import SearchIndex
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.store import Store


def of_build(built: IndexBuild, store: Store) -> metadata.Metadata:
    """Counts, cost, and a row per document, failed documents first."""
    index, now = built.index, set(built.embedded)
    failed = sum(document.failure is not None for document in index.documents)
    rows = [
        (one.id, one.chunks, "failed" if one.failure else "new" if one.id in now else "reused", one.failure)
        for one in sorted(index.documents, key=lambda document: (document.failure is None, document.id))
    ]
    use = built.use
    return {
        metadata.ROW_COUNT: sum(document.chunks for document in index.documents),
        "indexed_documents": len(index.documents),
        "embedded_now": len(now),
        "reused": len(index.documents) - len(now) - failed,
        "failed": failed,
        "seconds": built.seconds,
        "embedder": f"{index.embedder['provider']}:{index.embedder['model']}",
        "paid_calls": use.calls,
        "paid_tokens": use.tokens,
        "usd": metadata.shown_money(use.usd),
        "documents": metadata.markdown_table(("document", "chunks", "embeddings", "failure"), rows),
        **metadata.uri(store, SearchIndex.key(index.corpus)),
        "index": metadata.stored_file(store, SearchIndex.key(index.corpus)),
    }


def build_document_index(layout: Layout, partitions: Partitions) -> dg.AssetsDefinition:
    return layout.asset(
        document_index,
        partitions_def=partitions.corpora,
        kinds={MODELS, "parquet"},
        deps=["parsed_documents", "index_config"],
        description="The search index of a corpus. It has the chunks of each document with their embeddings and words. "
        "`retrieval_baseline` needs it; generating questions does not.",
    )


def document_index(
    context: dg.AssetExecutionContext, config: ModelConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space = workspace.open()
    progress = metadata.log_progress(context, "indexed")
    launch, corpus = spending_id(context.run), context.partition_key
    meter = index_meter(space, corpus, launch, config.profile, config.limits)
    built = build_index(space, corpus, config.profile, progress, meter)
    index = built.index
    for document in index.documents:
        if document.failure is not None:
            context.log.warning(f"{document.id}: {document.failure}")
    texts = (f"{d.id}{d.text_sha256}{d.chunks}" for d in index.documents)
    return metadata.materialized(of_build(built, space.store), fingerprint([index.fingerprint, *texts]))
