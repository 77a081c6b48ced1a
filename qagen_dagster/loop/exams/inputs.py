"""The work on one slot as a value: its part, its models, its instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from qagen_dagster.agents.exams.rendering import ExamContext
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.state_machine import ItemLimits
from qagen_dagster.loop.shared_budget import metered
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.records.exams.item import ExamPart, QuestionPackage
from qagen_dagster.records.exams.proof import Examination

Examiner = Callable[[QuestionPackage], Examination]


@dataclass(frozen=True)
class ExamModels:
    """The models of one part."""

    designer: Model
    implementer: Model
    verifier: Model
    style_judge: Model

    def metered(self, meter: Meter) -> ExamModels:
        """The same models, whose calls `meter` checks and records."""
        return replace(
            self,
            designer=metered(self.designer, meter),
            implementer=metered(self.implementer, meter),
            verifier=metered(self.verifier, meter),
            style_judge=metered(self.style_judge, meter),
        )

    @property
    def names(self) -> dict[str, str]:
        """`provider:model` by role."""
        return {
            Role.DESIGNER.value: self.designer.spec.name,
            Role.IMPLEMENTER.value: self.implementer.spec.name,
            Role.VERIFIER.value: self.verifier.spec.name,
            Role.STYLE_JUDGE.value: self.style_judge.spec.name,
        }


@dataclass(frozen=True)
class ItemWork:
    """One slot, with everything that decides its result."""

    part: ExamPart
    slot: int  # counts from 1
    context: ExamContext
    limits: ItemLimits
    models: ExamModels
    examine: Examiner = code_checks.examine
