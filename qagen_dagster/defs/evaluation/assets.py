"""Assets that put a published set to the test, and their checks. No run of questions makes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from qagen_dagster.defs.automation import keep_once_made
from qagen_dagster.defs.evaluation import metadata
from qagen_dagster.defs.evaluation.metadata import Metadata
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.evaluation.answer_baseline import measure_answers
from qagen_dagster.loop.evaluation.closed_book import check_closed_book
from qagen_dagster.loop.evaluation.published_set import Evaluation, open_evaluation, report_version
from qagen_dagster.loop.evaluation.retrieval_baseline import measure_retrieval
from qagen_dagster.loop.evaluation.run_questions import Progress
from qagen_dagster.loop.grading.report import RunMark
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.vectors import minilm
from qagen_dagster.records.corpus import EvaluationOptions
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.ids import Combination

GROUP = "evaluation"


@dataclass(frozen=True)
class Bound:
    """The check of one kind of evaluation: a metric and what it may be."""

    asset: str
    check: str
    metric: str
    of: Callable[[EvaluationOptions], float | None]
    upper: bool  # whether the metric may not be above the bound; else not below


BOUNDS = {
    Kind.CLOSED_BOOK: Bound(
        "closed_book_check", "leaked", "leaked_share", lambda options: options.max_leaked, upper=True
    ),
    Kind.RETRIEVAL: Bound(
        "retrieval_baseline",
        "found",
        "fused_document_recall_at_5",
        lambda options: options.min_recall_at_5,
        upper=False,
    ),
    Kind.ANSWERS: Bound(
        "answer_baseline", "answered", "token_f1", lambda options: options.min_answer_f1, upper=False
    ),
}
_WARN = dg.AssetCheckSeverity.WARN


class EvaluationConfig(SpendingConfig):
    """What this run may wish differently from its configuration; empty means as configured."""

    profile: str | None = None


@dataclass(frozen=True)
class _Stage:
    """What one kind of evaluation does, and how its asset is shown."""

    kind: Kind
    store: str  # what the UI says it is made with
    description: str
    verb: str  # of its progress
    work: Callable[[Evaluation, Progress], tuple[EvaluationReport[Any], Metadata]]


def _closed_book(found: Evaluation, progress: Progress) -> tuple[EvaluationReport[Any], Metadata]:
    report = check_closed_book(found, progress)
    return report, metadata.of_closed_book(found.space, report)


def _retrieval(found: Evaluation, progress: Progress) -> tuple[EvaluationReport[Any], Metadata]:
    report = measure_retrieval(found, progress)
    return report, metadata.of_retrieval(found.space, report)


def _answers(found: Evaluation, progress: Progress) -> tuple[EvaluationReport[Any], Metadata]:
    report = measure_answers(found, minilm.encode, progress)
    return report, metadata.of_answers(found.space, report)


_STAGES = (
    _Stage(
        Kind.CLOSED_BOOK,
        "llm",
        "Each published question answered without its document: a right answer marks it leaked.",
        "asked",
        _closed_book,
    ),
    _Stage(
        Kind.RETRIEVAL,
        "parquet",
        "How well BM25, embeddings and both together find each question's document and evidence.",
        "searched",
        _retrieval,
    ),
    _Stage(
        Kind.ANSWERS,
        "llm",
        "Each published question answered from its own document: exact match, token F1, grounded share.",
        "answered",
        _answers,
    ),
)


def build_evaluation_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """closed_book_check, retrieval_baseline and answer_baseline over the combinations."""
    return [_asset(partitions, stage) for stage in _STAGES]


def _asset(partitions: Partitions, stage: _Stage) -> dg.AssetsDefinition:
    searched = [dg.AssetDep("document_index", partition_mapping=partitions.fan_out)]

    @dg.asset(
        name=BOUNDS[stage.kind].asset,
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={stage.store},
        deps=["corpus_json", *(searched if stage.kind is Kind.RETRIEVAL else [])],
        automation_condition=keep_once_made(),
        check_specs=_specs(stage.kind),
        description=stage.description,
    )
    def evaluation(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        found = _open(context, config, workspace)
        report, shown = stage.work(found, log_progress(context, stage.verb))
        return _result(found, report, shown)

    return evaluation


def _open(
    context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
) -> Evaluation:
    space: Workspace = workspace.open()
    run = RunMark(context.run.run_id, spending_id(context.run))
    combination = Combination.from_key(context.partition_key)
    return open_evaluation(space, combination, run, config.profile, config.allowance)


def _result(found: Evaluation, report: EvaluationReport[Any], shown: Metadata) -> dg.MaterializeResult[Any]:
    corpus = found.space.corpus(found.combination.corpus)
    options = corpus.scenario(found.combination.scenario).evaluation
    return dg.MaterializeResult(
        metadata=shown,
        check_results=evaluation_results(options, report),
        data_version=dg.DataVersion(report_version(report)),
    )


def _specs(kind: Kind) -> list[dg.AssetCheckSpec]:
    one = BOUNDS[kind]
    side = "above" if one.upper else "below"
    return [
        dg.AssetCheckSpec(
            one.check, asset=one.asset, description=f"{one.metric}; warns {side} the scenario's bound."
        ),
        dg.AssetCheckSpec(
            "complete", asset=one.asset, description="Every question has a result; warns if not."
        ),
    ]


def evaluation_results(
    options: EvaluationOptions, report: EvaluationReport[Any]
) -> list[dg.AssetCheckResult]:
    """Results of a report's two checks. What was not measured cannot be out of bounds."""
    one = BOUNDS[report.kind]
    bound, value = one.of(options), report.metrics.get(one.metric)
    good = bound is None or value is None or (value <= bound if one.upper else value >= bound)
    numbers = {} if value is None else {one.metric: value}
    wanted = {} if bound is None else {"bound": bound}
    counts = {"questions": len(report.questions), "failed": report.failed, "asked_again": report.unheard}
    whole = report.failed == 0 and report.unheard == 0
    return [
        dg.AssetCheckResult(
            check_name=one.check, asset_key=one.asset, passed=good, severity=_WARN, metadata=numbers | wanted
        ),
        dg.AssetCheckResult(
            check_name="complete", asset_key=one.asset, passed=whole, severity=_WARN, metadata=counts
        ),
    ]
