"""`qagen evaluate`: evaluates published sets on the project's Dagster instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from rich import box
from rich.table import Table

from qagen_dagster.cli.graph import open_quietly
from qagen_dagster.cli.options import (
    OneOf,
    asset_config,
    budget_options,
    combination_options,
    json_option,
    profile_option,
)
from qagen_dagster.cli.output import Terminal, fail, print_json, slashed
from qagen_dagster.cli.progress import Progress
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.evaluation.kinds import is_evaluated, latest_of
from qagen_dagster.loop.evaluation.run_questions import PUBLISH_HINT, Evaluation, open_evaluation
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.index.build import is_indexed
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.evaluation import ClosedBookAnswer, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.settings import Settings

_COLUMNS = (
    ("leaked", Kind.CLOSED_BOOK, "leaked_share"),
    ("document\n@5", Kind.RETRIEVAL, "fused_document_recall_at_5"),
    ("untitled\n@5", Kind.RETRIEVAL, "untitled_fused_document_recall_at_5"),
    ("evidence\n@5", Kind.RETRIEVAL, "fused_evidence_recall_at_5"),
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


@click.command()
@combination_options
@click.option(
    "--only",
    type=OneOf(Kind),
    multiple=True,
    help="Only this evaluation. Can be repeated. Default: all three.",
)
@click.option("--force", is_flag=True, help="Also repeat evaluations that are up to date.")
@budget_options
@profile_option
@json_option
@click.pass_obj
def evaluate(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: Mode | None,
    only: tuple[Kind, ...],
    force: bool,
    budget: Allowance | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Evaluate published question sets.

    There are three evaluations. closed_book: can a model answer the questions without the documents? retrieval: does a
    search of the corpus find the document and the evidence? answers: can a model answer from the document? Questions
    that were evaluated before are not evaluated again. Every report is kept.
    """
    space = Workspace(settings)
    combinations = space.corpora.combinations(corpus, scenario, mode)
    published = [one for one in combinations if space.store.exists(CorpusGenerationResult.key(one))]
    if not published:
        raise StoreError(f"no matching set is published: {PUBLISH_HINT}")
    kinds = only or tuple(Kind)
    wishes = Wishes(kinds, profile, budget, force)
    with Progress(Terminal(stderr=True), quiet=as_json) as progress:
        failures = _materialize(space, published, wishes, progress)
    _print(space, published, kinds, failures, as_json)
    return fail(failures)


def report(space: Workspace, combination: Combination, kinds: tuple[Kind, ...]) -> dict[str, Any]:
    """A combination's evaluations in the store: their numbers, and where the whole reports are."""
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
    failures: list[str] = []
    due: dict[Combination, tuple[Kind, ...]] = {}
    for one in combinations:
        try:
            due[one] = _due(_opened(space, one, wishes), wishes)
        except StoreError as error:
            failures.append(f"{one.key}: {error}")
    due = {one: kinds for one, kinds in due.items() if kinds}
    if not due:
        progress.note("nothing can be evaluated" if failures else "everything is up to date")
        return failures
    searched = dict.fromkeys(one.corpus for one, kinds in due.items() if Kind.RETRIEVAL in kinds)
    indexes = [key for key in searched if not is_indexed(space, key)]
    with open_quietly(space, progress) as graph:
        progress.begin(len(indexes) + len(due) + 1)
        for key in indexes:
            config = {"ops": {"document_index": {"config": asset_config(wishes.profile, wishes.budget)}}}
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
        print_json({"ok": not failures, "failures": failures, "combinations": reports})
        return
    shown = [column for column in _COLUMNS if column[1] in kinds]
    table = Table(title="Evaluations", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("combination", overflow="fold")
    for name, _, _ in shown:
        table.add_column(name, justify="right")
    for one in reports:
        table.add_row(slashed(one["combination"]), *(_cell(one, kind, metric) for _, kind, metric in shown))
    Terminal().print(table)


def _cell(told: dict[str, Any], kind: Kind, metric: str) -> str:
    value = told.get(kind.value, {}).get("metrics", {}).get(metric)
    return "-" if value is None else f"{value:.3f}"
