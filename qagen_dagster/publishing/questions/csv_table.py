"""The set as CSV. A spreadsheet does not take any cell for a formula."""

from __future__ import annotations

import csv
import io

from qagen_dagster.publishing.questions.exported_set import ExportedSet
from qagen_dagster.publishing.questions.table import COLUMNS, cells

_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def export(exported: ExportedSet) -> dict[str, bytes]:
    """RFC 4180 in UTF-8, lines end with CR LF."""
    written = io.StringIO(newline="")
    table = csv.writer(written)
    table.writerow(COLUMNS)
    table.writerows([_safe(value) for value in cells(row)] for row in exported.rows)
    return {"questions.csv": written.getvalue().encode()}


def _safe(value: str | int | None) -> str | int | None:
    """The value, with an apostrophe before text that a spreadsheet would compute."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
