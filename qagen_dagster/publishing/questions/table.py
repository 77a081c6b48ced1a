"""A published set as a table for spreadsheets: the columns, and the values of a question."""

from __future__ import annotations

from collections.abc import Iterable

from qagen_dagster.publishing.questions.exported_set import ExportedRow

COLUMNS = (
    "id",
    "question",
    "answer",
    "source_document",
    "row",
    "question_type",
    "mode",
    "hops",
    "evidence",
    "lines",
    "pages",
    "visuals",
    "grade",
    "document_id",
)


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
        "visuals": _listed(one.label for one in question.visuals),
    }
    return [values[name] for name in COLUMNS]


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
