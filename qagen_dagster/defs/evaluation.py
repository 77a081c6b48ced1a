"""Assets that put a published set to the test, and their checks. No run of questions makes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from qagen_dagster.defs import evaluation_metadata
from qagen_dagster.defs.automation import keep_once_made
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.answer_baseline import measure_answers
from qagen_dagster.loop.closed_book import check_closed_book
from qagen_dagster.loop.evaluation import Evaluation, open_evaluation, report_version
from qagen_dagster.loop.grounding_report import RunMark
from qagen_dagster.loop.retrieval_baseline import measure_retrieval
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import minilm
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


def build_evaluation_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """closed_book_check, retrieval_baseline and answer_baseline over the combinations."""
    return [_closed_book_check(partitions), _retrieval_baseline(partitions), _answer_baseline(partitions)]


def _closed_book_check(partitions: Partitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"llm"},
        deps=["corpus_json"],
        automation_condition=keep_once_made(),
        check_specs=_specs(Kind.CLOSED_BOOK),
        description="Each published question answered without its document: a right answer marks it leaked.",
    )
    def closed_book_check(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        found = _open(context, config, workspace)
        report = check_closed_book(found, log_progress(context, "asked"))
        return _result(found, report, evaluation_metadata.of_closed_book(found.space, report))

    return closed_book_check


def _retrieval_baseline(partitions: Partitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"parquet"},
        deps=["corpus_json", dg.AssetDep("document_index", partition_mapping=partitions.fan_out)],
        automation_condition=keep_once_made(),
        check_specs=_specs(Kind.RETRIEVAL),
        description="How well BM25, embeddings and both together find each question's document and evidence.",
    )
    def retrieval_baseline(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        found = _open(context, config, workspace)
        report = measure_retrieval(found, log_progress(context, "searched"))
        return _result(found, report, evaluation_metadata.of_retrieval(found.space, report))

    return retrieval_baseline


def _answer_baseline(partitions: Partitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"llm"},
        deps=["corpus_json"],
        automation_condition=keep_once_made(),
        check_specs=_specs(Kind.ANSWERS),
        description="Each published question answered from its own document: exact match, token F1, grounded share.",
    )
    def answer_baseline(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        found = _open(context, config, workspace)
        report = measure_answers(found, minilm.encode, log_progress(context, "answered"))
        return _result(found, report, evaluation_metadata.of_answers(found.space, report))

    return answer_baseline


def _open(
    context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
) -> Evaluation:
    space: Workspace = workspace.open()
    run = RunMark(context.run.run_id, spending_id(context.run))
    combination = Combination.from_key(context.partition_key)
    return open_evaluation(space, combination, run, config.profile, config.allowance)


def _result(
    found: Evaluation, report: EvaluationReport[Any], shown: evaluation_metadata.Metadata
) -> dg.MaterializeResult[Any]:
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
