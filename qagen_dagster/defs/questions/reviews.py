"""The asset that shows how much of each published set is reviewed, and its check."""

import dagster as dg

from qagen_dagster.defs.check_results import CheckedResult, warning_result
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import ROW_COUNT, Metadata, markdown_table
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.questions.metadata import review_of
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.loop.review import decisions_of, facts_of, review_facts
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import agreement_rows
from qagen_dagster.records.ids import Combination, fingerprint
from qagen_dagster.records.questions.results import ValidatedSet
from qagen_dagster.records.review import ReviewFacts

CHECKS = {
    "unreviewed_share": "The share of questions on which nobody decided. Warns when it is above `max_unreviewed` of the scenario."
}
_LAST = 20  # maximum number of decisions in the table; the latest are shown


def build_review_decisions(layout: Layout, partitions: Partitions) -> dg.AssetsDefinition:
    return layout.asset(
        review_decisions,
        Group.QUESTIONS,
        partitions_def=partitions.combinations,
        deps=["corpus_json"],
        checks=CHECKS,
        description="What reviewers decided about the questions: progress, agreement, the last decisions, and the command that opens the "
        "review page.",
    )


def review_decisions(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    validated = space.store.read(ValidatedSet.key(combination), ValidatedSet)
    ids = [pair.id for pair in validated.questions]
    facts = review_facts(space, combination, validated) or facts_of(ids, {})
    return dg.MaterializeResult(
        metadata=_metadata(space, combination, facts),
        check_results=[_unreviewed(space, combination, facts)],
        data_version=dg.DataVersion(fingerprint([facts.model_dump_json()])),
    )


def _metadata(space: Workspace, combination: Combination, facts: ReviewFacts) -> Metadata:
    found = [one for some in decisions_of(space, combination.key).values() for one in some]
    last = sorted(found, key=lambda one: (one.time, one.id))[-_LAST:][::-1]
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
        **review_of(combination),
    }


def _unreviewed(space: Workspace, combination: Combination, facts: ReviewFacts) -> dg.AssetCheckResult:
    maximum = space.corpus(combination.corpus).scenario(combination.scenario).max_unreviewed
    share = facts.unreviewed / facts.questions if facts.questions else 0.0
    bound = {} if maximum is None else {"maximum": maximum}
    numbers = {"questions": facts.questions, "unreviewed_share": round(share, 4)}
    return warning_result("unreviewed_share", maximum is None or share <= maximum, numbers | bound)
