"""The dictionary of `docs/catalog.md`, from the comments of an empty catalog.

    python -m tests.support.catalog_dictionary

writes it anew.
"""

from __future__ import annotations

import tempfile
from itertools import groupby
from pathlib import Path

import duckdb

from qagen_dagster.catalog.database import build
from qagen_dagster.catalog.source import CatalogSource
from qagen_dagster.settings import PROJECT_ROOT

PAGE = PROJECT_ROOT / "docs" / "catalog.md"
BEGIN = "### Tables\n"
RELATIONS = """
SELECT own.table_name, coalesce(tables.comment, views.comment), column_name, data_type, own.comment
FROM duckdb_columns() AS own
LEFT JOIN duckdb_tables() AS tables USING (table_name)
LEFT JOIN (FROM duckdb_views() WHERE NOT internal) AS views ON views.view_name = own.table_name
WHERE NOT own.internal AND (tables.table_name IS NOT NULL) = $1
ORDER BY table_name, column_index
"""
MACROS = """
SELECT function_name || '(' || array_to_string(parameters, ', ') || ')', comment
FROM duckdb_functions() WHERE function_type = 'table_macro' AND NOT internal ORDER BY 1
"""


def dictionary() -> str:
    """The text from BEGIN to the end of the page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "catalog.duckdb"
        build(CatalogSource(), file, Path(folder))
        with duckdb.connect(file, read_only=True) as connection:
            tables = connection.execute(RELATIONS, [True]).fetchall()
            views = connection.execute(RELATIONS, [False]).fetchall()
            macros = connection.execute(MACROS).fetchall()
    lines = [f"- `{name}`: {said}" for name, said in macros]
    return f"{BEGIN}\n{_told(tables)}\n### Views\n\n{_told(views)}\n### Macros\n\n" + "\n".join(lines) + "\n"


def _told(rows: list[tuple[str, ...]]) -> str:
    parts: list[str] = []
    for (name, said), columns in groupby(rows, key=lambda row: row[:2]):
        parts += [f"#### {name}", "", said, "", "| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{column}` | {kind} | {meaning} |" for _, _, column, kind, meaning in columns]
        parts.append("")
    return "\n".join(parts)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[0]
    PAGE.write_text(text + dictionary(), encoding="utf-8")


if __name__ == "__main__":
    main()
