"""What evaluations found about a published set: labels of passages, questions to leave out, and figures for the card."""

from collections.abc import Iterator
from typing import Any

from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.evaluation import REPORTS, EvaluationReport, Kind, Label
from qagen_dagster.records.ids import Combination
from qagen_dagster.store import Store


def _reports(store: Store, combination: Combination, *kinds: Kind) -> Iterator[EvaluationReport[Any]]:
    """The latest reports of these kinds that exist and can be read."""
    found = (store.find_valid(EvaluationReport.key(combination, kind), REPORTS[kind]) for kind in kinds)
    return (one for one in found if one is not None)


def labels_of(store: Store, combination: Combination) -> dict[str, tuple[Label, ...]]:
    """The latest labels by question id; empty if there are none."""
    found = _reports(store, combination, Kind.LABELS)
    return {one.question_id: one.labels for report in found for one in report.questions}


def dropped(space: Workspace, combination: Combination) -> frozenset[str]:
    """The ids of the questions that the scenario does not publish, because an evaluation found them faulty.

    They are evaluated all the same, so that a verdict can change.
    """
    drop = space.corpus(combination.corpus).scenario(combination.scenario).publish.drop
    found = _reports(space.store, combination, Kind.PANEL, Kind.CLOSED_BOOK) if drop else ()
    asked = (question for report in found for question in report.questions)
    return frozenset(one.question_id for one in asked if any(getattr(one, why.value, None) for why in drop))


def evaluated_metrics(store: Store, combination: Combination) -> dict[str, float]:
    """The metrics that the card shows: those of the labels and of the panel."""
    found = _reports(store, combination, Kind.LABELS, Kind.PANEL)
    return {f"{one.kind.value}: {name}": value for one in found for name, value in one.metrics.items()}
