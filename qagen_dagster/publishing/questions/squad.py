"""SQuAD v2: answers as spans of the passages that prove them."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from qagen_dagster.publishing.json_files import json_file
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet, Place

Json = dict[str, Any]


def takes(row: ExportedRow) -> bool:
    """An answer in other words than its quotes is no span. Scores would count right answers as wrong against a quote."""
    return _span(row) is not None


def export(exported: ExportedSet) -> dict[str, bytes]:
    """One entry per document. Answers are written as in the document, also where case or line breaks differ."""
    data = [
        {"title": source, "paragraphs": [_paragraph(row) for row in rows]}
        for source, rows in groupby(exported.rows, lambda row: row.question.source_document)
    ]
    return {"squad.json": json_file({"version": "v2.0", "data": data})}


def _paragraph(row: ExportedRow) -> Json:
    span = _span(row)
    if span is None:
        raise ValueError(f"{row.question.id} has no answer in its context")
    context, start, answer = span
    question: Json = {
        "id": row.question.id,
        "question": row.question.question,
        "answers": [{"text": answer, "answer_start": start}],
        "is_impossible": False,
    }
    return {"context": context, "qas": [question]}


def _span(row: ExportedRow) -> tuple[str, int, str] | None:
    """A context, and position and text of the answer in it.

    The answer must be in a quote: the same words elsewhere in the passage may say something else.
    """
    words = r"\s+".join(map(re.escape, row.question.answer.split()))
    answer = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    return next((one for one in (_found(place, answer) for place in row.places) if one is not None), None)


def _found(place: Place, answer: re.Pattern[str]) -> tuple[str, int, str] | None:
    text = place.text
    start = max(place.start - (len(text) - len(text.lstrip())), 0)
    context = text.strip()
    match = answer.search(context, start)
    inside = match is not None and match[0] and match.end() <= start + len(place.quote)
    return (context, match.start(), match[0]) if match is not None and inside else None
