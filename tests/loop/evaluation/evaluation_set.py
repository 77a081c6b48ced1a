"""A small published set, and a workspace whose models are those of a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from qagen_dagster.loop.evaluation.run_questions import Evaluation, open_evaluation
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.ids import Mode, question_id
from qagen_dagster.records.questions.results import (
    CandidateSet,
    Evidence,
    GenerationMetadata,
    QAPair,
    ValidatedSet,
)
from tests.loop.conftest import COMBINATION

RUN = RunMark("run-1", "launch-1")
FACTS = {  # question: answer, line of the manual, quote
    "How often must the probe be calibrated?": ("every 90 days", 4, "Calibrate the probe every 90 days."),
    "How long is the cable?": ("12 m", 7, "Its cable is 12 m long and must not be shortened."),
    "Who built the probe?": ("Ida Holm", 6, "The probe was first built in 1998 by Ida Holm."),
}


@dataclass(frozen=True)
class ExaminedWorkspace(Workspace):
    """A workspace with a model for each name in its profiles."""

    players: dict[str, Model] = field(default_factory=dict[str, Model])

    def model(self, spec: ModelSpec) -> Model:
        return self.players[spec.model]


def pair(document: str, question: str, answer: str, *evidence: Evidence) -> QAPair:
    return QAPair(
        id=question_id(COMBINATION, document, question, answer),
        question=question,
        answer=answer,
        source_document=f"documents/{document}",
        document_id=document,
        category=Mode.TEXTUAL,
        content_refs=(),
        evidence=evidence,
        generation_metadata=GenerationMetadata(
            generator_model="scripted:writer", validator_model="scripted:reader", attempt_number=2
        ),
    )


def facts(document: str, count: int = 3) -> list[QAPair]:
    return [
        pair(document, question, answer, Evidence(quote=quote, start_line=line, end_line=line))
        for question, (answer, line, quote) in list(FACTS.items())[:count]
    ]


def put_published(space: Workspace, pairs: Sequence[QAPair]) -> None:
    """Validate and publish `pairs` as they are."""
    candidates = CandidateSet(
        corpus=COMBINATION.corpus,
        scenario=COMBINATION.scenario,
        mode=COMBINATION.mode,
        run_id="run-0",
        profile="mine",
        models={},
        prompts={},
        fingerprint="f",
        configuration="c",
        target_count=2,
        started="2024-01-01",
        ended="2024-01-02",
    )
    space.store.write(CandidateSet.key(COMBINATION), candidates)
    validated = ValidatedSet(
        corpus=COMBINATION.corpus,
        scenario=COMBINATION.scenario,
        mode=COMBINATION.mode,
        fingerprint="f",
        run_id="run-0",
        questions=tuple(pairs),
        removed=(),
    )
    space.store.write(ValidatedSet.key(COMBINATION), validated)
    publish(space, COMBINATION, "run-0")


def examined(space: Workspace, **players: Model) -> ExaminedWorkspace:
    return ExaminedWorkspace(space.settings, players)


def opened(space: Workspace, run: RunMark = RUN, budget: Allowance | None = None) -> Evaluation:
    return open_evaluation(space, COMBINATION, run, None, budget)
