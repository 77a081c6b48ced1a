"""Assets that evaluate a published set, and their checks. `question_set` does not run them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from qagen_dagster.defs.check_results import WARN, CheckedResult, check_specs
from qagen_dagster.defs.evaluation import metadata
from qagen_dagster.defs.metadata import Metadata, log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import ModelConfig, spending_id
from qagen_dagster.loop.evaluation.answer_baseline import measure_answers
from qagen_dagster.loop.evaluation.closed_book import check_closed_book
from qagen_dagster.loop.evaluation.retrieval_baseline import measure_retrieval
from qagen_dagster.loop.evaluation.run_questions import (
    Evaluation,
    Progress,
    open_evaluation,
    report_version,
)
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus import EvaluationOptions
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.ids import Combination


@dataclass(frozen=True)
class Stage:
    """One kind of evaluation: its asset, what it runs and shows, and the check that holds a metric to a bound."""

    asset: str
    kinds: set[str]  # as the UI shows them
    configuration: str  # the observed asset that has its configuration
    description: str
    verb: str  # in progress lines
    measure: Callable[[Evaluation, Progress], EvaluationReport[Any]]
    shown: Callable[[Workspace, Any], Metadata]
    check: str
    checks: str  # the description of the check
    metric: str
    bound: Callable[[EvaluationOptions], float | None]
    upper: bool  # whether the metric may not be above the bound; else not below


STAGES = {
    Kind.CLOSED_BOOK: Stage(
        asset="closed_book_check",
        configuration="closed_book_config",
        kinds={MODELS},
        description="Questions answered without their document. A published question that a model answers correctly "
        "in this way counts as leaked.",
        verb="asked",
        measure=check_closed_book,
        shown=metadata.of_closed_book,
        check="leaked",
        checks="The share of leaked questions. Warns when it is above `max_leaked` of the scenario.",
        metric="leaked_share",
        bound=lambda options: options.max_leaked,
        upper=True,
    ),
    Kind.RETRIEVAL: Stage(
        asset="retrieval_baseline",
        configuration="retrieval_config",
        kinds={MODELS, "duckdb"},
        description="How well search finds the questions. It looks for the document and the evidence of each published "
        "question by BM25, by embeddings, and by both combined (fused).",
        verb="searched",
        measure=measure_retrieval,
        shown=metadata.of_retrieval,
        check="found",
        checks="The share of questions whose document is among the first five results of fused search. "
        "Warns when it is below `min_recall_at_5` of the scenario.",
        metric="fused_document_recall_at_5",
        bound=lambda options: options.min_recall_at_5,
        upper=False,
    ),
    Kind.ANSWERS: Stage(
        asset="answer_baseline",
        configuration="answer_config",
        kinds={MODELS},
        description="Questions answered from their own document. The answers of a model are measured by exact match, "
        "token F1 and the share of grounded answers.",
        verb="answered",
        measure=measure_answers,
        shown=metadata.of_answers,
        check="answered",
        checks="The mean token F1 of the answers. Warns when it is below `min_answer_f1` of the scenario.",
        metric="token_f1",
        bound=lambda options: options.min_answer_f1,
        upper=False,
    ),
}


def build_evaluation_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """closed_book_check, retrieval_baseline and answer_baseline over the combinations."""
    return [_asset(partitions, kind) for kind in STAGES]


def _asset(partitions: Partitions, kind: Kind) -> dg.AssetsDefinition:
    stage = STAGES[kind]
    searched = [dg.AssetDep("document_index", partition_mapping=partitions.fan_out)]
    descriptions = {
        stage.check: stage.checks,
        "complete": "Warns when a question has no result, or a model must be asked again in the next run.",
    }

    @dg.asset(
        name=stage.asset,
        partitions_def=partitions.combinations,
        group_name=Group.EVALUATION,
        kinds=stage.kinds,
        deps=["corpus_json", stage.configuration, *(searched if kind is Kind.RETRIEVAL else [])],
        check_specs=check_specs(stage.asset, descriptions, partitions.combinations),
        description=stage.description,
    )
    def evaluation(
        context: dg.AssetExecutionContext, config: ModelConfig, workspace: WorkspaceResource
    ) -> CheckedResult:
        space, combination = workspace.open(), Combination.from_key(context.partition_key)
        run = RunMark(context.run.run_id, spending_id(context.run))
        found = open_evaluation(space, combination, run, config.profile, config.allowance)
        report = stage.measure(found, log_progress(context, stage.verb))
        options = space.corpus(combination.corpus).scenario(combination.scenario).evaluation
        return dg.MaterializeResult(
            metadata=stage.shown(space, report),
            check_results=evaluation_results(options, report),
            data_version=dg.DataVersion(report_version(report)),
        )

    return evaluation


def evaluation_results(
    options: EvaluationOptions, report: EvaluationReport[Any]
) -> list[dg.AssetCheckResult]:
    """Results of a report's two checks. A metric that was not measured is not out of bounds."""
    stage = STAGES[report.kind]
    bound, value = stage.bound(options), report.metrics.get(stage.metric)
    good = bound is None or value is None or (value <= bound if stage.upper else value >= bound)
    numbers = {} if value is None else {stage.metric: value}
    limit = {} if bound is None else {"maximum" if stage.upper else "minimum": bound}
    counts = {"questions": len(report.questions), "failed": report.failed, "asked_again": report.unheard}
    whole = report.failed == 0 and report.unheard == 0
    return [
        dg.AssetCheckResult(
            check_name=stage.check,
            asset_key=stage.asset,
            passed=good,
            severity=WARN,
            metadata=numbers | limit,
        ),
        dg.AssetCheckResult(
            check_name="complete", asset_key=stage.asset, passed=whole, severity=WARN, metadata=counts
        ),
    ]
