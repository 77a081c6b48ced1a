"""Finds for each kind of evaluation its configuration and its latest report, and decides whether the report is up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.configuration import NONE, Configuration, differences, model_settings
from qagen_dagster.loop.evaluation.answer_baseline import answer_models, how_answered, plan_answers
from qagen_dagster.loop.evaluation.closed_book import closed_book_models, how_asked, plan_closed_book
from qagen_dagster.loop.evaluation.labels import how_labelled, label_judge, plan_labels
from qagen_dagster.loop.evaluation.panel import how_answered_by_panel, panel_models, plan_panel
from qagen_dagster.loop.evaluation.retrieval_baseline import VERSION, retrieval_fingerprint
from qagen_dagster.loop.evaluation.run_questions import (
    Evaluation,
    configured_evaluation,
    latest_report,
    open_evaluation,
)
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.index.build import index_version
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.records.evaluation import REPORTS, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination, fingerprint
from qagen_dagster.store import Store

_FINGERPRINTS: dict[Kind, Callable[[Evaluation], str]] = {
    Kind.CLOSED_BOOK: lambda found: plan_closed_book(found).fingerprint,
    Kind.RETRIEVAL: retrieval_fingerprint,
    Kind.ANSWERS: lambda found: plan_answers(found).fingerprint,
    Kind.LABELS: lambda found: plan_labels(found).fingerprint,
    Kind.PANEL: lambda found: plan_panel(found).fingerprint,
}


def latest_of(store: Store, combination: Combination, kind: Kind) -> EvaluationReport[Any] | None:
    """The latest report of a kind; None if there is none that can be read."""
    return latest_report(store, REPORTS[kind], combination, kind)


def is_evaluated(found: Evaluation, kind: Kind) -> bool:
    """Whether another evaluation would change nothing, and need not ask any question again. Raises ConfigError."""
    try:
        before = latest_of(found.space.store, found.combination, kind)
        return before is not None and not before.unheard and before.fingerprint == _FINGERPRINTS[kind](found)
    except StoreError:  # there is no index
        return False


def wanted_evaluation(
    space: Workspace, combination: Combination, kind: Kind, profile: str | None = None
) -> Configuration:
    """The configuration with which a run would evaluate the published set. Raises ConfigError."""
    found = configured_evaluation(space, combination, profile)
    index = index_version(space, combination.corpus, profile)
    embedder = space.profile(profile or space.settings.profile).embedder.name
    if kind is Kind.RETRIEVAL:
        return Configuration(fingerprint([VERSION, index]), {"embedder": embedder})
    if kind is Kind.LABELS:
        judge = label_judge(found)
        parts = {"embedder": embedder, Role.JUDGE.value: NONE if judge is None else judge.name}
        return Configuration(fingerprint([*how_labelled(found), index]), parts)
    if kind is Kind.PANEL:
        readers, judge = panel_models(found)
        parts = _parts(", ".join(readers), judge and judge.name)
        return Configuration(fingerprint([*how_answered_by_panel(found), index]), parts)
    if kind is Kind.CLOSED_BOOK:
        answerer, judge = closed_book_models(found)
        how = how_asked(found)
    else:
        answerer, judge = answer_models(found)
        how = (*how_answered(found), index)
    specs: dict[Role, ModelSpec] = {Role.ANSWERER: answerer} | ({} if judge is None else {Role.JUDGE: judge})
    return Configuration(fingerprint(how), _parts(answerer.name, judge and judge.name), model_settings(specs))


def made_evaluation(
    space: Workspace, combination: Combination, kind: Kind, wanted: Configuration
) -> Configuration | None:
    """The configuration of the stored report; None if there is none."""
    report = latest_of(space.store, combination, kind)
    if report is None:
        return None
    current = not why_unevaluated(space, combination, kind)
    return Configuration(wanted.version if current else report.fingerprint, _made_with(report))


def why_unevaluated(
    space: Workspace, combination: Combination, kind: Kind, profile: str | None = None
) -> tuple[str, ...]:
    """The reasons why an existing evaluation is out of date, in one line each. Raises ConfigError."""
    report = latest_of(space.store, combination, kind)
    if report is None:
        return ()
    try:
        current = is_evaluated(open_evaluation(space, combination, RunMark("", ""), profile), kind)
    except StoreError:  # nothing is published any more
        return ()
    if current:
        return ()
    found = differences(_made_with(report), wanted_evaluation(space, combination, kind, profile).parts)
    if not found and report.unheard:
        return (f"{report.unheard} questions could not be asked",)
    return found or ("the published questions, their documents or the settings of its models changed",)


def _made_with(report: EvaluationReport[Any]) -> dict[str, str]:
    if report.kind is Kind.RETRIEVAL:
        return {"embedder": report.model}
    if report.kind is Kind.LABELS:
        return {"embedder": report.model, Role.JUDGE.value: report.judge_model or NONE}
    return _parts(report.model, report.judge_model)


def _parts(answerer: str, judge: str | None) -> dict[str, str]:
    return {Role.ANSWERER.value: answerer, Role.JUDGE.value: judge or NONE}
