"""A code location of its own: it evaluates a retrieval system on every published set.

It takes the asset `corpus_json` as an input. Its sensor requests a partition when a new version of that set is published.
"""

from typing import Any

import dagster as dg

from examples.downstream_evaluation.bm25 import Bm25, Passage
from qagen_dagster import PublishedSet, combinations, score, score_markdown, upstream

KEYS = dg.StaticPartitionsDefinition(combinations())
MOST = 10  # passages per question


def new_version() -> dg.AutomationCondition[Any]:
    """Request a partition when `corpus_json` has a new data version, or was published and never evaluated."""
    changed = dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed())
    landed = changed.allow(dg.AssetSelection.assets("corpus_json"))
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return (
        (landed | dg.AutomationCondition.missing().newly_true()).since(handled)
        & ~dg.AutomationCondition.any_deps_missing()
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
    ).with_label("new version of the published set")


@dg.asset(partitions_def=KEYS, group_name="downstream", automation_condition=new_version())
def bm25_passages(corpus_json: PublishedSet) -> list[dict[str, Any]]:
    """The passages that the retrieval system finds for each question of a published set."""
    index = Bm25(corpus_json.texts())
    rows: list[dict[str, Any]] = []
    for question in corpus_json:
        passages: list[Passage] = index.search(question.question, MOST)
        rows.append({"id": question.id, "passages": passages})
    return rows


@dg.asset(partitions_def=KEYS, group_name="downstream", automation_condition=new_version())
def bm25_scores(corpus_json: PublishedSet, bm25_passages: list[dict[str, Any]]) -> dg.MaterializeResult[None]:
    """How often the passages have the document and the evidence of the question."""
    report = score(corpus_json, bm25_passages)
    measures = report.systems[0].overall.measures
    return dg.MaterializeResult(
        metadata={
            "version": corpus_json.content_id,
            "questions": len(corpus_json),
            **{name: one.value for name, one in measures.items()},
            "report": dg.MetadataValue.md(score_markdown(report)),
        }
    )


evaluate_new_versions = dg.AutomationConditionSensorDefinition(
    "evaluate_new_versions",
    target=dg.AssetSelection.groups("downstream"),
    description="Evaluate each new version of a published set. It is off until you switch it on.",
)

defs = dg.Definitions.merge(
    upstream(),
    dg.Definitions(
        assets=[bm25_passages, bm25_scores], sensors=[evaluate_new_versions], executor=dg.in_process_executor
    ),
)
