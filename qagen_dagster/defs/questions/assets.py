"""Assets per combination: candidates (ops over shards of documents), the validated set, the published JSON."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from qagen_dagster.defs.automation import follow_upstream, refresh_on_model_change
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.questions import metadata
from qagen_dagster.defs.questions.checks import (
    PUBLISHED_CHECKS,
    VALIDATED_CHECKS,
    published_results,
    validated_results,
)
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.questions.combination import RunOptions, collect, plan, unfinished
from qagen_dagster.loop.questions.publish import publish
from qagen_dagster.loop.questions.run_shard import run_shard
from qagen_dagster.loop.questions.validated_set import results_of, validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.vectors import minilm
from qagen_dagster.records.ids import Combination, fingerprint

GROUP = "questions"
MOST_SHARDS = 32  # more make the run page slow and its chart unreadable


Payload = dict[str, Any]  # what ops hand on: plain JSON, so that any executor can store it


class PlanConfig(SpendingConfig):
    """What this run may wish differently from its configuration; empty means as configured."""

    profile: str | None = None
    target_count: int | None = None
    shard_size: int | None = None

    @property
    def options(self) -> RunOptions:
        return RunOptions(self.profile, self.target_count, self.allowance)


@dg.op(
    out={"shards": dg.DynamicOut(dict), "options": dg.Out(dict)},
    ins={name: dg.In(dg.Nothing) for name in ("parsed_documents", "visual_manifests", "model_config")},
)
def plan_shards(
    context: dg.OpExecutionContext, config: PlanConfig, workspace: WorkspaceResource
) -> Iterator[dg.DynamicOutput[Payload] | dg.Output[Payload]]:
    """Split the documents of the combination; one shard is one op, a shard of one is one document."""
    space = workspace.open()
    planned = plan(space, Combination.from_key(context.partition_key), config.options)
    documents = unfinished(space, planned)
    size = config.shard_size or space.settings.shard_size or _shard_size(len(documents), space)
    total = len(planned.documents)
    context.log.info(
        f"{len(documents)} of {total} documents to do, {size} per op, profile {planned.profile_name}"
    )
    budget = None if config.allowance is None else config.allowance.model_dump()
    shared: Payload = {
        "profile": planned.profile_name,
        "target_count": config.target_count,
        "run_budget": budget,
    }
    for number, start in enumerate(range(0, len(documents), size)):
        shard = documents[start : start + size]
        yield dg.DynamicOutput(shared | {"documents": shard}, f"shard_{number:04d}", output_name="shards")
    yield dg.Output(shared | {"started": datetime.now(UTC).isoformat()}, output_name="options")


@dg.op(out=dg.Out(dict))
def run_documents(context: dg.OpExecutionContext, shard: Payload, workspace: WorkspaceResource) -> Payload:
    """Generate and validate questions on each document of the shard; each is durable when done."""
    space = workspace.open()
    planned = plan(space, Combination.from_key(context.partition_key), _options(shard))
    ids: list[str] = shard["documents"]
    progress = metadata.log_documents(context, len(ids))
    outcome = run_shard(space, planned, ids, context.run_id, progress, spending_id(context.run))
    if outcome.stopped:
        context.log.warning(f"the budget ended: {len(outcome.stopped)} documents go on in the next run")
    if outcome.failed:
        raise dg.Failure(
            f"{len(outcome.failed)} of {len(ids)} documents failed; the others are kept, a rerun tries only these",
            metadata={name: why[:500] for name, why in sorted(outcome.failed.items())[:50]},
        )
    return {"finished": len(outcome.finished)}


@dg.op(out=dg.Out(dg.Nothing))
def collect_candidates(
    context: dg.OpExecutionContext,
    shards: list[Payload],
    options: Payload,
    workspace: WorkspaceResource,
) -> Iterator[dg.Output[None]]:
    """Gather what the documents gave."""
    space = workspace.open()
    planned = plan(space, Combination.from_key(context.partition_key), _options(options))
    now = datetime.now(UTC).isoformat()
    found = collect(space, planned, run_id=context.run_id, started=options["started"], ended=now)
    results = results_of(space, found)
    fresh = sum(shard["finished"] for shard in shards)
    yield dg.Output(
        None,
        metadata=metadata.of_candidates(found, results, len(results) - fresh),
        data_version=dg.DataVersion(fingerprint(str(document.result_key) for document in found.documents)),
    )


def build_question_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """candidate_qa, validated_qa and corpus_json over the combinations."""
    return [_candidate_qa(partitions), _validated_qa(partitions), _corpus_json(partitions)]


def _candidate_qa(partitions: Partitions) -> dg.AssetsDefinition:
    @dg.graph_asset(  # pyright: ignore[reportUnknownMemberType]
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"llm"},
        ins={
            "parsed_documents": _per_corpus("parsed_documents", partitions),
            "visual_manifests": _per_corpus("visual_manifests", partitions),
            "model_config": dg.AssetIn("model_config", dagster_type=dg.Nothing),
        },
        automation_condition=refresh_on_model_change(),
        description="Questions proposed, compared and validated document by document.",
    )
    def candidate_qa(parsed_documents: Any, visual_manifests: Any, model_config: Any) -> Any:
        shards, options = plan_shards(
            parsed_documents=parsed_documents, visual_manifests=visual_manifests, model_config=model_config
        )
        return collect_candidates(shards.map(run_documents).collect(), options)

    return candidate_qa


def _validated_qa(partitions: Partitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"llm"},
        deps=["candidate_qa"],
        automation_condition=follow_upstream(),
        check_specs=VALIDATED_CHECKS,
        description="Accepted questions of the combination without repeats across documents.",
    )
    def validated_qa(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        space, combination = workspace.open(), Combination.from_key(context.partition_key)
        money = spending_id(context.run)
        validated = validate_set(space, combination, minilm.encode, config.allowance, money)
        return dg.MaterializeResult(
            metadata=metadata.of_validated(space, validated),
            check_results=validated_results(space, combination, validated),
            data_version=dg.DataVersion(fingerprint(pair.model_dump_json() for pair in validated.questions)),
        )

    return validated_qa


def _corpus_json(partitions: Partitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"json"},
        deps=["validated_qa"],
        automation_condition=follow_upstream(),
        check_specs=PUBLISHED_CHECKS,
        description="The validated set as the JSON that evaluation jobs read, each quote re-matched.",
    )
    def corpus_json(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        space = workspace.open()
        combination = Combination.from_key(context.partition_key)
        published = publish(space, combination, context.run.run_id)
        return dg.MaterializeResult(
            metadata=metadata.of_published(published),
            check_results=published_results(space, combination, published),
            data_version=dg.DataVersion(fingerprint([published.eval_set.published().model_dump_json()])),
        )

    return corpus_json


def _per_corpus(name: str, partitions: Partitions) -> dg.AssetIn:
    return dg.AssetIn(name, partition_mapping=partitions.fan_out, dagster_type=dg.Nothing)


def _shard_size(documents: int, space: Workspace) -> int:
    """Wide enough that documents of an op run side by side, few enough ops that the run page stays readable."""
    return max(space.settings.document_workers, math.ceil(documents / MOST_SHARDS))


def _options(values: Payload) -> RunOptions:
    budget = values["run_budget"]
    wished = None if budget is None else Allowance.model_validate(budget)
    return RunOptions(values["profile"], values["target_count"], wished)
