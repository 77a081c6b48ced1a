"""A published set as a table for spreadsheets: CSV and Excel."""

import csv
import io
from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet

COLUMNS = (
    "id", "question", "answer", "source_document", "row", "question_type", "mode", "hops", "evidence",
    "lines", "pages", "visuals", "grade", "answerable", "document_id", "licence", "attribution",
)  # fmt: skip


def cells(row: ExportedRow) -> list[str | int | None]:
    """The values of a question in the order of COLUMNS. Several quotes are separated by an empty line."""
    question, details = row.question, row.details
    spans = ((one.start_line, one.end_line) for one in question.evidence if one.start_line is not None)
    values: dict[str, str | int | None] = {
        **details,
        "question": question.question,
        "answer": question.answer,
        "evidence": "\n\n".join(one.quote for one in question.evidence),
        "lines": _listed(f"{start}-{end}" for start, end in spans),
        "pages": _listed(str(one.page) for one in question.evidence if one.page is not None),
        "visuals": _listed(visual.label for visual in question.visuals),
    }
    return [values[name] for name in COLUMNS]


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def csv_file(exported: ExportedSet) -> dict[str, bytes]:
    """A CSV file by RFC 4180, in UTF-8. Lines end with CR LF."""
    written = io.StringIO(newline="")
    table = csv.writer(written)
    table.writerow(COLUMNS)
    for row in exported.rows:  # an apostrophe before a text keeps a spreadsheet from computing it
        table.writerow(
            f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
            for value in cells(row)
        )
    return {"questions.csv": written.getvalue().encode()}


_LONGEST_CELL = 32_767  # maximum number of characters of a cell in Excel


def xlsx_file(exported: ExportedSet) -> dict[str, bytes]:
    """A workbook with one sheet. Text that is longer than _LONGEST_CELL is cut."""
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
                if isinstance(value, bool):
                    sheet.write_boolean(number, column, value, wrapped)
                elif isinstance(value, int):
                    sheet.write_number(number, column, value, wrapped)
                elif value:
                    sheet.write_string(number, column, value[:_LONGEST_CELL], wrapped)
        sheet.freeze_panes(1, 0)
        sheet.set_column(COLUMNS.index("question"), COLUMNS.index("answer"), 50)
    return {"questions.xlsx": written.getvalue()}
