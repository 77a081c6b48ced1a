"""A published set of four questions about two documents, for tests of scores."""

from __future__ import annotations

from pathlib import Path

from qagen_dagster.loop.questions.publication.published_set import PublishedSet
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.published import PublishedQuestion, content_id
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata
from qagen_dagster.store import Store

KEY = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
ASKED = {  # id: document, type, answer, lines of its quotes
    "q-1": ("a.txt", "factual", "every 90 days", [(4, 4)]),
    "q-2": ("a.txt", "factual", "12 m", [(7, 8)]),
    "q-3": ("b.txt", "multi_hop", "Ida Holm", [(3, 3), (9, 12)]),
    "q-4": ("b.txt", "multi_hop", "a drop in the conductivity of the water", [(20, 20)]),
}


def published_set(root: Path) -> PublishedSet:
    questions = tuple(_question(name) for name in ASKED)
    return PublishedSet(KEY, content_id(questions), "2026-01-01T00:00:00+00:00", questions, Store(root))


def _question(name: str) -> PublishedQuestion:
    document, kind, answer, lines = ASKED[name]
    return PublishedQuestion(
        id=name,
        question=f"What is asked in {name}?",
        answer=answer,
        source_document=f"documents/{document}",
        document_id=document,
        category=Mode.TEXTUAL,
        content_refs=(),
        generation_metadata=GenerationMetadata(
            generator_model="writer", validator_model="reader", attempt_number=2
        ),
        evidence=tuple(Evidence(quote="...", start_line=start, end_line=end) for start, end in lines),
        mode=Mode.TEXTUAL,
        question_type=kind,
        hops=len(lines),
    )
