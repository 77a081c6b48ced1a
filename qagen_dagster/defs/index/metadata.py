"""What the UI shows of a search index: counts, cost, a row per document."""

from __future__ import annotations

from qagen_dagster.defs.cost import shown_money
from qagen_dagster.defs.metadata import Metadata, markdown_table, stored_file
from qagen_dagster.loop.index.build import IndexBuild
from qagen_dagster.records.document import SearchIndex
from qagen_dagster.store import Store


def of_build(built: IndexBuild, store: Store) -> Metadata:
    """Counts, cost, and a row per document; documents that failed come first."""
    index, now = built.index, set(built.embedded)
    failed = sum(one.failure is not None for one in index.documents)
    rows = [
        (one.id, one.chunks, "failed" if one.failure else "new" if one.id in now else "reused", one.failure)
        for one in sorted(index.documents, key=lambda one: (one.failure is None, one.id))
    ]
    use = built.use
    return {
        "dagster/row_count": sum(one.chunks for one in index.documents),
        "indexed_documents": len(index.documents),
        "embedded_now": len(now),
        "reused": len(index.documents) - len(now) - failed,
        "failed": failed,
        "seconds": built.seconds,
        "embedder": f"{index.embedder['provider']}:{index.embedder['model']}",
        "paid_calls": use.calls,
        "paid_tokens": use.tokens,
        "usd": shown_money(use.usd),
        "documents": markdown_table(("document", "chunks", "embeddings", "failure"), rows),
        "index": stored_file(store, SearchIndex.key(index.corpus)),
    }
