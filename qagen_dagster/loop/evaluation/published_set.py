"""What all evaluations of a published set share: its questions, its models and budget, and where its reports are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.spending import BudgetMeter, RunSpending, effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.records.document import Document, IndexEntry
from qagen_dagster.records.evaluation import DocumentEvaluation, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination, fingerprint
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import QAPair, ValidatedSet
from qagen_dagster.store import Store

PUBLISH_HINT = "`qagen run`, or materializing the asset `corpus_json`, makes it"

ReportT = TypeVar("ReportT", bound=EvaluationReport[Any])


@dataclass(frozen=True)
class Evaluation:
    """The published questions of one combination, and the models and the budget for evaluating them."""

    space: Workspace
    combination: Combination
    run: RunMark
    profile_name: str
    profile: Profile
    budget: Budget
    questions: tuple[QAPair, ...]

    @cached_property
    def entries(self) -> Mapping[str, IndexEntry]:
        """The documents of the corpus by id. Raises StoreError when it was never parsed."""
        return {entry.id: entry for entry in self.space.index(self.combination.corpus).documents}

    @cached_property
    def meter(self) -> BudgetMeter | None:
        """The check of the budget before paid calls; None when nothing is limited."""
        if self.budget.unlimited:
            return None
        shared = self.budget.model_copy(update={"document": Allowance()})  # that limit is for questions
        return BudgetMeter(
            shared, RunSpending(self.space.store, self.combination.spending_folder(self.run.launch))
        )

    def metered(self, model: Model) -> Model:
        """The same model with the budget of the run."""
        return model if self.meter is None else metered(model, self.meter)

    def document(self, document_id: str) -> Document | None:
        """The record of a document; None if it was never parsed."""
        return self.space.store.find(Document.key(self.combination.corpus, document_id), Document)

    def text(self, document_id: str) -> str:
        """The parsed text of a document; empty if it has none."""
        return (self.space.store.get(Document.text_key(self.combination.corpus, document_id)) or b"").decode(
            "utf-8"
        )


def open_evaluation(
    space: Workspace,
    combination: Combination,
    run: RunMark,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> Evaluation:
    """Open the published set of a combination for an evaluation. Raises StoreError when nothing is published, and ConfigError."""
    published = space.store.find(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    validated = space.store.find(ValidatedSet.key(combination), ValidatedSet)
    if published is None or validated is None:
        raise StoreError(f"{combination.key} has no published set: {PUBLISH_HINT}")
    known = {one.id for one in published.questions}
    questions = tuple(pair for pair in validated.questions if pair.id in known)
    return replace(
        configured_evaluation(space, combination, profile, run_budget), run=run, questions=questions
    )


def configured_evaluation(
    space: Workspace,
    combination: Combination,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> Evaluation:
    """An evaluation without questions: only its configuration. Raises ConfigError."""
    name = space.profile_name(combination, profile)
    chosen = space.profile(name)
    return Evaluation(
        space=space,
        combination=combination,
        run=RunMark("", ""),
        profile_name=name,
        profile=chosen,
        budget=effective_budget(chosen, run_budget),
        questions=(),
    )


@dataclass(frozen=True)
class DocumentQuestions:
    """The questions of one document, and the store key of their evaluation. The key depends on everything that decides the results."""

    document_id: str
    key: str
    questions: tuple[QAPair, ...]


@dataclass(frozen=True)
class EvaluationPlan:
    """The questions to evaluate, by document."""

    documents: tuple[DocumentQuestions, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint(one.key for one in self.documents)


def plan_evaluation(found: Evaluation, kind: Kind, how: Callable[[str], Sequence[str]]) -> EvaluationPlan:
    """Plan an evaluation of the published questions. `how` names what else the results of a document depend on."""
    by_document: dict[str, list[QAPair]] = {}
    for pair in found.questions:
        by_document.setdefault(pair.document_id, []).append(pair)
    documents: list[DocumentQuestions] = []
    for name, pairs in by_document.items():
        asked = (text for pair in pairs for text in (pair.id, pair.question, pair.answer))
        key = DocumentEvaluation.key(found.combination, kind, name, fingerprint([*how(name), *asked]))
        documents.append(DocumentQuestions(name, key, tuple(pairs)))
    return EvaluationPlan(tuple(documents))


def question_fields(pair: QAPair) -> dict[str, Any]:
    """The fields of an EvaluatedQuestion."""
    return {
        "question_id": pair.id,
        "document_id": pair.document_id,
        "question": pair.question,
        "answer": pair.answer,
    }


def report_fields(found: Evaluation, kind: Kind) -> dict[str, Any]:
    """The fields that every report has."""
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


def store_report(found: Evaluation, report: EvaluationReport[Any]) -> None:
    """Store a report as the latest one and in the history of its run."""
    store, name = found.space.store, report.kind.value
    store.write(found.combination.history_key(report.run_id, f"{name}.json"), report)
    store.write(EvaluationReport.key(found.combination, report.kind), report)


def latest_report(store: Store, kind: type[ReportT], combination: Combination, name: Kind) -> ReportT | None:
    """The latest report; None when there is none, or it is damaged and must be made again."""
    return store.find_valid(EvaluationReport.key(combination, name), kind)


def earlier_reports(store: Store, kind: type[ReportT], combination: Combination, name: Kind) -> list[ReportT]:
    """Every readable report of all runs, newest first."""
    keys = [key for key in store.list(f"history/{combination.key}") if key.endswith(f"/{name.value}.json")]
    found = (report for key in keys if (report := store.find_valid(key, kind)) is not None)
    return sorted(found, key=lambda one: one.created, reverse=True)


def report_version(report: EvaluationReport[Any]) -> str:
    """Changes with the results, not with the run, its time or its cost."""
    return fingerprint(
        [report.fingerprint, *(one.model_dump_json(exclude={"calls"}) for one in report.questions)]
    )
