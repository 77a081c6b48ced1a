"""Assets per corpus: its parsed documents, and their tables and figures."""

from typing import Any

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora
from qagen_dagster.defs.documents import metadata
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import fault_list, log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.records.ids import fingerprint


def build_document_assets(
    layout: Layout, partitions: Partitions, corpora: Corpora
) -> list[dg.AssetsDefinition]:
    return [
        layout.asset(
            parsed_documents,
            Group.DOCUMENTS,
            partitions_def=partitions.corpora,
            kinds={"parser"},
            deps=["corpus_files"],
            metadata={"broken_corpora": fault_list(corpora.faults)},
            description="The text of every file of a corpus. It has the lines that evidence refers to. A file that cannot "
            "be parsed does not fail the run: its outcome says why.",
        ),
        layout.asset(
            visual_manifests,
            Group.DOCUMENTS,
            partitions_def=partitions.corpora,
            kinds={"parser"},
            deps=["parsed_documents"],
            description="The tables, figures and images of a corpus. Each has its page, box and caption.",
        ),
    ]


def parsed_documents(
    context: dg.AssetExecutionContext, work: dg.ResourceParam[Work]
) -> dg.MaterializeResult[Any]:
    parsing = work.parsing(context.partition_key, context.run.run_id)
    result = parsing.text(log_progress(context, "parsed"))
    index = result.index
    return dg.MaterializeResult(
        metadata=metadata.of_index(index, result.parsed_files, work.space.store),
        data_version=dg.DataVersion(
            fingerprint(f"{one.id}{one.version}{one.text_sha256}{one.outcome}" for one in index.documents)
        ),
    )


def visual_manifests(
    context: dg.AssetExecutionContext, work: dg.ResourceParam[Work]
) -> dg.MaterializeResult[Any]:
    space = work.space
    parsing = work.parsing(context.partition_key, context.run.run_id)
    manifests = parsing.visuals(log_progress(context, "looked for visuals in"))
    crops = metadata.page_crops(space, space.corpus(parsing.corpus), manifests, space.parsers())
    return dg.MaterializeResult(
        metadata=metadata.of_manifests(manifests) | crops,
        data_version=dg.DataVersion(fingerprint(one.model_dump_json() for one in manifests)),
    )
