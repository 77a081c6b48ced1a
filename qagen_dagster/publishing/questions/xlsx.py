"""The set as an Excel workbook. Its cells hold text and numbers, never formulas."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any, cast

from qagen_dagster.publishing.questions.exported_set import ExportedSet
from qagen_dagster.publishing.questions.table import COLUMNS, cells

_LONGEST = 32_767  # characters of a cell


def export(exported: ExportedSet) -> dict[str, bytes]:
    """One sheet. A text that is longer than a cell can be is cut."""
    import xlsxwriter  # pyright: ignore[reportMissingTypeStubs]

    written = io.BytesIO()
    with cast("Any", xlsxwriter.Workbook(written, {"in_memory": True})) as book:
        book.set_properties({"created": datetime.fromisoformat(exported.published.timestamp)})
        sheet = book.add_worksheet("questions")
        bold, wrapped = book.add_format({"bold": True}), book.add_format({"text_wrap": True, "valign": "top"})
        for column, name in enumerate(COLUMNS):
            sheet.write_string(0, column, name, bold)
        for number, row in enumerate(exported.rows, 1):
            for column, value in enumerate(cells(row)):
                if isinstance(value, int):
                    sheet.write_number(number, column, value, wrapped)
                elif value:
                    sheet.write_string(number, column, value[:_LONGEST], wrapped)
        sheet.freeze_panes(1, 0)
        sheet.set_column(COLUMNS.index("question"), COLUMNS.index("answer"), 50)
    return {"questions.xlsx": written.getvalue()}
