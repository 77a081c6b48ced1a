"""The work on one slot as a value: its part, its models, its instructions; and the fingerprint of its results."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from qagen_dagster.agents.exams import designer, implementer, style_judge, verifier
from qagen_dagster.agents.exams.rendering import ExamContext
from qagen_dagster.configuration.exams.loading import Exam
from qagen_dagster.configuration.profiles import EXAM_ROLES, Profile, Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.states import ItemLimits
from qagen_dagster.loop.spending import metered
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.budget import Meter
from qagen_dagster.records.exams.item import ExamPart, QuestionPackage
from qagen_dagster.records.exams.proof import Examination
from qagen_dagster.records.ids import fingerprint

EXAM_VERSION = "2"  # increase when the same responses would give another result
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


def exam_specs(profile: Profile, name: str) -> dict[Role, ModelSpec]:
    """The model of every role. Raises ConfigError, which names the roles without one."""
    found = {role: profile.exam_spec(role) for role in EXAM_ROLES}
    missing = [role.value for role, spec in found.items() if spec is None]
    if missing:
        raise ConfigError(f"profile {name} binds no model to {', '.join(missing)}")
    return {role: spec for role, spec in found.items() if spec is not None}


def exam_prompt_hashes() -> dict[str, str]:
    """The hashes of the prompts of all four roles, by name."""
    prompts = (
        designer.prompt(),
        implementer.prompt(),
        implementer.retry_prompt(),
        verifier.solve_prompt(),
        verifier.verify_prompt(),
        style_judge.prompt(),
    )
    return {prompt.name: prompt.hash for prompt in prompts}


def part_fingerprint(specs: dict[Role, ModelSpec], exam: Exam, part: ExamPart, seed: int) -> str:
    """What the journal of a slot depends on. Limits and thresholds are left out, so a run with others resumes the same journal."""
    config = exam.config
    models = {role.value: spec.identity() for role, spec in specs.items()}
    return fingerprint(
        [
            EXAM_VERSION,
            json.dumps(models, sort_keys=True),
            json.dumps(exam_prompt_hashes(), sort_keys=True),
            config.name,
            config.candidate_profile,
            json.dumps(config.style_notes),
            config.difficulties[part.difficulty].meaning,
            exam.schema(part.schema_id).text,
            str(seed),
        ]
    )
