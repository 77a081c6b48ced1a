"""Assets that evaluate a published set, their checks, and their metadata for the UI. The job `question_set` does not run them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from qagen_dagster.defs.layout import Dep, Layout
from qagen_dagster.defs.metadata import (
    ROW_COUNT,
    CheckedResult,
    Metadata,
    cost,
    log_progress,
    markdown_table,
    materialized,
    stored_file,
    warning_result,
)
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import ModelConfig, spending_id
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.answer_baseline import measure_answers
from qagen_dagster.loop.evaluation.closed_book import check_closed_book
from qagen_dagster.loop.evaluation.panel import ask_panel
from qagen_dagster.loop.evaluation.ranking_measures import CUTS, GAIN_CUT, NAMES, UNTITLED, placed
from qagen_dagster.loop.evaluation.relevance_labels import measure_labels
from qagen_dagster.loop.evaluation.retrieval_baseline import measure_retrieval
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.product_table import TABLE, Product
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records import evaluation
from qagen_dagster.records.corpus_options import EvaluationOptions
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import SEARCHING, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination

MOST_RUNS = 20  # maximum number of runs in the table
SECONDS = 19  # characters of an ISO 8601 time up to its seconds
_LEVELS = ("document", "evidence")
_CLOSED_ENDS = ("leaked", "undecided", "wrong", "unknown")  # in the order of the table


def of_closed_book(space: Workspace, report: evaluation.ClosedBookReport) -> Metadata:
    """The share of leaked questions, and a row for each question that was answered or is undecided, leaked questions first."""
    rows = [
        (
            question.question_id,
            _closed_end(question),
            question.question,
            question.answer,
            question.given,
            question.explanation or question.failure,
        )
        for question in sorted(
            report.questions, key=lambda one: (_CLOSED_ENDS.index(_closed_end(one)), one.question_id)
        )
        if question.leaked is not False or question.given
    ]
    header = ("id", "outcome", "question", "answer", "answer without the document", "explanation")
    metrics = ("leaked_share", "leaked", "undecided")
    return of_metrics(space, report, metrics, {"questions": markdown_table(header, rows)})


def of_retrieval(space: Workspace, report: evaluation.RetrievalReport) -> Metadata:
    """The shares of documents and evidence that search finds, by ranking, and the questions whose document is not ranked first."""
    recall = "fused_document_recall_at_5"
    of_runs = (recall, f"{UNTITLED}{recall}", "fused_evidence_recall_at_5", "fused_document_mrr")
    shown = {name: value for name, value in report.metrics.items() if name.startswith("fused_")}
    shown |= {name: value for name, value in report.metrics.items() if name.endswith("recall_at_5")}
    return {
        ROW_COUNT: len(report.questions),
        "failed": report.failed,
        "embedder": report.model,
        "metrics": _metrics(report.metrics),
        "not_ranked_first": _not_ranked_first(report.questions),
        **_common(space, report, of_runs),
        **shown,
    }


def of_answers(space: Workspace, report: evaluation.AnswerReport) -> Metadata:
    """The scores of answers from the questions' own documents, and the answers, the worst first."""
    rows = [
        (
            question.question_id,
            "" if question.f1 is None else f"{question.f1:.2f}",
            _grounded(question),
            question.question,
            question.answer,
            question.given or question.failure,
        )
        for question in sorted(
            report.questions, key=lambda one: (-1.0 if one.f1 is None else one.f1, one.question_id)
        )
    ]
    header = ("id", "F1", "grounded", "question", "answer", "answer from the document, or failure")
    metrics = ("exact_match", "token_f1", "grounded_share")
    return of_metrics(space, report, metrics, {"questions": markdown_table(header, rows)})


def of_metrics(
    space: Workspace,
    report: evaluation.EvaluationReport[Any],
    of_runs: Sequence[str] = (),
    more: Metadata | None = None,
) -> Metadata:
    """The metrics of a report, then `more`. `of_runs` names the metrics that the table of runs shows; by default the first four."""
    return {
        ROW_COUNT: len(report.questions),
        "failed": report.failed,
        **{name: value for name, value in report.metrics.items() if name != "failed"},
        "profile": report.profile,
        "model": report.model,
        "judge": report.judge_model or "none",
        **(more or {}),
        **_common(space, report, of_runs or tuple(report.metrics)[:4]),
    }


def _common(space: Workspace, report: evaluation.EvaluationReport[Any], metrics: Sequence[str]) -> Metadata:
    """The metadata that every evaluation has: a table of runs, the file of the report, and the cost."""
    runs = run_questions.earlier_reports(space.store, report.combination, report.kind)[:MOST_RUNS]
    rows = [
        (
            run.created[:SECONDS],
            run.run_id[:8],
            run.profile,
            run.model,
            len(run.questions),
            *(_cell(run, name) for name in metrics),
        )
        for run in runs
    ]
    names = (name.replace("_", " ") for name in metrics)  # headers that can wrap
    header = ("time (UTC)", "run", "profile", "model", "questions", *names)
    key = report.combination.history_key(report.run_id, f"{report.kind.value}.json")
    return {
        "asked_again": report.unheard,
        "runs": markdown_table(header, rows),
        "report": stored_file(space.store, key),
        **cost(call for question in report.questions for call in question.calls),
    }


def _cell(report: evaluation.EvaluationReport[Any], name: str) -> str:
    value = report.metrics.get(name)
    return "not measured" if value is None else f"{value:g}"


def _closed_end(one: evaluation.ClosedBookAnswer) -> str:
    if one.leaked is None:
        return "undecided"
    return "leaked" if one.leaked else "wrong" if one.given and one.decided != "unknown" else "unknown"


def _grounded(answer: evaluation.BaselineAnswer) -> str:
    grounded = None if answer.grading is None else answer.grading.is_grounded
    return "" if grounded is None else "yes" if grounded else "no"


def _metrics(metrics: Mapping[str, float]) -> dg.MarkdownMetadataValue:
    measures = (*(f"recall_at_{cut}" for cut in CUTS), "mrr", f"ndcg_at_{GAIN_CUT}")
    asked = [("as published", ""), *([("without the title", UNTITLED)] if "titled_share" in metrics else [])]
    rows = [
        (
            level,
            name,
            form,
            *(_share(metrics.get(f"{prefix}{name}_{level}_{measure}")) for measure in measures),
        )
        for form, prefix in asked
        for level in _LEVELS
        for name in NAMES.values()
    ]
    return markdown_table(("target", "ranking", "question", *measures), rows)


def _not_ranked_first(questions: Iterable[evaluation.RetrievedQuestion]) -> dg.MarkdownMetadataValue:
    """The questions whose document is not ranked first: first those that were not searched, then the others from the worst rank on."""
    found = [(question, placed(question.placements, Ranking.BOTH)) for question in questions]
    late = [(one, place) for one, place in found if place is None or place.document != 1]
    late.sort(key=lambda item: (item[1] is not None, -(item[1].document or 10_000) if item[1] else 0))
    rows = [
        (
            one.question_id,
            one.failure if place is None else place.document or "not found",
            "" if place is None else ", ".join("-" if at is None else str(at) for at in place.evidence),
            one.question,
            one.document_id,
        )
        for one, place in late
    ]
    return markdown_table(("id", "rank of document", "ranks of evidence", "question", "document"), rows)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


@dataclass(frozen=True)
class BoundCheck:
    """A check that a metric is not above its bound if `upper` is True, else not below it. `bound` returns the bound; None: no bound."""

    name: str
    description: str
    metric: str
    bound: Callable[[EvaluationOptions], float | None]
    upper: bool


@dataclass(frozen=True)
class Stage:
    """The work of one kind of evaluation, and its metadata for the UI. The name of its asset is in the table of products."""

    kinds: set[str]  # of the asset, as the UI shows them
    description: str
    verb: str  # the verb of progress lines, such as "asked"
    measure: Callable[[run_questions.Evaluation, run_questions.Progress], EvaluationReport[Any]]
    shown: Callable[[Workspace, Any], Metadata]
    check: BoundCheck | None = None  # None: no metric has a bound


STAGES = {
    Kind.CLOSED_BOOK: Stage(
        kinds={MODELS},
        description="Questions answered without their document. A published question that a model answers correctly "
        "in this way counts as leaked.",
        verb="asked",
        measure=check_closed_book,
        shown=of_closed_book,
        check=BoundCheck(
            "leaked",
            "The share of leaked questions. Warns when it is above `max_leaked` of the scenario.",
            "leaked_share",
            lambda options: options.max_leaked,
            upper=True,
        ),
    ),
    Kind.RETRIEVAL: Stage(
        kinds={MODELS, "duckdb"},
        description="How well search finds the questions. It looks for the document and the evidence of each published "
        "question by BM25, by embeddings, and by both combined (fused).",
        verb="searched",
        measure=measure_retrieval,
        shown=of_retrieval,
        check=BoundCheck(
            "found",
            "The share of questions whose document is among the first five results of fused search. "
            "Warns when it is below `min_recall_at_5` of the scenario.",
            "fused_document_recall_at_5",
            lambda options: options.min_recall_at_5,
            upper=False,
        ),
    ),
    Kind.ANSWERS: Stage(
        kinds={MODELS},
        description="Questions answered from their own document. The answers of a model are measured by exact match, "
        "token F1 and the share of grounded answers.",
        verb="answered",
        measure=measure_answers,
        shown=of_answers,
        check=BoundCheck(
            "answered",
            "The mean token F1 of the answers. Warns when it is below `min_answer_f1` of the scenario.",
            "token_f1",
            lambda options: options.min_answer_f1,
            upper=False,
        ),
    ),
    Kind.LABELS: Stage(
        kinds={MODELS, "duckdb"},
        description="Which passages of the corpus answer each published question: graded by code where code can decide, "
        "else by the judge if the scenario has `judge_labels`.",
        verb="labelled",
        measure=measure_labels,
        shown=of_metrics,
    ),
    Kind.PANEL: Stage(
        kinds={MODELS, "duckdb"},
        description="What several answerers answer to each published question: how hard it is, whether its answer is likely to "
        "be wrong, and whether it is leaked.",
        verb="answered",
        measure=ask_panel,
        shown=of_metrics,
    ),
}


_COMPLETE = "Warns when a question has no result, or a model must be asked again in the next run."


def build_evaluation_assets(layout: Layout, partitions: Partitions) -> list[dg.AssetsDefinition]:
    return [_asset(layout, partitions, kind) for kind in STAGES]


def _asset(layout: Layout, partitions: Partitions, kind: Kind) -> dg.AssetsDefinition:
    stage, row = STAGES[kind], TABLE[Product(kind.value)]
    (name,) = row.assets
    configuration = [] if row.observed is None else [row.observed.name]
    bound = {} if stage.check is None else {stage.check.name: stage.check.description}
    searched: list[Dep] = [("document_index", partitions.fan_out)]

    def evaluation(
        context: dg.AssetExecutionContext, config: ModelConfig, workspace: WorkspaceResource
    ) -> CheckedResult:
        space, combination = workspace.open(), Combination.from_key(context.partition_key)
        run = RunMark(context.run.run_id, spending_id(context.run))
        found = run_questions.open_evaluation(space, combination, run, config.profile, config.limits)
        report = stage.measure(found, log_progress(context, stage.verb))
        options = space.corpus(combination.corpus).scenario(combination.scenario).evaluation
        checks = evaluation_results(options, report)
        return materialized(stage.shown(space, report), run_questions.report_version(report), checks)

    return layout.asset(
        evaluation,
        name=name,
        partitions_def=partitions.combinations,
        kinds=stage.kinds,
        deps=["corpus_json", *configuration, *(searched if kind in SEARCHING else [])],
        checks={**bound, "complete": _COMPLETE},
        description=stage.description,
    )


def evaluation_results(
    options: EvaluationOptions, report: EvaluationReport[Any]
) -> list[dg.AssetCheckResult]:
    """The results of a report's checks. The check of a metric that was not measured passes."""
    counts = {"questions": len(report.questions), "failed": report.failed, "asked_again": report.unheard}
    whole = report.failed == 0 and report.unheard == 0
    check = STAGES[report.kind].check
    bounded = [] if check is None else [_bounded(check, options, report)]
    return [*bounded, warning_result("complete", whole, counts)]


def _bounded(
    check: BoundCheck, options: EvaluationOptions, report: EvaluationReport[Any]
) -> dg.AssetCheckResult:
    bound, value = check.bound(options), report.metrics.get(check.metric)
    good = bound is None or value is None or (value <= bound if check.upper else value >= bound)
    numbers = {} if value is None else {check.metric: value}
    limit = {} if bound is None else {"maximum" if check.upper else "minimum": bound}
    return warning_result(check.name, good, numbers | limit)
