from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from qagen_dagster.catalog.source import CatalogSource, DocumentRow, FailureRow, ResultRow, RunRow, VisualRow
from qagen_dagster.records.document import Box, Document, Metadata, Outcome, Visual, VisualType
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.results import (
    CallSummary,
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


@dataclass
class World:
    """A corpus of `size` documents, each with one accepted, one rejected and one repeated question."""

    size: int = 3
    usd: float | None = 0.5
    calls_per_attempt: int = 2
    results: list[ResultRow] = field(default_factory=list[ResultRow])

    def source(self) -> CatalogSource:
        results = [self.result(n) for n in range(self.size)]
        return CatalogSource(
            documents=(DocumentRow(corpus="c", document=document(n)) for n in range(self.size)),
            visuals=(
                VisualRow(corpus="c", document_id=f"d{n}", visual=visual(k))
                for n in range(self.size)
                for k in range(2)
            ),
            results=iter([*results, *self.results]),
            failures=iter(
                [
                    FailureRow(
                        combination=TEXTUAL, document_id="broken", document_version="v",
                        end=DocumentEnd.MODEL_ERROR, detail="refused", run_id="r1", recorded_at=START,
                    )
                ]
            ),
            sets=iter([self.validated(results)]),
            runs=iter([run("r1")]),
        )  # fmt: skip

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
        return ResultRow(combination=TEXTUAL, result=result, run_id=run_id, recorded_at=recorded)

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


def run(run_id: str, minutes: int = 0) -> RunRow:
    return RunRow(
        run_id=run_id, combination=TEXTUAL, partition=TEXTUAL.key, collected=True, profile="embedded", fingerprint="fp",
        models={"generator": "e:gen", "validator": "e:val", "deduplicator": "e:dedup"},
        prompts={"generate": "abc"}, started=START + timedelta(minutes=minutes),
        ended=START + timedelta(minutes=minutes + 1), status="success", target_count=2,
    )  # fmt: skip


@pytest.fixture
def make_world() -> Callable[..., World]:
    return World
