"""What a catalog is built from: plain records, each read once. The caller loads them from the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import AwareDatetime

from qagen_dagster.records.base import Record
from qagen_dagster.records.document import Document, Visual
from qagen_dagster.records.evaluation import EvaluationReport
from qagen_dagster.records.exams.result import SlotResult
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult, ValidatedSet


class DocumentRow(Record):
    """A document of a corpus with any outcome. `seconds` is how long parsing took."""

    corpus: str
    document: Document
    seconds: float | None = None


class VisualRow(Record):
    """One visual. The visuals of a document come one after another, in document order."""

    corpus: str
    document_id: str
    visual: Visual


class ResultRow(Record):
    """The result of one document, with the run that generated it (not one that reused it) and the time."""

    combination: Combination
    result: GenerationResult
    run_id: str
    recorded_at: AwareDatetime | None = None


class FailureRow(Record):
    """A document that was tried and has no result, for example because of a permanent model error."""

    combination: Combination
    document_id: str
    document_version: str
    end: DocumentEnd
    detail: str
    run_id: str
    recorded_at: AwareDatetime | None = None


class RunRow(Record):
    """One run of one combination."""

    run_id: str
    combination: Combination
    profile: str
    fingerprint: str
    models: dict[str, str]  # role -> provider:model
    prompts: dict[str, str]  # prompt name -> hash
    started: AwareDatetime
    ended: AwareDatetime | None = None
    status: str  # of the run: success, failure, ...
    target_count: int | None = None


class ExamRow(Record):
    """One slot of an exam. `repeats` says which item an accepted one duplicates, and why; None if the item is in the bank."""

    result: SlotResult
    schema_title: str
    models: dict[str, str]  # role -> provider:model
    repeats: str | None = None


@dataclass(frozen=True)
class CatalogSource:
    """All records of a catalog. Each iterable is read once, in order, so it may be a generator.

    `sets` holds the current validated set of each combination, `reports` its latest report of grades, `evaluated` the
    latest report of each kind of evaluation, `evaluations` all such reports (the oldest first), `exams` every slot of
    the current set of each part. If a document has several `results` or `failures` in a combination, the one recorded
    last counts. Model calls of all results count, because they were paid.
    """

    documents: Iterable[DocumentRow] = ()
    visuals: Iterable[VisualRow] = ()
    results: Iterable[ResultRow] = ()
    failures: Iterable[FailureRow] = ()
    sets: Iterable[ValidatedSet] = ()
    reports: Iterable[GroundingReport] = ()
    evaluated: Iterable[EvaluationReport[Any]] = ()
    evaluations: Iterable[EvaluationReport[Any]] = ()
    runs: Iterable[RunRow] = ()
    exams: Iterable[ExamRow] = ()
