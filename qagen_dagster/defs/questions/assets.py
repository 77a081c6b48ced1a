"""Assets of a combination, with checks: candidates (ops over shards of documents), validated set, published set, exports, reviews."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from pydantic import Field

from qagen_dagster.defs.layout import GRADED, Layout
from qagen_dagster.defs.metadata import (
    ROW_COUNT,
    CheckedResult,
    Metadata,
    failing_result,
    markdown_table,
    materialized,
    uri,
    warning_result,
)
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS, PUBLISHED
from qagen_dagster.defs.questions import metadata
from qagen_dagster.defs.questions.downstream import PUBLISHED_SETS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.shards import Payload, ShardConfig, close, sharded_asset, split
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.before_run import why_kept
from qagen_dagster.loop.questions.combination_run import CombinationRun
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions, collect, keep_plan, results_of
from qagen_dagster.loop.questions.publication.exports import (
    FOLDER,
    SetExports,
    chosen_formats,
    exported_formats,
    store_exports,
)
from qagen_dagster.loop.questions.publication.publish import Published, broken_evidence, publish
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.review_decisions import decisions_of, facts_of, review_facts
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.publishing.questions.set_files import agreement_rows
from qagen_dagster.records.decisions import ReviewFacts
from qagen_dagster.records.ids import Combination, content_hash, fingerprint, normalise
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import CandidateSet, QAPair, ValidatedSet
from qagen_dagster.store import Store

_VALIDATED_CHECKS = {
    "no_duplicates": "Fails when two questions have the same words.",
    "validator_differs": "Fails when a question was validated by the model that generated it.",
    "pass_rate": "The share of validated candidates that were accepted. "
    "Warns when it is below `min_pass_rate` of the scenario.",
}
_PUBLISHED_CHECKS = {
    "evidence_in_document": "Fails when a question has no evidence, or a quote is not in its document on the lines that it names."
}
_REVIEW_CHECKS = {
    "unreviewed_share": "The share of questions on which nobody decided. Warns when it is above `max_unreviewed` of the scenario."
}
_LAST_DECISIONS = 20  # maximum number of decisions in the table; the latest are shown


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
        """The work of this run. If another process planned it, `names` are the documents to work on; None: all unfinished documents."""
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
    yield from split(context, space, chosen, run.document_ids, what, least=1, started=run.started)


def run_documents(context: dg.OpExecutionContext, shard: Payload, work: dg.ResourceParam[Work]) -> Payload:
    """Generate and validate questions for each document of the shard. A finished document is kept even if the op fails."""
    ids: list[str] = shard["names"]
    run = PlanConfig(**shard["config"]).run(context, work, ids)
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    context.log.info(f"working on {ids[0]}{more}")
    progress = metadata.log_documents(context, len(ids), shard["before"], shard["total"])
    return close(context.log, run.wait_for(ids, progress), shard["total"], "documents")


def collect_candidates(
    context: dg.OpExecutionContext, shards: list[Payload], options: Payload, work: dg.ResourceParam[Work]
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
        sharded_asset(
            layout,
            "candidate_qa",
            {one.__name__: one for one in (plan_shards, run_documents, collect_candidates)},
            {
                "parsed_documents": partitions.fan_out,
                "visual_manifests": partitions.fan_out,
                "model_config": None,
            },
            partitions_def=partitions.combinations,
            description="Proposed questions, accepted or rejected. Each rejection has a reason. Fails when a model fails on "
            "a document; a rerun works only on the failed documents.",
        ),
        layout.asset(
            validated_qa,
            partitions_def=partitions.combinations,
            kinds={MODELS},
            deps=["candidate_qa"],
            checks=_VALIDATED_CHECKS,
            description="The accepted questions without duplicates. Questions of different documents are compared, and "
            "one of two that ask the same is removed.",
        ),
        layout.asset(
            corpus_json,
            partitions_def=partitions.combinations,
            kinds={PUBLISHED, "json"},
            io_manager_key=layout.name(PUBLISHED_SETS),
            deps=["validated_qa", *([GRADED] if layout.has(GRADED) else [])],
            checks=_PUBLISHED_CHECKS,
            metadata={"dagster/column_schema": metadata.COLUMNS},
            description="The published set: the main result. It has the validated questions as JSON for other programs, and as rows for downstream assets. "
            "Fails when a quote is no longer in its document, and when an empty set would replace questions.",
        ),
        layout.asset(
            exports,
            partitions_def=partitions.combinations,
            kinds={"json"},
            deps=["corpus_json"],
            description="The published set as files of evaluation tools and spreadsheets. Replaces earlier exports. "
            "Fails when a quote is no longer in its document.",
        ),
        layout.asset(
            review_decisions,
            partitions_def=partitions.combinations,
            deps=["corpus_json"],
            checks=_REVIEW_CHECKS,
            description="What reviewers decided about the questions: progress, agreement, the last decisions, and the command that opens the "
            "review page.",
        ),
    ]


def validated_qa(
    context: dg.AssetExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    money, progress = spending_id(context.run), metadata.log_comparisons(context)
    validated = validate_set(space, combination, embedders.encode, config.limits, money, progress)
    checks = validated_results(space, combination, validated)
    return materialized(metadata.of_validated(space, validated), validated.questions, checks)


def corpus_json(
    context: dg.AssetExecutionContext, config: PublishConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    published = publish(space, combination, context.run.run_id, replace=config.replace)
    shown = metadata.of_published(space.store, combination, published)
    return materialized(shown, published.version, published_results(space, combination, published))


def validated_results(
    space: Workspace, combination: Combination, validated: ValidatedSet
) -> list[dg.AssetCheckResult]:
    questions = validated.questions
    words = Counter(normalise(pair.question) for pair in questions)
    duplicates = [pair.id for pair in questions if words[normalise(pair.question)] > 1]
    same = [pair.id for pair in questions if _is_validated_by_generator(pair)]
    count = {"questions": len(questions)}
    return [
        failing_result("no_duplicates", duplicates, count),
        failing_result("validator_differs", same, count),
        _pass_rate(space, combination),
    ]


def published_results(
    space: Workspace, combination: Combination, published: Published
) -> list[dg.AssetCheckResult]:
    questions = published.eval_set.questions
    broken = broken_evidence(space, combination.corpus, questions)
    return [failing_result("evidence_in_document", broken, {"questions": len(questions)})]


def _is_validated_by_generator(pair: QAPair) -> bool:
    models = pair.generation_metadata
    return models.generator_model.casefold() == models.validator_model.casefold()


def _pass_rate(space: Workspace, combination: Combination) -> dg.AssetCheckResult:
    candidates = space.store.read(CandidateSet.key(combination), CandidateSet)
    counts = [(len(result.verdicts), len(result.accepted)) for result in results_of(space, candidates)]
    validated, accepted = (sum(count) for count in zip(*counts, strict=True)) if counts else (0, 0)
    minimum = space.corpus(combination.corpus).scenario(combination.scenario).min_pass_rate
    rate = accepted / validated if validated else None
    numbers = {"validated": validated, "accepted": accepted, "minimum": minimum}
    measured = {} if rate is None else {"pass_rate": round(rate, 4)}
    return warning_result("pass_rate", rate is None or rate >= minimum, numbers | measured)


class ExportConfig(dg.Config):
    """The option of a launch that exports sets."""

    formats: list[str] = Field(
        [], description="The formats to write, by name. Empty: the formats of the last export, or all."
    )


def exports(
    context: dg.AssetExecutionContext, config: ExportConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    formats = chosen_formats(config.formats or exported_formats(space, combination))
    made = store_exports(space, combination, formats)
    files = ((f"{one.format}/{path}", data) for one in made.exports for path, data in one.files.items())
    version = fingerprint(text for path, data in files for text in (path, content_hash(data)))
    return materialized(_of_exports(space.store, combination, made), version)


def _of_exports(store: Store, combination: Combination, made: SetExports) -> Metadata:
    """A row per format, the folder of the exports, and the visuals that could not be rendered."""
    rows = [(one.format, one.questions, len(one.left_out), ", ".join(one.files)) for one in made.exports]
    return {
        ROW_COUNT: max((export.questions for export in made.exports), default=0),
        "formats": markdown_table(("format", "questions", "left out", "files"), rows),
        "folder": CorpusGenerationResult.file_key(combination, FOLDER),
        **uri(store, CorpusGenerationResult.file_key(combination, FOLDER), "questions"),
        "left_out": {one.format: list(one.left_out) for one in made.exports if one.left_out} or "none",
        "no_picture": list(made.no_picture) or "none",
    }


def review_decisions(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    validated = space.store.read(ValidatedSet.key(combination), ValidatedSet)
    ids = [pair.id for pair in validated.questions]
    facts = review_facts(space, combination, validated) or facts_of(ids, {})
    maximum = space.corpus(combination.corpus).scenario(combination.scenario).max_unreviewed
    share = facts.unreviewed / facts.questions if facts.questions else 0.0
    bound = {} if maximum is None else {"maximum": maximum}
    numbers = {"questions": facts.questions, "unreviewed_share": round(share, 4)} | bound
    check = warning_result("unreviewed_share", maximum is None or share <= maximum, numbers)
    return materialized(_review_metadata(space, combination, facts), [facts], [check])


def _review_metadata(space: Workspace, combination: Combination, facts: ReviewFacts) -> Metadata:
    found = [one for some in decisions_of(space, combination.key).values() for one in some]
    last = sorted(found, key=lambda one: (one.time, one.id))[-_LAST_DECISIONS:][::-1]
    shown = [
        (f"{one.time:%Y-%m-%d %H:%M}", one.reviewer, one.action.value, one.question, one.reason)
        for one in last
    ]
    return {
        ROW_COUNT: len(found),
        "reviewed": f"{facts.questions - facts.unreviewed} of {facts.questions}",
        "states": facts.states,
        "reviewers": facts.reviewers or "none",
        "agreement": markdown_table(("of", "agreement"), list(agreement_rows(facts))),
        "disagreed": list(facts.disagreed) or "none",
        "last_decisions": markdown_table(("time", "reviewer", "decision", "question", "reason"), shown),
        **metadata.review_of(combination),
    }
