"""What a catalog is built from: plain records, streamed once. Where they are stored is the caller's."""

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
    """A document of a corpus, whatever its outcome. `seconds` is what parsing it took."""

    corpus: str
    document: Document
    seconds: float | None = None


class VisualRow(Record):
    """One visual; those of a document come in document order."""

    corpus: str
    document_id: str
    visual: Visual


class ResultRow(Record):
    """What one document gave, the run that made it (not one that only reused it), and when."""

    combination: Combination
    result: GenerationResult
    run_id: str
    recorded_at: AwareDatetime | None = None


class FailureRow(Record):
    """A document that was tried and has no result, such as one whose model failed for good."""

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
    """One slot of an exam. `repeats` says which item of the bank an accepted one repeats, and why; None when it stands."""

    result: SlotResult
    schema_title: str
    models: dict[str, str]  # role -> provider:model
    repeats: str | None = None


@dataclass(frozen=True)
class CatalogSource:
    """Everything there is. Each iterable is read once, in order, so generators do.

    `sets` holds the current validated set of each combination, `reports` its latest report of grades,
    `evaluated` the latest report of each kind of evaluation, `evaluations` every such report, the oldest first, `exams` every slot
    of the present set of each part. Where `results` or `failures` speak
    more than once of a document in a combination, the one recorded last counts; model calls of all
    results count, since they were paid.
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
