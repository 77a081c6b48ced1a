"""The assets of a corpus, and what the UI shows of them: the parsed documents, and the visuals in them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora, Corpus
from qagen_dagster.defs import metadata
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import RenderOptions
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.ingest.corpus_files import parse_options, source_of
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import CorpusIndex, Outcome, Visual, VisualManifest
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.store import Store

MAX_CROPS = 6
_CROP = RenderOptions(max_pixels=120_000, max_side=420, max_bytes=60_000)


def build_document_assets(
    layout: Layout, partitions: Partitions, corpora: Corpora
) -> list[dg.AssetsDefinition]:
    return [
        layout.asset(
            parsed_documents,
            partitions_def=partitions.corpora,
            kinds={"parser"},
            deps=["corpus_files"],
            metadata={"broken_corpora": metadata.fault_list(corpora.faults)},
            description="The text of every file of a corpus. It has the lines that evidence refers to. A file that cannot "
            "be parsed does not fail the run: its outcome says why.",
        ),
        layout.asset(
            visual_manifests,
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
    result = parsing.text(metadata.log_progress(context, "parsed"))
    index = result.index
    version = fingerprint(f"{one.id}{one.version}{one.text_sha256}{one.outcome}" for one in index.documents)
    return metadata.materialized(_of_index(index, result.parsed_files, work.space.store), version)


def visual_manifests(
    context: dg.AssetExecutionContext, work: dg.ResourceParam[Work]
) -> dg.MaterializeResult[Any]:
    space = work.space
    parsing = work.parsing(context.partition_key, context.run.run_id)
    manifests = parsing.visuals(metadata.log_progress(context, "looked for visuals in"))
    crops = _page_crops(space, space.corpus(parsing.corpus), manifests, space.parsers())
    return metadata.materialized(_of_manifests(manifests) | crops, manifests)


def _of_index(index: CorpusIndex, parsed_files: int, store: Store) -> metadata.Metadata:
    """Counts by outcome, and a row per document. Documents with another outcome than `parsed` come first."""
    outcomes = Counter(document.outcome.value for document in index.documents)
    rows = [
        (d.id, d.format, d.outcome.value, d.page_count, d.line_count, d.detail)
        for d in sorted(index.documents, key=lambda d: (d.outcome is Outcome.PARSED, d.id))
    ]
    usable = outcomes[Outcome.PARSED.value] + outcomes[Outcome.NO_TEXT.value]
    header = ("document", "format", "outcome", "pages", "lines", "detail")
    return {
        metadata.ROW_COUNT: len(index.documents),
        "files_parsed_now": parsed_files,
        "lines": sum(d.line_count for d in index.documents),
        "not_usable": len(index.documents) - usable,
        "outcomes": metadata.bar_chart(outcomes, "documents by outcome"),
        "documents": metadata.markdown_table(header, rows),
        "index": metadata.stored_file(store, CorpusIndex.key(index.corpus)),
    }


def _of_manifests(manifests: Sequence[VisualManifest]) -> metadata.Metadata:
    """Counts by type, and a row per visual."""
    types = Counter(visual.type.value for manifest in manifests for visual in manifest.visuals)
    rows = [
        (m.document_id, v.label, v.type.value, v.page, v.start_line, v.caption)
        for m in manifests
        for v in m.visuals
    ]
    failures = [(m.document_id, m.failure) for m in manifests if m.failure is not None]
    return {
        metadata.ROW_COUNT: len(rows),
        "documents_without_visuals": sum(not m.visuals for m in manifests),
        "types": metadata.bar_chart(types, "visuals by type"),
        "visuals": metadata.markdown_table(("document", "label", "type", "page", "line", "caption"), rows),
        "failures": metadata.markdown_table(("document", "failure"), failures),
    }


def _page_crops(
    space: Workspace, corpus: Corpus, manifests: Sequence[VisualManifest], pool: ParserPool
) -> metadata.Metadata:
    """Small pictures of the first visuals, with which a person can check the boxes of visuals."""
    sources = {entry.id: entry.source for entry in space.index(corpus.key).documents}
    chosen: list[tuple[str, Visual]] = []
    for manifest in manifests:
        chosen += [(manifest.document_id, v) for v in manifest.visuals if v.page is not None][:2]
    crops = (crop_markdown(corpus, pool, sources[name], visual) for name, visual in chosen[:MAX_CROPS])
    return metadata.pictures("crops", [text for text in crops if text is not None])


def crop_markdown(corpus: Corpus, pool: ParserPool, source: str, visual: Visual) -> str | None:
    """Markdown of the picture of a visual with its caption; None when the visual cannot be rendered."""
    how = RenderOptions(_CROP.max_pixels, _CROP.max_side, _CROP.max_bytes, visual.box)
    try:
        picture = pool.render(
            source_of(corpus, source), visual.page or 1, parse_options(corpus.config.documents), how
        )
    except DocumentError:
        return None
    if picture is None:
        return None
    title = f"**{metadata.cell(source)}, {metadata.cell(visual.label)}** {metadata.cell(visual.caption, 160)}"
    return (
        f"{title}\n\n![{metadata.cell(visual.label)}]({metadata.data_uri(picture.media_type, picture.data)})"
    )
