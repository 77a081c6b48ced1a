"""Profiles: named bindings of roles to models, read from `profiles/*.yaml`.

A generator may not judge itself: a profile whose validator is its generator is refused on reading.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import Field, model_validator

from qagen_dagster.configuration.yaml_file import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import Budget
from qagen_dagster.models.pricing import has_price
from qagen_dagster.models.registry import why_no_batch
from qagen_dagster.models.vectors.base import EmbedderSpec
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, check_name

SHIPPED = Path(__file__).resolve().parent.parent / "profiles"


class Role(StrEnum):
    """A part that a model plays."""

    GENERATOR = "generator"
    VALIDATOR = "validator"
    DEDUPLICATOR = "deduplicator"
    ANSWERER = "answerer"
    JUDGE = "judge"
    DESIGNER = "designer"
    IMPLEMENTER = "implementer"
    VERIFIER = "verifier"
    STYLE_JUDGE = "style_judge"
    CLASSIFIER = "classifier"
    SCANNER = "scanner"
    TIKZ = "tikz"
    IDEA = "idea"
    ALTERNATE = "alternate"
    VARIANT = "variant"
    CONVERTER = "converter"


QUESTION_ROLES = (Role.GENERATOR, Role.VALIDATOR, Role.DEDUPLICATOR)  # every profile binds them
EXAM_ROLES = (Role.DESIGNER, Role.IMPLEMENTER, Role.VERIFIER, Role.STYLE_JUDGE)
PROBLEM_ROLES = (
    Role.CLASSIFIER,
    Role.SCANNER,
    Role.TIKZ,
    Role.IDEA,
    Role.ALTERNATE,
    Role.VARIANT,
    Role.CONVERTER,
)
_STAND_INS = {
    **dict.fromkeys(PROBLEM_ROLES, (Role.GENERATOR,)),
    Role.DESIGNER: (Role.GENERATOR,),
    Role.IMPLEMENTER: (Role.GENERATOR,),
    Role.VERIFIER: (Role.VALIDATOR,),
    Role.STYLE_JUDGE: (Role.JUDGE, Role.VERIFIER, Role.VALIDATOR),
}
_SPECIALISED = frozenset(
    {"embedded", "scripted"}
)  # their models can do what they are made for, and nothing else


class Profile(Record):
    """Roles bound to models; `visual` overrides roles in visual mode.

    Without an answerer the generator answers too; without a judge answers are graded by what needs no model call.
    `embedder` makes search indexes, by default the one of this process. Items of exams are designed and implemented by the
    generator, verified by the validator and judged by the judge, where their own roles are not bound; all work on physics
    problems is the generator's then.
    """

    description: str = ""
    roles: dict[Role, ModelSpec]
    visual: dict[Role, ModelSpec] = Field(default_factory=dict)
    embedder: EmbedderSpec = Field(default_factory=EmbedderSpec)
    budget: Budget = Field(default_factory=Budget)

    @model_validator(mode="after")
    def _check(self) -> Profile:
        missing = [role.value for role in QUESTION_ROLES if role not in self.roles]
        if missing:
            raise ValueError(f"no model is bound to {', '.join(missing)}")
        for mode in Mode:
            check_distinct(self.spec(Role.GENERATOR, mode), self.spec(Role.VALIDATOR, mode), mode)
            check_judge(self, mode)
        check_examiners(self)
        check_priced(self, self.budget)
        check_execution(self)
        return self

    def exam_spec(self, role: Role) -> ModelSpec | None:
        """The model that plays one of `EXAM_ROLES`: the one bound to it, else its stand-in, which no specialised model can be."""
        return self._own_or_stand_in(role)

    def problem_spec(self, role: Role) -> ModelSpec | None:
        """The model that plays one of `PROBLEM_ROLES`; the stand-in is the generator, if it is no specialised one."""
        return self._own_or_stand_in(role)

    def _own_or_stand_in(self, role: Role) -> ModelSpec | None:
        if role in self.roles:
            return self.roles[role]
        stand_ins = (self.roles.get(one) for one in _STAND_INS[role])
        return next((one for one in stand_ins if one is not None and one.provider not in _SPECIALISED), None)

    def spec(self, role: Role, mode: Mode) -> ModelSpec:
        """The model that plays `role` in `mode`. Raises KeyError when none is bound to it."""
        found = self.find(role, mode)
        if found is None:
            raise KeyError(role.value)
        return found

    def find(self, role: Role, mode: Mode) -> ModelSpec | None:
        """As `spec`; None when no model is bound to the role."""
        override = self.visual.get(role) if mode is Mode.VISUAL else None
        found = override or self.roles.get(role)
        if found is None and role is Role.ANSWERER:
            return self.spec(Role.GENERATOR, mode)
        return found


def check_judge(profile: Profile, mode: Mode) -> None:
    """Raise ValueError when the judge is a model whose answers it would judge."""
    judge = profile.find(Role.JUDGE, mode)
    for role in (Role.GENERATOR, Role.ANSWERER):
        judged = profile.find(role, mode)
        if judge is not None and judged is not None and _same(judge, judged):
            raise ValueError(
                f"{role.value} and judge are the same model ({judge.model}) in {mode.value} mode; "
                "a model may not judge its own answers"
            )


def check_examiners(profile: Profile) -> None:
    """Raise ValueError when the verifier is the model whose questions it would verify."""
    implementer, verifier = profile.exam_spec(Role.IMPLEMENTER), profile.exam_spec(Role.VERIFIER)
    if implementer is not None and verifier is not None and _same(implementer, verifier):
        raise ValueError(
            f"implementer and verifier are the same model ({verifier.model}); a model may not verify its own questions"
        )


def _same(one: ModelSpec, other: ModelSpec) -> bool:
    return one.model.strip().casefold() == other.model.strip().casefold()


def check_distinct(generator: ModelSpec, validator: ModelSpec, mode: Mode) -> None:
    """Raise ValueError when both are one model, whatever the address or the settings."""
    if _same(generator, validator):
        raise ValueError(
            f"generator and validator are the same model ({generator.model}) in {mode.value} mode; "
            "a model may not validate its own questions"
        )


def check_priced(profile: Profile, budget: Budget) -> None:
    """Raise ValueError when `budget` counts money and the price of a model is unknown."""
    if not budget.counts_money:
        return
    specs = [*profile.roles.values(), *profile.visual.values()]
    unknown = sorted({spec.name for spec in specs if not has_price(spec)})
    if not profile.embedder.local and profile.embedder.usd_per_million_input is None:
        raise ValueError(
            f"max_usd needs prices: set usd_per_million_input of embedder {profile.embedder.name}"
        )
    if unknown:
        raise ValueError(
            f"max_usd needs prices: set usd_per_million_input and usd_per_million_output of {', '.join(unknown)}"
        )


def check_execution(profile: Profile) -> None:
    """Raise ValueError when a role asks for batches that its provider does not have, or has no request for them."""
    for role, spec in (*profile.roles.items(), *profile.visual.items()):
        fault = why_no_batch(spec)
        if fault is None and spec.execution == "batch" and role is Role.GENERATOR:
            fault = (
                "it explores over many turns, and a batch answers one (execution: batch is for other roles)"
            )
        if fault is not None:
            raise ValueError(f"{role.value}: {fault}")


def load_profile(name: str, folder: Path | None) -> Profile:
    """Read the profile `name`, from `folder` if it has one, else from the shipped ones.

    Raises ConfigError for an unknown name or a faulty file.
    """
    try:
        check_name(name)
    except ValueError as error:
        raise ConfigError(f"profile {error}") from None
    for place in (folder, SHIPPED):
        if place is not None and (place / f"{name}.yaml").is_file():
            return read_yaml(place / f"{name}.yaml", Profile)
    known = sorted(
        {path.stem for place in (folder, SHIPPED) if place is not None for path in place.glob("*.yaml")}
    )
    raise ConfigError(f"there is no profile {name!r} (there are: {', '.join(known)})")
