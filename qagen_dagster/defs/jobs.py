"""Jobs people and schedules start by name."""

from __future__ import annotations

import dagster as dg

from qagen_dagster.defs.partitions import Partitions

DOCUMENT_ASSETS = dg.AssetSelection.assets("parsed_documents", "visual_manifests")
QUESTION_ASSETS = dg.AssetSelection.assets("candidate_qa", "validated_qa", "corpus_json")


def parse_corpus_job(partitions: Partitions) -> dg.UnresolvedAssetJobDefinition:
    """Parse one corpus."""
    return dg.define_asset_job(
        "parse_corpus", DOCUMENT_ASSETS, partitions_def=partitions.corpora, description="Parse one corpus."
    )


def question_set_job(partitions: Partitions) -> dg.UnresolvedAssetJobDefinition:
    """Everything of one combination."""
    return dg.define_asset_job(
        "question_set",
        QUESTION_ASSETS,
        partitions_def=partitions.combinations,
        description="Generate, validate and publish one combination.",
    )
