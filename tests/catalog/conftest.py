from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qagen_dagster.catalog import rows
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import Box, Document, Metadata, Outcome, Visual, VisualType
from qagen_dagster.records.evaluation import EvaluationReport
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.results import (
    CallSummary,
    CandidateDocument,
    DocumentEnd,
    Evidence,
    GenerationMetadata,
    GenerationResult,
    GenerationStats,
    QAPair,
    RejectedQA,
    RejectionReason,
    ValidatedSet,
    VerdictRecord,
)

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXTUAL = Combination(corpus="c", scenario="s", mode=Mode.TEXTUAL)


class ResultRow(Record):
    combination: Combination
    result: GenerationResult
    recorded_at: datetime


@dataclass
class Source:
    """What a catalog is built from: the rows of some records."""

    documents: Iterable[Document] = ()
    results: Iterable[ResultRow] = ()
    failures: Iterable[CandidateDocument] = ()
    sets: Iterable[ValidatedSet] = ()
    reports: Iterable[GroundingReport] = ()
    evaluated: Iterable[EvaluationReport[Any]] = ()
    evaluations: Iterable[EvaluationReport[Any]] = ()
    runs: Iterable[rows.TableRow] = ()

    def __iter__(self) -> Iterator[rows.TableRow]:
        for one in self.documents:
            yield from rows.document_rows("c", one)
            yield from rows.visual_rows("c", one.id, map(visual, range(2)))
        number = 0
        for number, row in enumerate(self.results, 1):
            yield from rows.result_rows(number, row.combination, row.result, row.recorded_at.isoformat())
        for failed in self.failures:
            yield rows.failure_row(number + 1, TEXTUAL, failed, "r1", START.isoformat())
        for validated in self.sets:
            yield from rows.validated_rows(validated)
        for report in self.reports:
            yield from rows.grade_rows(report)
        yield from self.runs
        yield from rows.evaluation_rows(self.evaluations, self.evaluated)


@dataclass
class World:
    """A corpus of `size` documents, each with one accepted, one rejected and one repeated question."""

    size: int = 3
    usd: float | None = 0.5
    calls_per_attempt: int = 2
    results: list[ResultRow] = field(default_factory=list[ResultRow])

    def source(self) -> Source:
        results = [self.result(n) for n in range(self.size)]
        failed = CandidateDocument(
            document_id="broken",
            document_version="v",
            result_key=None,
            end=DocumentEnd.MODEL_ERROR,
            end_detail="refused",
        )
        return Source(
            documents=map(document, range(self.size)),
            results=iter([*results, *self.results]),
            failures=iter([failed]),
            sets=iter([self.validated(results)]),
            runs=iter([run("r1")]),
        )

    def result(
        self,
        n: int,
        *,
        run_id: str = "r1",
        later: int = 0,
        key: str = "k",
        end: DocumentEnd = DocumentEnd.TARGET_REACHED,
    ) -> ResultRow:
        name = f"d{n}"
        unique, repeated = pair(name, f"What is {n}?", 1), pair(name, "What is common?", 3)
        rejected = RejectedQA(
            question="Why?", answer="so", rejection_reason=RejectionReason.TRIVIAL,
            rejection_detail="trivial", document_id=name, attempt_number=2,
        )  # fmt: skip
        calls = tuple(
            call(name, attempt, f"{key}-{n}-{attempt}-{i}", self.usd)
            for attempt in (1, 2, 3)
            for i in range(self.calls_per_attempt)
        )
        result = GenerationResult(
            accepted=(unique, repeated),
            rejected=(rejected,),
            stats=GenerationStats(
                document_path=f"{name}.txt", mode=Mode.TEXTUAL, target_count=2, accepted_count=2,
                rejected_count=1, total_attempts=3, validation_pass_rate=0.6667, dedup_rejection_rate=None,
                exhausted=False, rejection_reasons={"trivial": 1},
            ),
            document_id=name,
            document_version=document(n).version,
            fingerprint="fp",
            run_id=run_id,
            end=end,
            verdicts=tuple(
                verdict(attempt, question, passed)
                for attempt, question, passed in (
                    (1, unique.question, True), (2, "Why?", False), (3, repeated.question, True),
                )
            ),
            calls=calls,
        )  # fmt: skip
        recorded = START + timedelta(seconds=n + later)
        return ResultRow(combination=TEXTUAL, result=result, recorded_at=recorded)

    def validated(self, results: list[ResultRow]) -> ValidatedSet:
        kept: list[QAPair] = []
        removed: list[RejectedQA] = []
        for row in results:
            unique, repeated = row.result.accepted
            kept.append(unique)
            if row.result.document_id == "d0":
                kept.append(repeated)
                continue
            removed.append(
                RejectedQA(
                    question=repeated.question, answer=repeated.answer,
                    rejection_reason=RejectionReason.DUPLICATE, rejection_detail="same",
                    duplicate_of="What is common?", document_id=row.result.document_id, attempt_number=3,
                )
            )  # fmt: skip
        calls = tuple(
            call(r.result.document_id, 3, f"set-{r.result.document_id}", self.usd, "deduplicator")
            for r in results[1:]
        )
        return ValidatedSet(
            corpus="c", scenario="s", mode=Mode.TEXTUAL, fingerprint="fp", run_id="r1",
            questions=tuple(kept), removed=tuple(removed), calls=calls,
        )  # fmt: skip


def document(n: int) -> Document:
    return Document(
        id=f"d{n}", source=f"d{n}.txt", format="text", outcome=Outcome.PARSED, source_sha256=f"{n:064d}",
        text_sha256="t", parser="text-1", bytes=10, line_count=5, char_count=9,
        metadata=Metadata(title=f"Title {n}", authors=("A", "B")),
    )  # fmt: skip


def visual(k: int) -> Visual:
    return Visual(
        label=f"Table {k}",
        type=VisualType.TABLE,
        page=1,
        box=Box(x0=0, y0=0, x1=1, y1=float("inf")) if k else None,
    )


def pair(name: str, text: str, attempt: int) -> QAPair:
    return QAPair(
        id=question_id(TEXTUAL, name, text, "42"), question=text, answer="42", source_document=f"{name}.txt",
        document_id=name, category=Mode.TEXTUAL, content_refs=("Table 1",),
        evidence=(Evidence(quote='it is "42" \u00fc\u2028\x00', start_line=3, end_line=3),),
        generation_metadata=GenerationMetadata(
            generator_model="e:gen", validator_model="e:val", attempt_number=attempt
        ),
    )  # fmt: skip


def verdict(attempt: int, text: str, passed: bool) -> VerdictRecord:
    return VerdictRecord(
        attempt=attempt, question=text, proposed_answer="42", blind_answer="42!", answerable=True,
        matches=True, non_trivial=passed, unambiguous=True, relevant=True, explanation="because",
    )  # fmt: skip


def call(name: str, attempt: int, key: str, usd: float | None, role: str = "generator") -> CallSummary:
    return CallSummary(
        request_key=key, role=role, model=f"e:{role}", document_id=name, attempt=attempt, input_tokens=100,
        output_tokens=10, usd=usd, seconds=0.5,
    )  # fmt: skip


def run(run_id: str, minutes: int = 0) -> rows.TableRow:
    return "runs", rows.combination_row(TEXTUAL) | {
        "run_id": run_id, "partition": TEXTUAL.key, "collected": True, "profile": "embedded", "fingerprint": "fp",
        "models": {"generator": "e:gen", "validator": "e:val", "deduplicator": "e:dedup"},
        "prompts": {"generate": "abc"}, "started": rows.utc(START + timedelta(minutes=minutes)),
        "ended": rows.utc(START + timedelta(minutes=minutes + 1)), "status": "success", "target_count": 2,
    }  # fmt: skip


@pytest.fixture
def make_world() -> Callable[..., World]:
    return World
