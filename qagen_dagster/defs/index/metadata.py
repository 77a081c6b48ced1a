"""What the UI shows of a search index: counts, costs, a row per document. Presentation only."""

from __future__ import annotations

import dagster as dg

from qagen_dagster.defs.metadata import Metadata, markdown_table, path
from qagen_dagster.loop.index.build import IndexBuild
from qagen_dagster.records.index import SearchIndex
from qagen_dagster.store import Store


def of_build(built: IndexBuild, store: Store) -> Metadata:
    """Counts and costs; documents that failed come first."""
    index, now = built.index, set(built.embedded)
    failed = sum(one.failure is not None for one in index.documents)
    rows = [
        (one.id, one.chunks, "failed" if one.failure else "now" if one.id in now else "before", one.failure)
        for one in sorted(index.documents, key=lambda one: (one.failure is None, one.id))
    ]
    use = built.use
    return {
        "dagster/row_count": dg.MetadataValue.int(sum(one.chunks for one in index.documents)),
        "indexed_documents": dg.MetadataValue.int(len(index.documents)),
        "embedded_now": dg.MetadataValue.int(len(now)),
        "reused": dg.MetadataValue.int(len(index.documents) - len(now) - failed),
        "failed": dg.MetadataValue.int(failed),
        "seconds": dg.MetadataValue.float(built.seconds),
        "embedder": dg.MetadataValue.text(f"{index.embedder['provider']}:{index.embedder['model']}"),
        "paid_calls": dg.MetadataValue.int(use.calls),
        "paid_tokens": dg.MetadataValue.int(use.tokens),
        "usd": dg.MetadataValue.text("unknown") if use.usd is None else dg.MetadataValue.float(use.usd),
        "documents": markdown_table(("document", "chunks", "embedded", "why not"), rows),
        "index": path(store.path(SearchIndex.key(index.corpus))),
    }
