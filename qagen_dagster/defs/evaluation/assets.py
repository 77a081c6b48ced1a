"""Assets that evaluate a published set, and their checks. The job `question_set` does not run them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from qagen_dagster.defs.evaluation import metadata
from qagen_dagster.defs.layout import Dep, Layout
from qagen_dagster.defs.metadata import CheckedResult, Metadata, log_progress, materialized, warning_result
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import ModelConfig, spending_id
from qagen_dagster.loop.evaluation.answer_baseline import measure_answers
from qagen_dagster.loop.evaluation.closed_book import check_closed_book
from qagen_dagster.loop.evaluation.panel import ask_panel
from qagen_dagster.loop.evaluation.relevance_labels import measure_labels
from qagen_dagster.loop.evaluation.retrieval_baseline import measure_retrieval
from qagen_dagster.loop.evaluation.run_questions import Evaluation, Progress, open_evaluation, report_version
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.refresh.products import TABLE, Product
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import EvaluationOptions
from qagen_dagster.records.evaluation import SEARCHING, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination


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
    measure: Callable[[Evaluation, Progress], EvaluationReport[Any]]
    shown: Callable[[Workspace, Any], Metadata]
    check: BoundCheck | None = None  # None: no metric has a bound


STAGES = {
    Kind.CLOSED_BOOK: Stage(
        kinds={MODELS},
        description="Questions answered without their document. A published question that a model answers correctly "
        "in this way counts as leaked.",
        verb="asked",
        measure=check_closed_book,
        shown=metadata.of_closed_book,
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
        shown=metadata.of_retrieval,
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
        shown=metadata.of_answers,
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
        shown=metadata.of_metrics,
    ),
    Kind.PANEL: Stage(
        kinds={MODELS, "duckdb"},
        description="What several answerers answer to each published question: how hard it is, whether its answer is likely to "
        "be wrong, and whether it is leaked.",
        verb="answered",
        measure=ask_panel,
        shown=metadata.of_metrics,
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
        found = open_evaluation(space, combination, run, config.profile, config.limits)
        report = stage.measure(found, log_progress(context, stage.verb))
        options = space.corpus(combination.corpus).scenario(combination.scenario).evaluation
        checks = evaluation_results(options, report)
        return materialized(stage.shown(space, report), report_version(report), checks)

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
