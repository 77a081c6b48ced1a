"""A published set of four questions about two documents, for tests of scores."""

from __future__ import annotations

from pathlib import Path

from qagen_dagster.loop.questions.publication.published_set import PublishedSet
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.no_answer import NoAnswer
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


def mixed_set(root: Path, answerable: int, without: int) -> PublishedSet:
    """A set of questions with and without an answer: q-1, q-2, ... have answers, x-1, x-2, ... have none."""
    first = _question("q-2")
    having = [
        first.model_copy(update={"id": f"q-{at}", "answer": f"{at} m", "document_id": f"{at}.txt"})
        for at in range(1, answerable + 1)
    ]
    why = NoAnswer(kind=NoAnswerKind.UNANSWERABLE, reason="It is missing.", documents=2)
    lacking = {"answer": "The documents do not give the length.", "answerable": False, "no_answer": why}
    lacking |= {"question_type": "unanswerable"}
    rest = [
        first.model_copy(update={"id": f"x-{at}", "document_id": f"x{at}.txt", **lacking})
        for at in range(1, without + 1)
    ]
    questions = (*having, *rest)
    return PublishedSet(KEY, content_id(questions), "2026-01-01T00:00:00+00:00", questions, Store(root))


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
