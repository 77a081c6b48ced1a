"""Grades a file of answers of another system into one report. Only one document at a time is in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from pydantic import TypeAdapter

from qagen_dagster.errors import DocumentError
from qagen_dagster.grounding.grade import (
    grade_document,
    overall,
    report,
    together,
)
from qagen_dagster.loop.grading.answer_rows import AnswerFile, Place, RowFault
from qagen_dagster.loop.grading.given_documents import Found, GivenDocument
from qagen_dagster.loop.grading.grade_answers import AnswerToGrade, DocumentAnswers, Grader, grade_all
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport, Highlight
from qagen_dagster.records.questions.results import CallSummary

Progress = Callable[[int, str], None]  # answers done since the last call, and their document
_FAULTS = TypeAdapter(tuple[RowFault, ...])


@dataclass(frozen=True)
class FileGrades:
    """The grades of a file: the report without documents, the documents without answers, and the failures."""

    heads: GroundingReport
    documents: tuple[DocumentGrades, ...]
    faults: tuple[RowFault, ...]
    unjudged: int  # answers without a verdict of the judge
    why_unjudged: str  # reason of the first one
    calls: tuple[CallSummary, ...]

    @property
    def graded(self) -> int:
        return self.heads.grounded + self.heads.ungrounded + self.heads.not_measured


class FileGrading:
    """The grading of one file. The grades of each document are written to `spool` as JSON as soon as they are done."""

    def __init__(self, answers: AnswerFile, found: Found, grader: Grader, spool: IO[bytes]) -> None:
        self._grader, self._spool = grader, spool
        self._work = _by_document(answers, found)
        self._answers = answers
        missing = (
            RowFault(line=place.line, reason=reason)
            for name, reason in found.missing.items()
            for place in answers.documents[name]
        )
        self._faults = [*answers.faults, *missing]
        self._lock = threading.Lock()
        self._parts: dict[int, _Part] = {}

    def grade(self, corpus: str, judge_model: str, progress: Progress | None = None) -> FileGrades:
        """Grade all answers. The result contains the problems with rows, documents and judges."""

        def done(index: int, found: Sequence[GradedAnswer] | DocumentError) -> None:
            given, places = self._work[index]
            if isinstance(found, DocumentError):
                self._leave_out(given, places, found)
            else:
                self._keep(index, grade_document(given.name, given.title, found))
            if progress is not None:
                progress(len(places), given.file.name)

        grade_all([self._document(*work) for work in self._work], self._grader, done)
        parts = [self._parts[index] for index in sorted(self._parts)]
        failures = [failure for part in parts for failure in part.failures]
        return FileGrades(
            heads=self._heads(parts, corpus, judge_model),
            documents=tuple(part.document for part in parts),
            faults=tuple(sorted(self._faults, key=lambda one: one.line)),
            unjudged=len(failures),
            why_unjudged=next(iter(failures), ""),
            calls=tuple(call for part in parts for call in part.calls),
        )

    def write(self, grades: FileGrades, out: IO[bytes]) -> None:
        """Write the whole report as JSON, with documents in the order of their first rows, and the rows that were left out."""
        head, tail = grades.heads.model_dump_json().split('"documents":[]', 1)
        out.write(head.encode() + b'"documents":[')
        for number, index in enumerate(sorted(self._parts)):
            start, size = self._parts[index].span
            self._spool.seek(start)
            out.write((b",\n" if number else b"\n") + self._spool.read(size))
        out.write(b"\n]" + tail.removesuffix("}").encode())
        out.write(b',"failed_rows":' + _FAULTS.dump_json(grades.faults) + b"}\n")

    def _document(self, given: GivenDocument, places: Sequence[Place]) -> DocumentAnswers:
        def asked() -> list[AnswerToGrade]:
            rows = self._answers.rows(places)
            return [AnswerToGrade(id=row.id, question=row.question, answer=row.answer) for row in rows]

        return DocumentAnswers(given.name, "", given.text, asked, len(places))

    def _leave_out(self, given: GivenDocument, places: Sequence[Place], error: DocumentError) -> None:
        reason = f"the document {given.file.name!r} cannot be read: {error}"
        with self._lock:
            self._faults += [RowFault(line=one.line, reason=reason) for one in places]

    def _keep(self, index: int, grades: DocumentGrades) -> None:
        data = grades.model_dump_json().encode()
        gradings = [one.grading for one in grades.answers]
        with self._lock:
            start = self._spool.seek(0, 2)
            self._spool.write(data)
            self._parts[index] = _Part(
                span=(start, len(data)),
                document=grades.model_copy(update={"answers": ()}),
                highlights=report((grades,), corpus="", method=self._grader.method).ungrounded_highlights,
                confidences=[one.confidence for one in gradings if one.confidence is not None],
                failures=[one.judge_failure for one in gradings if one.judge_failure],
                calls=[call for one in gradings for call in one.calls],
            )

    def _heads(self, parts: Sequence[_Part], corpus: str, judge_model: str) -> GroundingReport:
        grade, confidence = overall(value for part in parts for value in part.confidences)
        return report((), corpus=corpus, method=self._grader.method, judge_model=judge_model).model_copy(
            update={
                "created": datetime.now(UTC).isoformat(timespec="microseconds"),
                "overall_grade": grade,
                "overall_confidence": confidence,
                "grounded": sum(part.document.grounded for part in parts),
                "ungrounded": sum(part.document.ungrounded for part in parts),
                "not_measured": sum(part.document.not_measured for part in parts),
                "decided": together(part.document.decided for part in parts),
                "ungrounded_highlights": tuple(one for part in parts for one in part.highlights),
            }
        )


@dataclass(frozen=True)
class _Part:
    """The part of a finished document that stays in memory. Its answers are in the spool, at `span`."""

    span: tuple[int, int]
    document: DocumentGrades
    highlights: tuple[Highlight, ...]
    confidences: list[float]
    failures: list[str]
    calls: list[CallSummary]


def _by_document(answers: AnswerFile, found: Found) -> list[tuple[GivenDocument, list[Place]]]:
    """Documents with their rows, in the order of their first rows. A document with several names is one document."""
    together: dict[str, tuple[GivenDocument, list[Place]]] = {}
    for name, places in answers.documents.items():
        given = found.documents.get(name)
        if given is not None:
            together.setdefault(given.id, (given, []))[1].extend(places)
    return [(given, sorted(places, key=lambda one: one.line)) for given, places in together.values()]
