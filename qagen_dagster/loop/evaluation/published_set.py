"""A published set put to the test, question by question: what every evaluation shares.

What belongs here: which questions, by whose models and money, where results lie. What does not: the order of work
(`work.py`), and what a question is put to (`closed_book.py`, `retrieval_baseline.py`, `answer_baseline.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.spending import DocumentToll, SpendingBook, charged, effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.records.document import Document, IndexEntry
from qagen_dagster.records.evaluation import DocumentEvaluation, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination, fingerprint
from qagen_dagster.records.questions.results import CorpusGenerationResult, QAPair, ValidatedSet
from qagen_dagster.store import Store

PUBLISH_HINT = "`qagen run`, or materializing the asset `corpus_json`, makes it"

ReportT = TypeVar("ReportT", bound=EvaluationReport[Any])


@dataclass(frozen=True)
class Evaluation:
    """One combination, its published questions, and by whose models and money they are evaluated."""

    space: Workspace
    combination: Combination
    run: RunMark
    profile_name: str
    profile: Profile
    budget: Budget
    questions: tuple[QAPair, ...]

    @cached_property
    def entries(self) -> Mapping[str, IndexEntry]:
        """The corpus' documents by id. Raises StoreError when it was never parsed."""
        return {entry.id: entry for entry in self.space.index(self.combination.corpus).documents}

    @cached_property
    def toll(self) -> DocumentToll | None:
        """Who lets calls be paid; None where nothing is limited."""
        if self.budget.unlimited:
            return None
        shared = self.budget.model_copy(update={"document": Allowance()})  # that one is for making questions
        book = SpendingBook(self.space.store, self.combination.spending_folder(self.run.launch))
        return DocumentToll(shared, book)

    def charged(self, model: Model) -> Model:
        """The same model, held to the budget of the run."""
        return model if self.toll is None else charged(model, self.toll)

    def text(self, document_id: str) -> str:
        """The parsed text of a document, empty where it has none."""
        key = Document.text_key(self.combination.corpus, document_id)
        return (self.space.store.get(key) or b"").decode("utf-8")


def open_evaluation(
    space: Workspace,
    combination: Combination,
    run: RunMark,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> Evaluation:
    """What an evaluation of the published set begins with. Raises StoreError when nothing is published, and ConfigError."""
    published = space.store.find(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    validated = space.store.find(ValidatedSet.key(combination), ValidatedSet)
    if published is None or validated is None:
        raise StoreError(f"{combination.key} has no published set: {PUBLISH_HINT}")
    known = {one.id for one in published.questions}
    name = space.profile_name(combination, profile)
    chosen = space.profile(name)
    return Evaluation(
        space=space,
        combination=combination,
        run=run,
        profile_name=name,
        profile=chosen,
        budget=effective_budget(chosen, run_budget),
        questions=tuple(pair for pair in validated.questions if pair.id in known),
    )


@dataclass(frozen=True)
class Piece:
    """The questions of one document, and where their evaluation is kept: the key names all that decides it."""

    document_id: str
    key: str
    questions: tuple[QAPair, ...]


@dataclass(frozen=True)
class Pieces:
    """What is to be evaluated, document by document."""

    pieces: tuple[Piece, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint(one.key for one in self.pieces)


def pieces_of(found: Evaluation, kind: Kind, how: Callable[[str], Sequence[str]]) -> Pieces:
    """The published questions by document; `how` names what else decides the results of a document's questions."""
    by_document: dict[str, list[QAPair]] = {}
    for pair in found.questions:
        by_document.setdefault(pair.document_id, []).append(pair)
    pieces: list[Piece] = []
    for name, pairs in by_document.items():
        asked = (text for pair in pairs for text in (pair.id, pair.question, pair.answer))
        key = DocumentEvaluation.key(found.combination, kind, name, fingerprint([*how(name), *asked]))
        pieces.append(Piece(name, key, tuple(pairs)))
    return Pieces(tuple(pieces))


def given(pair: QAPair) -> dict[str, Any]:
    """The fields of an EvaluatedQuestion."""
    return {
        "question_id": pair.id,
        "document_id": pair.document_id,
        "question": pair.question,
        "answer": pair.answer,
    }


def head(found: Evaluation, kind: Kind) -> dict[str, Any]:
    """What every report says of itself."""
    return {
        "kind": kind,
        "corpus": found.combination.corpus,
        "scenario": found.combination.scenario,
        "mode": found.combination.mode,
        "run_id": found.run.run_id,
        "launch": found.run.launch,
        "created": datetime.now(UTC).isoformat(timespec="microseconds"),
        "profile": found.profile_name,
    }


def keep(found: Evaluation, report: EvaluationReport[Any]) -> None:
    """Store a report as the latest one, and for good under its run."""
    store = found.space.store
    store.write(found.combination.history_key(report.run_id, f"{report.kind.value}.json"), report)
    store.write(EvaluationReport.key(found.combination, report.kind), report)


def latest(store: Store, kind: type[ReportT], combination: Combination, name: Kind) -> ReportT | None:
    """The latest report; None when there is none, or it is damaged: it is made again then."""
    return store.find_valid(EvaluationReport.key(combination, name), kind)


def earlier(store: Store, kind: type[ReportT], combination: Combination, name: Kind) -> list[ReportT]:
    """Every report that a run made and that can be read, the newest first."""
    keys = [key for key in store.list(f"history/{combination.key}") if key.endswith(f"/{name.value}.json")]
    found = (report for key in keys if (report := store.find_valid(key, kind)) is not None)
    return sorted(found, key=lambda one: one.created, reverse=True)


def report_version(report: EvaluationReport[Any]) -> str:
    """Changes with the results, not with the run that made them, its time or what it paid."""
    return fingerprint(
        [report.fingerprint, *(one.model_dump_json(exclude={"calls"}) for one in report.questions)]
    )
