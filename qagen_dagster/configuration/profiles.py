"""Profiles, which bind roles to models. They are read from `profiles/*.yaml`.

A model must not check its own work: for example, a profile whose generator and validator are the same model is rejected.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from pydantic import Field, model_validator

from qagen_dagster.configuration.yaml_files import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.models.budget import Budget
from qagen_dagster.models.call_cost import FREE_PROVIDERS, has_price
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.models.providers import why_no_batch
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, Name, check_name
from qagen_dagster.settings import is_local

SHIPPED = Path(__file__).resolve().parent.parent / "profiles"


class Role(StrEnum):
    """A task for which a profile names a model."""

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
    SOLVER = "solver"


QUESTION_ROLES = (Role.GENERATOR, Role.VALIDATOR, Role.DEDUPLICATOR)  # required in every profile
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
_FALLBACKS = {
    **dict.fromkeys(PROBLEM_ROLES, (Role.GENERATOR,)),
    Role.DESIGNER: (Role.GENERATOR,),
    Role.IMPLEMENTER: (Role.GENERATOR,),
    Role.VERIFIER: (Role.VALIDATOR,),
    Role.STYLE_JUDGE: (Role.JUDGE, Role.VERIFIER, Role.VALIDATOR),
}
_SPECIALISED = frozenset({"embedded", "scripted"})  # providers whose models can play only one role each


class Profile(Record):
    """Roles with their models. In visual mode, `visual` overrides `roles`.

    Without an answerer, the generator answers. Without a judge, answers are graded without model calls. `embedder` makes search indexes;
    the default embedder runs in this process. Unbound roles for exams and problems use models of other roles, see `spec_or_fallback`.
    Without a solver, no problem is solved again. `writers` are further generators by name; scenarios give shares to these names.
    """

    description: str = ""
    roles: dict[Role, ModelSpec]
    visual: dict[Role, ModelSpec] = Field(default_factory=dict)
    writers: dict[Name, ModelSpec] = Field(default_factory=dict)
    embedder: EmbedderSpec = Field(default_factory=EmbedderSpec)
    budget: Budget = Field(default_factory=Budget)

    @model_validator(mode="after")
    def _check(self) -> "Profile":
        missing = [role.value for role in QUESTION_ROLES if role not in self.roles]
        if missing:
            raise ValueError(f"no model is bound to {', '.join(missing)}")
        for mode in Mode:
            for writer in (self.spec(Role.GENERATOR, mode), *self.writers.values()):
                validator, where = self.spec(Role.VALIDATOR, mode), f" in {mode.value} mode"
                check_distinct(
                    writer, validator, "generator and validator", where, "validate its own questions"
                )
            check_judge(self, mode)
        check_examiners(self)
        check_priced(self, self.budget)
        check_execution(self)
        return self

    @property
    def every_spec(self) -> tuple[ModelSpec, ...]:
        """The models of all roles and writers."""
        return (*self.roles.values(), *self.visual.values(), *self.writers.values())

    def writing(self, shares: Mapping[str, float] | None, mode: Mode) -> dict[str, tuple[ModelSpec, float]]:
        """The models that write questions, with their `shares`, by name; empty without shares. Raises ConfigError for an unknown writer."""
        known = {Role.GENERATOR.value: self.spec(Role.GENERATOR, mode), **self.writers}
        if missing := sorted({*(shares or ())} - {*known}):
            raise ConfigError(f"the profile has no writer {missing[0]} (it has {', '.join(known)})")
        return {name: (known[name], share) for name, share in (shares or {}).items()}

    def spec_or_fallback(self, role: Role) -> ModelSpec | None:
        """The model for one of EXAM_ROLES or PROBLEM_ROLES. If the role is not bound, the model of the first bound role in
        `_FALLBACKS`; models of specialised providers are skipped. None if no model is found."""
        if role in self.roles:
            return self.roles[role]
        fallbacks = (self.roles.get(one) for one in _FALLBACKS[role])
        return next((one for one in fallbacks if one is not None and one.provider not in _SPECIALISED), None)

    def spec(self, role: Role, mode: Mode) -> ModelSpec:
        """The model for `role` in `mode`. Raises KeyError when the role is not bound."""
        found = self.find(role, mode)
        if found is None:
            raise KeyError(role.value)
        return found

    def find(self, role: Role, mode: Mode) -> ModelSpec | None:
        """Like `spec`, but None when the role is not bound. An answerer that is not bound has the generator's model."""
        override = self.visual.get(role) if mode is Mode.VISUAL else None
        found = override or self.roles.get(role)
        if found is None and role is Role.ANSWERER:
            return self.spec(Role.GENERATOR, mode)
        return found


def bound_specs(profile: Profile, roles: Iterable[Role], name: str) -> dict[Role, ModelSpec]:
    """The model for each of `roles`, of EXAM_ROLES or PROBLEM_ROLES. Raises ConfigError, which names the roles without a model."""
    found = {role: profile.spec_or_fallback(role) for role in roles}
    missing = [role.value for role, spec in found.items() if spec is None]
    if missing:
        raise ConfigError(f"profile {name} binds no model to {', '.join(missing)}")
    return {role: spec for role, spec in found.items() if spec is not None}


def problem_specs(profile: Profile, name: str) -> dict[Role, ModelSpec]:
    """The model for each of PROBLEM_ROLES, and for the solver if one is bound. Raises ConfigError as `bound_specs` does."""
    solver = profile.roles.get(Role.SOLVER)
    return bound_specs(profile, PROBLEM_ROLES, name) | ({} if solver is None else {Role.SOLVER: solver})


def check_judge(profile: Profile, mode: Mode) -> None:
    """Raise ValueError when the judge, if there is one, is the model of the generator or of the answerer."""
    judge = profile.find(Role.JUDGE, mode)
    for role in (Role.GENERATOR, Role.ANSWERER):
        names, where = f"{role.value} and judge", f" in {mode.value} mode"
        check_distinct(judge, profile.find(role, mode), names, where, "judge its own answers")


def check_examiners(profile: Profile) -> None:
    """Raise ValueError when the verifier is the implementer's model, or the solver is the model of the scanner, variant or converter."""
    verifier, solver = profile.spec_or_fallback(Role.VERIFIER), profile.roles.get(Role.SOLVER)
    solved = (Role.SCANNER, Role.VARIANT, Role.CONVERTER)
    pairs = ((Role.IMPLEMENTER, "verifier", verifier), *((role, "solver", solver) for role in solved))
    for role, name, other in pairs:
        names, maker = f"{role.value} and {name}", profile.spec_or_fallback(role)
        check_distinct(other, maker, names, "", "verify its own questions")


def check_distinct(one: ModelSpec | None, other: ModelSpec | None, names: str, where: str, what: str) -> None:
    """Raise ValueError when `one` and `other` have the same model name. The message says that a model must not do `what`."""
    models = [spec.model.strip().casefold() for spec in (one, other) if spec is not None]
    if one is not None and len(models) == 2 and models[0] == models[1]:
        raise ValueError(f"{names} are the same model ({one.model}){where}; a model must not {what}")


def check_priced(profile: Profile, budget: Budget) -> None:
    """Raise ValueError when `budget` limits the cost and a price is unknown."""
    if not budget.counts_money:
        return
    unknown = sorted({spec.name for spec in profile.every_spec if not has_price(spec)})
    if not profile.embedder.local and profile.embedder.usd_per_million_input is None:
        raise ValueError(
            f"max_usd needs prices: set usd_per_million_input of the embedder {profile.embedder.name}"
        )
    if unknown:
        raise ValueError(
            f"max_usd needs prices: set usd_per_million_input and usd_per_million_output of {', '.join(unknown)}"
        )


def is_free(profile: Profile) -> bool:
    """Whether all models are free: in this process, or on a local server without a price and (embedders excepted) without an API key."""
    embedder = profile.embedder
    unpriced = not embedder.usd_per_million_input and is_local(embedder.base_url or "")
    return (embedder.local or unpriced) and all(map(_is_free, profile.every_spec))


def _is_free(spec: ModelSpec) -> bool:
    priced = spec.usd_per_million_input or spec.usd_per_million_output or spec.api_key_env
    return spec.provider in FREE_PROVIDERS or (not priced and is_local(spec.base_url or ""))


def check_execution(profile: Profile) -> None:
    """Raise ValueError when a role asks for batches, but its provider does not offer them or the role cannot use them."""
    writers = ((Role.GENERATOR, spec) for spec in profile.writers.values())
    for role, spec in (*profile.roles.items(), *profile.visual.items(), *writers):
        fault = why_no_batch(spec)
        if fault is None and spec.execution == "batch" and role is Role.GENERATOR:
            fault = "it needs many turns, but a batch has only one (use execution: batch for other roles)"
        if fault is not None:
            raise ValueError(f"{role.value}: {fault}")


def load_profile(name: str, folder: Path | None) -> Profile:
    """Read the profile `name` from `folder`, else from the shipped profiles. Raises ConfigError for an unknown name or an invalid file."""
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
