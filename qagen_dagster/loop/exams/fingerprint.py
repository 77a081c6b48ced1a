"""The fingerprint of everything that the result of an exam slot depends on: models, prompts, configuration."""

from __future__ import annotations

import json

from qagen_dagster.agents.exams import designer, implementer, style_judge, verifier
from qagen_dagster.configuration.exams.loading import Exam
from qagen_dagster.configuration.profiles import EXAM_ROLES, Profile, Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.records.exams.item import ExamPart
from qagen_dagster.records.ids import fingerprint

EXAM_VERSION = "2"  # increase when the same responses would give another result


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
