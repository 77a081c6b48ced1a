"""What a catalog is built from: plain records, each read once. The caller loads them from the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import AwareDatetime

from qagen_dagster.records.base import Record
from qagen_dagster.records.document import Document, IndexEntry, Visual
from qagen_dagster.records.evaluation import EvaluationReport
from qagen_dagster.records.exams.bank import RejectedItem, SlotResult
from qagen_dagster.records.exams.responses import Sitting
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination, Name
from qagen_dagster.records.problems.result import ProblemRecord, TaskResult
from qagen_dagster.records.questions import results as result_records
from qagen_dagster.records.questions.history import RunDocument, Spent
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.records.review import Decision
from qagen_dagster.records.run import RunRecord


class DocumentRow(Record):
    """A document of a corpus with any outcome."""

    corpus: str
    document: Document


class VisualRow(Record):
    """One visual. The visuals of a document come one after another, in document order."""

    corpus: str
    document_id: str
    visual: Visual


class ResultRow(Record):
    """The result of one document, with the time and the run that generated it. Runs that reused it are not named.

    `collected`: the run has rows in `run_documents`.
    """

    combination: Combination
    result: result_records.GenerationResult
    run_id: str
    collected: bool = True
    recorded_at: AwareDatetime | None = None


class FailureRow(Record):
    """A document that was tried and has no result, for example because of a permanent model error."""

    combination: Combination
    document_id: str
    document_version: str
    end: result_records.DocumentEnd
    detail: str
    run_id: str
    recorded_at: AwareDatetime | None = None


class RunRow(Record):
    """One run of one partition, which is a combination if `combination` is set. None: not known."""

    run_id: str
    combination: Combination | None
    partition: str
    job: str | None = None
    assets: tuple[str, ...] | None = None
    collected: bool = False  # it made a candidate set of the combination
    profile: str | None = None
    fingerprint: str | None = None
    models: dict[str, str] | None = None  # role -> provider:model
    prompts: dict[str, str] | None = None  # prompt name -> hash
    started: AwareDatetime | None = None
    ended: AwareDatetime | None = None
    status: str | None = None  # RunStatus
    error: str | None = None
    target_count: int | None = None
    strategy: str | None = None
    corpus_name: str | None = None
    corpus_context: str | None = None
    scenario_name: str | None = None
    scenario_description: str | None = None


class RunDocumentRow(Record):
    """What one document gave in one run; `removed` are its questions that duplicate others of the corpus."""

    run_id: str
    combination: Combination
    document: RunDocument
    removed: tuple[result_records.RejectedQA, ...] = ()
    deduplication: Spent = Spent()


class SetRow(NamedTuple):
    """One version of a published set. `run_id` is None if the version is not in the history."""

    combination: Combination
    run_id: str | None
    current: bool
    published: datetime
    questions: Iterable[PublishedQuestion]


class RetiredRow(Record):
    """A question that a document no longer supports."""

    combination: Combination
    retired: result_records.RetiredQA


class VersionRow(Record):
    """A version of a document, as a run found it; `removed`: the run found that the document is gone."""

    corpus: str
    entry: IndexEntry
    run_id: str
    at: AwareDatetime
    removed: bool = False


class ProblemRow(Record):
    problem_set: Name
    position: int
    record: ProblemRecord


class ProblemTaskRow(Record):
    """One result of a task. `current`: the bank was made with it."""

    problem_set: Name
    problem_id: str
    result: TaskResult
    current: bool


class ExamRow(Record):
    """One slot of an exam. `left_out` says why an accepted item is not in the bank; None if it is."""

    result: SlotResult
    schema_title: str
    models: dict[str, str]  # role -> provider:model
    left_out: RejectedItem | None = None
    flaws: tuple[str, ...] | None = None  # criteria of item-writing flaws; None: there is no question


@dataclass(frozen=True)
class CatalogSource:
    """All records of a catalog. Each iterable is read once, in order, so it may be a generator.

    `sets` has the current validated set of each combination, and `reports` its latest report of grades. Both may come in parts with
    some of the rows, because a whole set of a large corpus takes much memory. `evaluated` has the latest report of each kind of
    evaluation, and `evaluations` has all reports, the oldest first. `exams` has every slot of the current set of each part. If a
    document has several `results` or `failures` in a combination, the one recorded last counts. Model calls of all results count,
    because they were paid. `run_documents`, `published`, `versions` and `ended` have the history of all runs.
    """

    documents: Iterable[DocumentRow] = ()
    visuals: Iterable[VisualRow] = ()
    results: Iterable[ResultRow] = ()
    failures: Iterable[FailureRow] = ()
    sets: Iterable[result_records.ValidatedSet] = ()
    retired: Iterable[RetiredRow] = ()
    decisions: Iterable[Decision] = ()
    reports: Iterable[GroundingReport] = ()
    evaluated: Iterable[EvaluationReport[Any]] = ()
    evaluations: Iterable[EvaluationReport[Any]] = ()
    runs: Iterable[RunRow] = ()
    ended: Iterable[RunRecord] = ()
    run_documents: Iterable[RunDocumentRow] = ()
    published: Iterable[SetRow] = ()
    versions: Iterable[VersionRow] = ()
    exams: Iterable[ExamRow] = ()
    sittings: Iterable[Sitting] = ()
    problems: Iterable[ProblemRow] = ()
    problem_tasks: Iterable[ProblemTaskRow] = ()
