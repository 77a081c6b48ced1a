"""Assets per combination: candidates (ops over shards of documents), the validated set, the published JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from qagen_dagster.defs.check_results import CheckedResult
from qagen_dagster.defs.layout import GRADED, Layout
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS, PUBLISHED
from qagen_dagster.defs.questions import checks, metadata
from qagen_dagster.defs.questions.downstream import PUBLISHED_SETS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.shards import Payload, ShardConfig, close, sharded_asset, split
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.before_run import why_kept
from qagen_dagster.loop.questions.combination_run import CombinationRun
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions, collect, keep_plan
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.questions.validated_set import results_of, validate_set
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.models import embedders
from qagen_dagster.records.ids import Combination, fingerprint


class PublishConfig(dg.Config):
    """The option of a launch that publishes a set."""

    replace: bool = Field(False, description="Let an empty set replace the published questions.")


class PlanConfig(ShardConfig, RunOptions):
    """The settings that a launch may override. Fields that are not set keep their configured value."""

    target_count: int | None = Field(
        0, description="Questions per document. 0: as the scenario says.", validate_default=True
    )
    num_documents: int | None = Field(
        0, ge=0, description="Only the first documents, for a trial. 0: all.", validate_default=True
    )
    replace: bool = Field(
        False,
        description="Replace a published set that models behind a server made, or a set of more documents.",
    )

    def run(
        self, context: dg.OpExecutionContext, work: Work, names: Sequence[str] | None = None
    ) -> CombinationRun:
        """The work of this run. If it was planned in another process, the work on the documents `names` only."""
        combination = Combination.from_key(context.partition_key)
        return work.questions(combination, self, context.run_id, spending_id(context.run), names)


def plan_shards(
    context: dg.OpExecutionContext, config: PlanConfig, work: dg.ResourceParam[Work]
) -> Iterator[dg.DynamicOutput[Payload] | dg.Output[Payload]]:
    """Split the unfinished documents of the combination into shards; one op works on each shard."""
    space, run = work.space, config.run(context, work)
    planned = run.planned
    kept = None if config.replace else why_kept(space, planned.combination, config)
    if kept is not None:
        raise ConfigError(kept)
    keep_plan(space, planned, context.run_id, datetime.now(UTC).isoformat())
    settled = {"profile": planned.profile_name, "target_count": planned.limits.target_count}
    chosen = config.model_copy(update=settled)
    what = f"of {len(planned.documents)} documents"
    yield from split(context, space, chosen, run.names, what, least=1, started=run.started)


def run_documents(context: dg.OpExecutionContext, shard: Payload, work: dg.ResourceParam[Work]) -> Payload:
    """Generate and validate questions for each document of the shard. A finished document is kept even if the op fails."""
    ids: list[str] = shard["names"]
    run = PlanConfig(**shard["config"]).run(context, work, ids)
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    context.log.info(f"working on {ids[0]}{more}")
    progress = metadata.log_documents(context, len(ids), shard["before"], shard["total"])
    return close(context.log, run.wait_for(ids, progress), shard["total"], "documents")


def collect_candidates(
    context: dg.OpExecutionContext,
    shards: list[Payload],
    options: Payload,
    work: dg.ResourceParam[Work],
) -> Iterator[dg.Output[None]]:
    """Collect the results of all documents into the candidate set."""
    space, planned = work.space, PlanConfig(**options["config"]).run(context, work, ()).planned
    now = datetime.now(UTC).isoformat()
    found = collect(space, planned, run_id=context.run_id, started=options["started"], ended=now)
    fresh = sum(shard["finished"] for shard in shards)
    yield dg.Output(
        None,
        metadata=metadata.of_candidates(space, found, results_of(space, found), fresh),
        data_version=dg.DataVersion(fingerprint(str(document.result_key) for document in found.documents)),
    )


def build_question_assets(layout: Layout, partitions: Partitions) -> list[dg.AssetsDefinition]:
    return [
        _candidate_qa(layout, partitions),
        layout.asset(
            validated_qa,
            Group.QUESTIONS,
            partitions_def=partitions.combinations,
            kinds={MODELS},
            deps=["candidate_qa"],
            checks=checks.VALIDATED_CHECKS,
            description="The accepted questions without duplicates. Questions of different documents are compared, and "
            "one of two that ask the same is removed.",
        ),
        layout.asset(
            corpus_json,
            Group.QUESTIONS,
            partitions_def=partitions.combinations,
            kinds={PUBLISHED, "json"},
            io_manager_key=layout.name(PUBLISHED_SETS),
            deps=["validated_qa", *([GRADED] if layout.has(GRADED) else [])],
            checks=checks.PUBLISHED_CHECKS,
            metadata={"dagster/column_schema": metadata.COLUMNS},
            description="The published set: the main result. It has the validated questions as JSON for other programs, and as rows for downstream assets. "
            "Fails when a quote is no longer in its document, and when an empty set would replace questions.",
        ),
    ]


def _candidate_qa(layout: Layout, partitions: Partitions) -> dg.AssetsDefinition:
    ops = (plan_shards, run_documents, collect_candidates)
    return sharded_asset(
        layout,
        "candidate_qa",
        Group.QUESTIONS,
        {one.__name__: one for one in ops},
        {
            "parsed_documents": partitions.fan_out,
            "visual_manifests": partitions.fan_out,
            "model_config": None,
        },
        partitions_def=partitions.combinations,
        description="Proposed questions, accepted or rejected. Each rejection has a reason. Fails when a model fails on "
        "a document; a rerun works only on the failed documents.",
    )


def validated_qa(
    context: dg.AssetExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    money, progress = spending_id(context.run), metadata.log_comparisons(context)
    validated = validate_set(space, combination, embedders.encode, config.allowance, money, progress)
    return dg.MaterializeResult(
        metadata=metadata.of_validated(space, validated),
        check_results=checks.validated_results(space, combination, validated),
        data_version=dg.DataVersion(fingerprint(pair.model_dump_json() for pair in validated.questions)),
    )


def corpus_json(
    context: dg.AssetExecutionContext, config: PublishConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    published = publish(space, combination, context.run.run_id, replace=config.replace)
    return dg.MaterializeResult(
        metadata=metadata.of_published(space.store, combination, published),
        check_results=checks.published_results(space, combination, published),
        data_version=dg.DataVersion(published.version),
    )
