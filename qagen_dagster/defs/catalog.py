"""The asset that rebuilds the catalog, one DuckDB file that is derived from the store. Some commands rebuild it, too."""

from typing import Any

import dagster as dg

from qagen_dagster.catalog import queries
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import Metadata, bar_chart, markdown_table, path, uri
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.loop.catalog import CATALOG, catalog_file, rebuild_catalog
from qagen_dagster.loop.workspace import Workspace

_READ = (
    *("parsed_documents", "visual_manifests", "corpus_json", "grounding_report", "closed_book_check"),
    *("retrieval_baseline", "answer_baseline", "item_bank", "problem_bank"),
)


def build_catalog(layout: Layout) -> dg.AssetsDefinition:
    """The asset `catalog`, without partitions. Its pool allows one run at a time, so that no run waits for the lock of the file."""
    return layout.asset(
        catalog,
        kinds={"duckdb"},
        pool=layout.name("catalog"),
        deps=[one for one in _READ if layout.has(one)],
        description="A DuckDB database of everything. It has tables of documents, questions, verdicts, exam items, physics "
        "problems, model calls, and the history of runs and sets. It is rebuilt from the store.",
    )


def catalog(workspace: WorkspaceResource) -> dg.MaterializeResult[Any]:
    space = workspace.open()
    counts = rebuild_catalog(space.store)
    return dg.MaterializeResult(metadata=_shown(space, counts))


def _shown(space: Workspace, counts: dict[str, int]) -> Metadata:
    with catalog_file(space.store) as file:
        combinations = queries.combinations(file, roles=False)
    rows = [
        (
            combination.combination,
            combination.documents,
            combination.accepted,
            combination.rejected,
            "" if combination.pass_rate is None else f"{combination.pass_rate:.0%}",
            combination.calls,
            "unknown" if combination.usd is None else f"{combination.usd:.4f}" if combination.calls else "-",
            combination.profile,
        )
        for combination in combinations
    ]
    header = (
        "combination",
        "documents",
        "accepted",
        "rejected",
        "pass rate",
        "model calls",
        "USD",
        "profile",
    )
    return {
        "dagster/row_count": sum(counts.values()),
        "combinations": markdown_table(header, rows),
        "accepted": bar_chart({one.combination: one.accepted for one in combinations}, "accepted questions"),
        **uri(space.store, CATALOG),
        "file": path(space.store.path(CATALOG)),
        "rows": counts,
    }
