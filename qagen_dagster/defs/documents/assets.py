"""Assets per corpus: its parsed documents, and their tables and figures."""

from typing import Any

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora
from qagen_dagster.defs.documents import metadata
from qagen_dagster.defs.metadata import fault_list, log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import Group
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.ingest import early
from qagen_dagster.ingest.parsing import build_manifests, parse_corpus
from qagen_dagster.records.ids import fingerprint


def build_document_assets(partitions: Partitions, corpora: Corpora) -> list[dg.AssetsDefinition]:
    """parsed_documents and visual_manifests over the corpus partitions."""

    @dg.asset(
        partitions_def=partitions.corpora,
        group_name=Group.DOCUMENTS,
        kinds={"parser"},
        deps=["corpus_files"],
        metadata={"broken_corpora": fault_list(corpora.faults)},
        description="The text of every file of a corpus. It has the lines that evidence refers to. A file that cannot "
        "be parsed does not fail the run: its outcome says why.",
    )
    def parsed_documents(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> dg.MaterializeResult[Any]:
        space = workspace.open()
        run_id, progress = context.run.run_id, log_progress(context, "parsed")
        begun = early.announced(run_id)
        if begun is not None:
            result = begun.wait_for_text(progress)
        else:
            corpus = space.corpus(context.partition_key)
            result = parse_corpus(
                corpus, space.store, space.parsers(), space.settings, progress, run_id=run_id
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
        group_name=Group.DOCUMENTS,
        kinds={"parser"},
        deps=[parsed_documents],
        description="The tables, figures and images of a corpus. Each has its page, box and caption.",
    )
    def visual_manifests(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> dg.MaterializeResult[Any]:
        space = workspace.open()
        corpus, pool = space.corpus(context.partition_key), space.parsers()
        progress = log_progress(context, "looked for visuals in")
        begun = early.announced(context.run.run_id)
        if begun is not None:
            begun.wait_for_visuals(progress)
        index = space.index(corpus.key)
        manifests = build_manifests(corpus, index, space.store, pool, space.settings, progress)
        crops = metadata.page_crops(space, corpus, manifests, pool)
        return dg.MaterializeResult(
            metadata=metadata.of_manifests(manifests) | crops,
            data_version=dg.DataVersion(fingerprint(m.model_dump_json() for m in manifests)),
        )

    return [parsed_documents, visual_manifests]
