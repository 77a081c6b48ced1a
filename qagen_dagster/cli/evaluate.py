"""`qagen evaluate`: how published sets fare downstream, on the project's Dagster instance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from qagen_dagster.cli.graph import open_quietly
from qagen_dagster.cli.options import (
    budget_options,
    combination_options,
    json_option,
    mode_of,
    profile_option,
)
from qagen_dagster.cli.progress import Progress
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.evaluation.kinds import is_evaluated, latest_of
from qagen_dagster.loop.evaluation.published_set import PUBLISH_HINT, Evaluation, open_evaluation
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.index.build import is_indexed
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.evaluation import ClosedBookAnswer, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import CorpusGenerationResult
from qagen_dagster.settings import Settings

_COLUMNS = (
    ("leaked", Kind.CLOSED_BOOK, "leaked_share"),
    ("document@5", Kind.RETRIEVAL, "fused_document_recall_at_5"),
    ("evidence@5", Kind.RETRIEVAL, "fused_evidence_recall_at_5"),
    ("exact", Kind.ANSWERS, "exact_match"),
    ("F1", Kind.ANSWERS, "token_f1"),
    ("grounded", Kind.ANSWERS, "grounded_share"),
)


@dataclass(frozen=True)
class Wishes:
    """What the command line asks for beyond the configuration."""

    kinds: tuple[Kind, ...]
    profile: str | None
    budget: Allowance | None
    force: bool

    @property
    def config(self) -> dict[str, Any]:
        """Of the op that makes the index."""
        money = {} if self.budget is None else self.budget.model_dump(exclude_none=True)
        return ({} if self.profile is None else {"profile": self.profile}) | money


@click.command()
@combination_options
@click.option(
    "--only",
    type=click.Choice([kind.value for kind in Kind]),
    multiple=True,
    help="Only this evaluation; may be given more than once.",
)
@click.option("--force", is_flag=True, help="Make reports that are up to date anew, too.")
@budget_options
@profile_option
@json_option
@click.pass_obj
def evaluate(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: str | None,
    only: tuple[str, ...],
    force: bool,
    max_usd: float | None,
    max_tokens: int | None,
    max_calls: int | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Put published sets to the test.

    Are their questions answered without the documents, found by search over the corpus, answered from their
    own document? What was evaluated before is not evaluated again; every report is kept.
    """
    space = Workspace(settings)
    combinations = space.corpora.combinations(corpus, scenario, mode_of(mode))
    published = [one for one in combinations if space.store.exists(CorpusGenerationResult.key(one))]
    if not published:
        raise StoreError(f"nothing that matches is published: {PUBLISH_HINT}")
    wished = Allowance(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
    kinds = tuple(Kind(one) for one in only) or tuple(Kind)
    wishes = Wishes(kinds, profile, None if wished.unlimited else wished, force)
    with Progress(Console(stderr=True), quiet=as_json) as progress:
        failures = _materialize(space, published, wishes, progress)
    _print(space, published, kinds, failures, as_json)
    for failure in failures:
        click.echo(f"qagen: error: {failure}", err=True)
    return 1 if failures else 0


def report(space: Workspace, combination: Combination, kinds: tuple[Kind, ...]) -> dict[str, Any]:
    """What the store has of a combination's evaluations: numbers, whom they are of, where the whole is."""
    told: dict[str, Any] = {"combination": combination.key}
    for kind in kinds:
        found = latest_of(space.store, combination, kind)
        if found is None:
            continue
        key = EvaluationReport.key(combination, kind)
        told[kind.value] = found.model_dump(mode="json", exclude={"questions"}) | {
            "questions": len(found.questions),
            "failed": found.failed,
            "asked_again": found.unheard,
            "report": space.store.path(key),
        }
        if kind is Kind.CLOSED_BOOK:
            guessed = [one for one in found.questions if isinstance(one, ClosedBookAnswer)]
            told[kind.value]["leaked_questions"] = [one.question_id for one in guessed if one.leaked]
    return told


def _materialize(
    space: Workspace, combinations: list[Combination], wishes: Wishes, progress: Progress
) -> list[str]:
    due = {one: _due(_opened(space, one, wishes), wishes) for one in combinations}
    due = {one: kinds for one, kinds in due.items() if kinds}
    if not due:
        progress.note("everything is evaluated already")
        return []
    searched = dict.fromkeys(one.corpus for one, kinds in due.items() if Kind.RETRIEVAL in kinds)
    indexes = [key for key in searched if not is_indexed(space, key)]
    failures: list[str] = []
    with open_quietly(space, progress) as graph:
        progress.begin(len(indexes) + len(due) + 1)
        for key in indexes:
            config = {"ops": {"document_index": {"config": wishes.config}}}
            failures += graph.materialize(f"index {key}", ("document_index",), key, config)
        for one, kinds in due.items():
            failures += graph.evaluate(one, kinds, wishes.profile, wishes.budget)
        failures += graph.catalog()
    return failures


def _opened(space: Workspace, combination: Combination, wishes: Wishes) -> Evaluation:
    return open_evaluation(space, combination, RunMark("", ""), wishes.profile, wishes.budget)


def _due(found: Evaluation, wishes: Wishes) -> tuple[Kind, ...]:
    return tuple(kind for kind in wishes.kinds if wishes.force or not is_evaluated(found, kind))


def _print(
    space: Workspace,
    combinations: list[Combination],
    kinds: tuple[Kind, ...],
    failures: list[str],
    as_json: bool,
) -> None:
    reports = [report(space, one, kinds) for one in combinations]
    if as_json:
        told = {"ok": not failures, "failures": failures, "combinations": reports}
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    table = Table(title="Evaluations", show_lines=True)
    table.add_column("combination", overflow="fold", ratio=1)
    shown = [column for column in _COLUMNS if column[1] in kinds]
    for name, _, _ in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for one in reports:
        table.add_row(one["combination"], *(_cell(one, kind, metric) for _, kind, metric in shown))
    Console().print(table)


def _cell(told: dict[str, Any], kind: Kind, metric: str) -> str:
    value = told.get(kind.value, {}).get("metrics", {}).get(metric)
    return "-" if value is None else f"{value:.3f}"
