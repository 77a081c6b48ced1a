"""A retrieval test in the layout of BEIR: passages of the corpus, questions, and which passages prove their answers."""

from __future__ import annotations

from qagen_dagster.publishing.json_files import json_lines
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet


def takes(row: ExportedRow) -> bool:
    """A question whose document has no text has no passage to be found."""
    return bool(row.passages)


def export(exported: ExportedSet) -> dict[str, bytes]:
    """`corpus.jsonl` has all documents of the corpus, also those without questions."""
    corpus = (
        {"_id": passage.id, "title": one.title, "text": passage.shown, "metadata": {"document_id": one.id}}
        for one in exported.documents
        for passage in one.passages
    )
    queries = (
        {"_id": row.question.id, "text": row.question.question, "metadata": row.details}
        for row in exported.rows
    )
    qrels = [f"{row.question.id}\t{passage.id}\t1\n" for row in exported.rows for passage in row.passages]
    return {
        "corpus.jsonl": json_lines(corpus),
        "queries.jsonl": json_lines(queries),
        "qrels/test.tsv": "".join(["query-id\tcorpus-id\tscore\n", *qrels]).encode(),
    }
