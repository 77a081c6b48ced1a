"""Summarizes the grades of one run, command or backfill: in run_summary.json, and in one JSON file per document.

The names of fields follow "QAGRedo Algorithm Report", sections 5.2 and 5.3. Ids, counts and the split by combination are additions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from qagen_dagster.errors import StoreError
from qagen_dagster.grounding.grade import decided, overall
from qagen_dagster.ingest.corpus_files import stored_text
from qagen_dagster.loop.grading.grade_set import HISTORY_FILE
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import CorpusIndex, Document, joined
from qagen_dagster.records.grading import (
    Decided,
    DocumentGrades,
    ErrorRate,
    Grade,
    GradedAnswer,
    GroundingReport,
    Highlight,
    JudgeVerdict,
    combination_of,
)
from qagen_dagster.records.ids import store_key
from qagen_dagster.store import Store

_OF_GRADING = (  # fields of an AnswerGrade that are shown
    "is_grounded",
    "confidence",
    "method",
    "issues",
    "grounded_sentences",
    "ungrounded_sentences",
    "llm_verdict",
    "judge_failure",
)
_COUNTED = ("grounded", "ungrounded", "not_measured")


class QADetail(Record):
    """One answer. None means not measured."""

    id: str
    question: str
    answer: str
    is_grounded: bool | None
    confidence: float | None
    method: str
    issues: tuple[str, ...]
    grounded_sentences: tuple[str, ...]
    ungrounded_sentences: tuple[str, ...]
    llm_verdict: JudgeVerdict | None
    judge_failure: str
    marked: str  # the reason why the answer is not in the published set
    supporting_evidence: tuple[str, ...]


class DocumentSummary(Record):
    """One document in one combination."""

    combination: str
    id: str
    row: str | None  # the id that the row of a JSONL file gives
    title: str
    overall_grade: Grade | None
    overall_confidence: float | None
    grounded_count: int
    ungrounded_count: int
    not_measured_count: int
    qa_details: tuple[QADetail, ...]


class CombinationSummary(Record):
    """One combination, with the Dagster run that graded it."""

    combination: str
    run_id: str
    timestamp: str
    profile: str
    generator_model: str
    answerer_model: str
    judge_model: str
    grading_method: str
    overall_grade: Grade | None
    overall_confidence: float | None
    grounded_count: int
    ungrounded_count: int
    not_measured_count: int


class SummaryHighlight(Highlight):
    """An ungrounded answer and its combination."""

    combination: str


class RunSummary(Record):
    """The summary of all reports that were made together. If there are several models or methods, commas separate their names."""

    run_id: str
    timestamp: str
    generator_model: str
    judge_model: str
    provider: str
    grading_method: str
    overall_grade: Grade | None
    overall_confidence: float | None
    grounded_count: int
    ungrounded_count: int
    not_measured_count: int
    decided: Decided  # the numbers of answers that code, the judge and nobody decided
    error_rates: tuple[ErrorRate, ...]  # for each verdict of code, how often it was right on public sets
    combinations: tuple[CombinationSummary, ...]
    documents: tuple[DocumentSummary, ...]
    ungrounded_highlights: tuple[SummaryHighlight, ...]

    @staticmethod
    def key(launch: str) -> str:
        return store_key("summaries", launch, "run_summary.json")


def latest_reports(store: Store) -> list[GroundingReport]:
    """The reports of the last run, command or backfill that graded anything. Raises StoreError if there is none."""
    found = [store.read(key, GroundingReport) for key in store.list("grounding")]
    if not found:
        raise StoreError(f"nothing has been graded in {store.root} yet: run `qagen run` first")
    newest = max(found, key=lambda one: one.created)
    return [one for one in found if one.launch == newest.launch]


def reports_of(store: Store, run_id: str) -> list[GroundingReport]:
    """The reports of a run, a command or a backfill. Raises StoreError if there are none."""
    keys = [key for key in store.list("history") if key.endswith(f"/{HISTORY_FILE}")]
    mine = [key for key in keys if key.split("/")[-2] == run_id]
    if mine:
        return [store.read(key, GroundingReport) for key in mine]
    found = [store.read(key, GroundingReport) for key in keys]
    newest: dict[str, GroundingReport] = {}  # a combination that was graded twice counts once
    for report in sorted(found, key=lambda each: each.created):
        if report.launch == run_id:
            newest[combination_of(report).key] = report
    if not newest:
        raise StoreError(f"no run {run_id!r} has graded anything in {store.root}")
    return [newest[key] for key in sorted(newest)]


def summarize(store: Store, reports: Sequence[GroundingReport], run_id: str) -> RunSummary:
    """One summary of `reports`, which must not be empty. Raises StoreError."""
    corpora = dict.fromkeys(combination_of(report).corpus for report in reports)
    found = ((corpus, store.find(CorpusIndex.key(corpus), CorpusIndex)) for corpus in corpora)
    rows = {
        (corpus, one.id): one.row for corpus, index in found if index is not None for one in index.documents
    }
    answers = [answer for report in reports for document in report.documents for answer in document.answers]
    grade, confidence = overall((one.grading.confidence for one in answers), len(answers))
    return RunSummary(
        run_id=run_id,
        timestamp=max(report.created for report in reports),
        generator_model=_named(report.generator_model for report in reports),
        judge_model=_named(report.judge_model for report in reports),
        provider=_named(report.generator_model.partition(":")[0] for report in reports),
        grading_method=_named(report.method.value for report in reports),
        overall_grade=grade,
        overall_confidence=confidence,
        **{f"{name}_count": sum(getattr(report, name) for report in reports) for name in _COUNTED},
        decided=decided(answers),
        error_rates=next((report.error_rates for report in reports if report.error_rates), ()),
        combinations=tuple(_combination(report) for report in reports),
        documents=tuple(
            _document(report, document, rows.get((combination_of(report).corpus, document.document_id)))
            for report in reports
            for document in report.documents
        ),
        ungrounded_highlights=tuple(
            SummaryHighlight(combination=combination_of(report).key, **dict(highlight))
            for report in reports
            for highlight in report.ungrounded_highlights
        ),
    )


def described_outputs(
    store: Store, reports: Sequence[GroundingReport]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each document, the path and the content of its JSON file, with the whole text of the document. Raises StoreError."""
    for report in reports:
        combination = combination_of(report)
        for document in report.documents:
            record = store.find(Document.key(combination.corpus, document.document_id), Document)
            stored = "" if record is None else stored_text(store, combination.corpus, record)
            text = "" if record is None else joined(stored.split("\n"), record.wrapped)[0]
            row = None if record is None else record.row
            yield f"{combination.key}/{document.document_id}.json", _output(report, document, row, text)


def _output(one: GroundingReport, document: DocumentGrades, row: str | None, content: str) -> dict[str, Any]:
    pairs = [_detail(answer).model_dump(mode="json") for answer in document.answers]
    return {
        "document": {"id": document.document_id, "row": row, "title": document.title, "content": content},
        "qa_pairs": [
            {
                "question": pair["question"],
                "answer": pair["answer"],
                "supporting_evidence": pair["supporting_evidence"],
                "grading": {name: pair[name] for name in _OF_GRADING},
            }
            for pair in pairs
        ],
        "question_generation": {"model": one.generator_model, "timestamp": document.generated},
        "answer_generation": {"model": one.answerer_model, "timestamp": document.generated},
        "grading_summary": {
            "overall_grade": document.overall_grade,
            "overall_confidence": document.overall_confidence,
            "grading_method": one.method.value,
            "judge_model": one.judge_model,
        },
    }


def _counts(graded: GroundingReport | DocumentGrades) -> dict[str, Any]:
    """The numbers of answers under their names in a summary."""
    return {f"{name}_count": getattr(graded, name) for name in _COUNTED}


def _combination(report: GroundingReport) -> CombinationSummary:
    return CombinationSummary(
        combination=combination_of(report).key,
        **report.shared(CombinationSummary),
        timestamp=report.created,
        grading_method=report.method.value,
        **_counts(report),
    )


def _document(report: GroundingReport, document: DocumentGrades, row: str | None) -> DocumentSummary:
    return DocumentSummary(
        combination=combination_of(report).key,
        **document.shared(DocumentSummary, id=document.document_id, row=row),
        **_counts(document),
        qa_details=tuple(_detail(answer) for answer in document.answers),
    )


def _detail(answer: GradedAnswer) -> QADetail:
    grading = {name: getattr(answer.grading, name) for name in _OF_GRADING}
    return QADetail(**answer.shared(QADetail), **grading)


def _named(names: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(name for name in names if name))
