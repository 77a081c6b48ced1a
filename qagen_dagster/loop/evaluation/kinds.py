"""Finds for each kind of evaluation its configuration and its latest report, and decides whether the report is up to date."""

from collections.abc import Callable
from typing import Any

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.configuration import NONE, Configuration, differences, model_settings
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.answer_baseline import answers_setup, plan_answers
from qagen_dagster.loop.evaluation.closed_book import closed_book_setup, plan_closed_book
from qagen_dagster.loop.evaluation.panel import panel_setup, plan_panel
from qagen_dagster.loop.evaluation.relevance_labels import labels_setup, plan_labels
from qagen_dagster.loop.evaluation.retrieval_baseline import retrieval_fingerprint, retrieval_setup
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.index import index_version
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.ids import Combination, fingerprint

# For each kind: the fingerprint that a report of the present questions would have, and its setup.
_KINDS: dict[
    Kind,
    tuple[
        Callable[[run_questions.Evaluation], str], Callable[[run_questions.Evaluation], run_questions.Setup]
    ],
] = {
    Kind.CLOSED_BOOK: (lambda found: plan_closed_book(found).fingerprint, closed_book_setup),
    Kind.RETRIEVAL: (retrieval_fingerprint, retrieval_setup),
    Kind.ANSWERS: (lambda found: plan_answers(found).fingerprint, answers_setup),
    Kind.LABELS: (lambda found: plan_labels(found).fingerprint, labels_setup),
    Kind.PANEL: (lambda found: plan_panel(found).fingerprint, panel_setup),
}


def is_evaluated(found: run_questions.Evaluation, kind: Kind) -> bool:
    """Whether another evaluation would change nothing and need not ask any question. Raises ConfigError."""
    try:
        before = run_questions.latest_report(found.space.store, found.combination, kind)
        return before is not None and not before.unheard and before.fingerprint == _KINDS[kind][0](found)
    except StoreError:  # there is no index
        return False


def wanted_evaluation(
    space: Workspace, combination: Combination, kind: Kind, profile: str | None = None
) -> Configuration:
    """The configuration with which a run would evaluate the published set. Raises ConfigError."""
    setup = _KINDS[kind][1](run_questions.configured_evaluation(space, combination, profile))
    index = index_version(space, combination.corpus, profile)
    embedder = space.profile(profile or space.settings.profile).embedder.name
    how = setup.how if kind is Kind.CLOSED_BOOK else (*setup.how, index)
    parts = _parts(kind, setup.model or embedder, setup.judge_name)
    return Configuration(fingerprint(how), parts, model_settings(setup.specs))


def made_evaluation(
    space: Workspace, combination: Combination, kind: Kind, wanted: Configuration
) -> Configuration | None:
    """The configuration of the stored report; None if there is no report. A report that is up to date has the version of `wanted`."""
    report = run_questions.latest_report(space.store, combination, kind)
    if report is None:
        return None
    current = not why_unevaluated(space, combination, kind)
    return Configuration(wanted.version if current else report.fingerprint, _made_with(report))


def why_unevaluated(
    space: Workspace, combination: Combination, kind: Kind, profile: str | None = None
) -> tuple[str, ...]:
    """The reasons why the latest report is out of date, in one line each. Empty if it is up to date, if there is no report, and if nothing
    is published. Raises ConfigError."""
    report = run_questions.latest_report(space.store, combination, kind)
    if report is None:
        return ()
    try:
        current = is_evaluated(
            run_questions.open_evaluation(space, combination, RunMark("", ""), profile), kind
        )
    except StoreError:  # nothing is published any more
        return ()
    if current:
        return ()
    found = differences(_made_with(report), wanted_evaluation(space, combination, kind, profile).parts)
    if not found and report.unheard:
        return (f"{report.unheard} questions could not be asked",)
    return found or ("the questions, documents, settings, prompts, index or program version changed",)


def _made_with(report: EvaluationReport[Any]) -> dict[str, str]:
    return _parts(report.kind, report.model, report.judge_model)


def _parts(kind: Kind, model: str, judge: str) -> dict[str, str]:
    """The parts of a configuration by name. Every kind except RETRIEVAL has the judge as a part."""
    searched = kind in (Kind.RETRIEVAL, Kind.LABELS)
    judged = {} if kind is Kind.RETRIEVAL else {Role.JUDGE.value: judge or NONE}
    return {"embedder" if searched else Role.ANSWERER.value: model} | judged
