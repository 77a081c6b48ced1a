"""The export formats of published question sets by name, the formats of evaluation tools, and tables for spreadsheets (CSV, Excel)."""

import base64
import csv
import io
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import groupby
from typing import Any, cast

import yaml

from qagen_dagster.publishing.exporter import json_file, json_lines
from qagen_dagster.publishing.questions import huggingface
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet, ExportFormat, Place
from qagen_dagster.records.evaluation import RELEVANT

Json = dict[str, Any]


def has_passages(row: ExportedRow) -> bool:
    """Whether search can find a passage that answers the question. The document must have text, and its passages must prove the answer."""
    return row.proven and bool(row.passages)


def beir_files(exported: ExportedSet) -> dict[str, bytes]:
    """The files of a BEIR data set. `corpus.jsonl` has the passages of all documents of the corpus, even of documents without questions."""
    corpus = (
        {"_id": passage.id, "title": one.title, "text": passage.shown, "metadata": {"document_id": one.id}}
        for one in exported.documents
        for passage in one.passages
    )
    queries = (
        {"_id": row.question.id, "text": row.question.question, "metadata": row.details}
        for row in exported.rows
    )
    qrels = [
        f"{row.question.id}\t{passage.id}\t{grade}\n"
        for row in exported.rows
        for passage, grade in row.relevance.items()
    ]
    return {
        "corpus.jsonl": json_lines(corpus),
        "queries.jsonl": json_lines(queries),
        "qrels/test.tsv": "".join(["query-id\tcorpus-id\tscore\n", *qrels]).encode(),
    }


def triple_files(exported: ExportedSet) -> dict[str, bytes]:
    """A row for each pair of a question and a passage that answers it. `negatives` are passages with the grade 0, the nearest first."""
    rows = (
        {
            "query": row.question.question,
            "positive": passage.shown,
            "negatives": [one.shown for one, grade in row.graded if grade == 0],
            "query_id": row.question.id,
            "positive_id": passage.id,
            "negative_ids": [one.id for one, grade in row.graded if grade == 0],
        }
        for row in exported.rows
        for passage, grade in row.relevance.items()
        if grade >= RELEVANT or not row.graded
    )
    return {"triples.jsonl": json_lines(rows)}


def each(
    file: str, case: Callable[[ExportedRow], Json], written: Callable[[list[Json]], bytes] = json_lines
) -> Callable[[ExportedSet], dict[str, bytes]]:
    """An export of one `file` with the value of `case` for each question, in the order of the set. `written` makes the bytes."""
    return lambda exported: {file: written([case(row) for row in exported.rows])}


def deepeval_golden(row: ExportedRow) -> Json:
    """The golden of a question, whose name is the id of the question. It has no field `scenario`, which would make it a conversation."""
    return {
        "name": row.question.id,
        "input": row.question.question,
        "expected_output": row.question.answer,
        "context": row.references,
        "source_file": row.question.source_document,
        "additional_metadata": row.details,
    }


def inspect_files(exported: ExportedSet) -> dict[str, bytes]:
    """Samples whose `metadata` has the contexts and the evidence; no model is shown this. Pictures are part of the input."""
    samples: list[Json] = []
    for row in exported.rows:
        text = row.question.question
        content = [
            {"type": "text", "text": text},
            *({"type": "image", "image": picture.path} for picture in row.pictures),
        ]
        samples.append(
            {
                "id": row.question.id,
                "input": [{"role": "user", "content": content}] if row.pictures else text,
                "target": row.question.answer,
                "metadata": {**row.details, "contexts": row.references},
            }
        )
    return {"samples.jsonl": json_lines(samples), **exported.pictures()}


def langsmith_example(row: ExportedRow) -> Json:
    """An example with its pictures as data URIs, because only one file is uploaded."""
    images = [f"data:{one.media_type};base64,{base64.b64encode(one.data).decode()}" for one in row.pictures]
    return {
        "inputs": {"question": row.question.question, **({"images": images} if images else {})},
        "outputs": {"answer": row.question.answer, "contexts": row.references},
        "metadata": row.details,
    }


def llamaindex_example(row: ExportedRow) -> Json:
    """An example with an additional field `id`, which LlamaIndex ignores."""
    author = {"type": "ai", "model_name": row.question.generation_metadata.generator_model}
    return {
        "id": row.question.id,
        "query": row.question.question,
        "query_by": author,
        "reference_contexts": row.references,
        "reference_answer": row.question.answer,
        "reference_answer_by": author,
    }


def mlflow_record(row: ExportedRow) -> Json:
    """A record for `merge_records`. The id of the question is one of the inputs, because records with equal inputs are merged.

    The scorer `Correctness` takes either facts or a response. A fact has its other accepted forms in brackets.
    """
    facts = [
        fact.text + (f" (or: {'; '.join(fact.accepted)})" if fact.accepted else "") for fact in row.key_facts
    ]
    expected = {"expected_facts": facts} if facts else {"expected_response": row.question.answer}
    contexts = [{"doc_uri": one.id, "content": one.shown} for one in row.passages] if row.proven else []
    tags = {name: str(value) for name, value in row.details.items() if not isinstance(value, list | None)}
    return {
        "inputs": {"question": row.question.question, "question_id": row.question.id},
        "expectations": {**expected, "contexts": contexts},
        "tags": {**tags, "answer": row.question.answer},
        "source": {"source_type": "DOCUMENT", "source_data": {"doc_uri": row.question.source_document}},
    }


_TEMPLATE = re.compile(r"\{[{%#]|#\}")


def promptfoo_files(exported: ExportedSet) -> dict[str, bytes]:
    """Tests with the variables `question`, `context` and, for pictures, `image`, `image_2` and so on. A model compares the answers."""
    cases = [_case(row) for row in exported.rows]
    text: str = yaml.dump(cases, Dumper=_Quoted, allow_unicode=True, sort_keys=False, width=float("inf"))
    return {"tests.yaml": text.encode(), **exported.pictures()}


class _Quoted(yaml.SafeDumper):
    """Puts all strings into double quotes, because readers disagree about plain strings such as 1e3."""


def _quoted(dumper: Any, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Quoted.add_representer(str, _quoted)


def _case(row: ExportedRow) -> Json:
    names = ("image", *(f"image_{number}" for number in range(2, len(row.pictures) + 1)))
    pictures = {name: f"file://{picture.path}" for name, picture in zip(names, row.pictures, strict=False)}
    return {
        "description": row.question.id,
        "vars": {
            "question": _literal(row.question.question),
            "context": _literal("\n\n".join(row.contexts)),
            **pictures,
        },
        "assert": [_assertion(row)],
        "metadata": {name: value for name, value in row.details.items() if name != "evidence"},
    }


_ABSTAINS = (
    "The question cannot be answered from the documents as it is asked. The response says so, asks what is meant, or corrects what the "
    "question takes for granted, and it states no other answer. A good response is: "
)


def _assertion(row: ExportedRow) -> Json:
    """The test of an answer. A model compares it with the reference. For a question without an answer, the model judges the abstention."""
    if row.question.answerable:
        return {"type": "factuality", "value": _literal(row.question.answer)}
    return {"type": "llm-rubric", "value": _ABSTAINS + _literal(row.question.answer)}


def _literal(text: str) -> str:
    """A template from which promptfoo makes exactly `text`. Otherwise it might fill in parts of the text, or read a file named in it."""
    shown = _TEMPLATE.sub(lambda found: f'{{{{ "{found[0]}" }}}}', text)
    return f'{{{{ "" }}}}{shown}' if text.startswith(("file:", "package:")) else shown


def ragas_sample(row: ExportedRow) -> Json:
    """A sample with an additional field `id`. ragas ignores fields that it does not know."""
    return {
        "id": row.question.id,
        "user_input": row.question.question,
        "reference": row.question.answer,
        "reference_contexts": row.references,
        "reference_context_ids": [passage.id for passage in row.passages] if row.proven else [],
    }


def ragchecker_result(row: ExportedRow) -> Json:
    return {
        "query_id": row.question.id,
        "query": row.question.question,
        "gt_answer": row.question.answer,
        "response": "",
        "retrieved_context": [],
    }


def has_span(row: ExportedRow) -> bool:
    """Whether the answer is a span of a quote. For a question without an answer: whether a quote has a place in the text.

    Answers in other words than their quotes do not fit, because a score against the quote would count right answers as wrong.
    """
    return _span(row) is not None if row.question.answerable else bool(row.places)


def squad_files(exported: ExportedSet) -> dict[str, bytes]:
    """An entry for each document. Answers are spelled as in the document, even if case or line breaks differ from the published answer."""
    data = [
        {"title": source, "paragraphs": [_paragraph(row) for row in rows]}
        for source, rows in groupby(exported.rows, lambda row: row.question.source_document)
    ]
    return {"squad.json": json_file({"version": "v2.0", "data": data})}


def _paragraph(row: ExportedRow) -> Json:
    answers: list[Json] = []
    if not row.question.answerable:
        context = row.places[0].text.strip()
    elif (span := _span(row)) is not None:
        context, start, answer = span
        answers = [{"text": answer, "answer_start": start}]
    else:
        raise ValueError(f"{row.question.id} has no answer in its context")
    question: Json = {
        "id": row.question.id,
        "question": row.question.question,
        "answers": answers,
        "is_impossible": not row.question.answerable,
    }
    return {"context": context, "qas": [question]}


def _span(row: ExportedRow) -> tuple[str, int, str] | None:
    """A context, and the position and the text of the answer in it; None if no quote has the answer.

    The answer must be in a quote, because the same words elsewhere in a passage may mean something else.
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


EXPORT_FORMATS = (
    ExportFormat("ragas", each("testset.jsonl", ragas_sample)),
    ExportFormat("deepeval", each("goldens.json", deepeval_golden, json_file)),
    ExportFormat(
        "llamaindex",
        each("rag_dataset.json", llamaindex_example, lambda cases: json_file({"examples": cases})),
    ),
    ExportFormat("inspect", inspect_files),
    ExportFormat("promptfoo", promptfoo_files),
    ExportFormat("beir", beir_files, has_passages, whole_corpus=True),
    ExportFormat("triples", triple_files, has_passages),
    ExportFormat("squad", squad_files, has_span),
    ExportFormat("langsmith", each("examples.jsonl", langsmith_example)),
    ExportFormat("mlflow", each("records.jsonl", mlflow_record)),
    ExportFormat(
        "ragchecker",
        each("checking_inputs.json", ragchecker_result, lambda cases: json_file({"results": cases})),
    ),
    ExportFormat("huggingface", huggingface.huggingface_files),
    ExportFormat("csv", csv_file),
    ExportFormat("xlsx", xlsx_file),
)
