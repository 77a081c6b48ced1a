"""One document by the batch strategy, worked in a test with played models."""

from __future__ import annotations

import uuid
from dataclasses import replace

from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.stopping import BatchLimits
from qagen_dagster.records.corpus_options import BatchOptions, QuestionType
from qagen_dagster.records.grading import Method
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import GenerationResult
from qagen_dagster.store import Store
from tests.support.batches.play import BatchPlay
from tests.support.documents import context_of, view_of

COMBINATION = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
KEY = "journals/j.json"
MIX = {QuestionType.MULTI_HOP: 3, QuestionType.CAUSAL: 2}


def limits_of(
    mix: dict[QuestionType, int], *, failures: int = 50, attempts: int = 50, **options: object
) -> BatchLimits:
    chosen = {"mix": mix, "min_question_confidence": 0.0, "answer_regenerations": 1} | options
    return BatchLimits(
        target_count=sum(mix.values()),
        max_consecutive_failures=failures,
        max_attempts=attempts,
        options=BatchOptions.model_validate(chosen),
        method=Method.HYBRID,
    )


def run(
    play: BatchPlay,
    store: Store | None = None,
    limits: BatchLimits | None = None,
    text: str | None = None,
    *,
    closed_book: bool = False,
) -> GenerationResult:
    context = context_of() if text is None else context_of(view_of(text))
    scenario = context.scenario.model_copy(update={"closed_book": closed_book})
    context = replace(context, scenario=scenario)
    work = DocumentWork(COMBINATION, context, limits or limits_of(MIX), fingerprint="f" * 16)
    return run_document(work, play.models, DocumentJournal(store or fresh(), KEY, "w"))


def fresh() -> Store:
    return Store(f"memory://{uuid.uuid4().hex}")
