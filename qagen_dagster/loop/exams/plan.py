"""Plans one part of an exam: the number of its items, the work on each slot, and everything that its results depend on."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pydantic import Field, ValidationError

from qagen_dagster.agents.exams import ExamContext, prompts
from qagen_dagster.agents.prompts import Prompt, own_prompts
from qagen_dagster.configuration.exams import Exam, chosen, find_exam
from qagen_dagster.configuration.profiles import EXAM_ROLES, Profile, Role, bound_specs
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.configuration import is_free_for_paid, model_names
from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.state_machine import ExamEvent, ExamJournal, ItemLimits
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.shared_budget import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.models.embedded.exams.roles import different_items
from qagen_dagster.models.providers import PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.exams.bank import Examination, Given, PartSet, SlotResult
from qagen_dagster.records.exams.config import MOST_ITEMS, MOST_SEED
from qagen_dagster.records.exams.submissions import ExamPart, ExamSchema, QuestionPackage
from qagen_dagster.records.ids import digest, fingerprint

EXAM_VERSION = "5"  # increase if the same responses would give another result
Examiner = Callable[[QuestionPackage], Examination]
_PRICES = {f"usd_per_million_{kind}": None for kind in ("input", "output", "cached", "cache_write")}


def quotas(
    exam: Exam,
    items: int,
    seed: int,
    weights: Mapping[str, float] | None = None,
    prefixes: Sequence[str] | None = None,
) -> dict[ExamPart, int]:
    """The number of slots of every part of the exam, including parts without slots.

    `weights` replace the exam's weights of difficulties. `prefixes` select schemas. Raises ConfigError if no schema or no difficulty
    has a weight above 0, and for an invalid weight or a difficulty that the exam does not have.
    """
    allowed = chosen(exam.schemas, exam.config.schema_prefixes)
    schemas = {
        one: exam.config.schema_weights.get(one, 1.0) for one in chosen(allowed, tuple(prefixes or ()))
    }
    difficulties = {one.value: level.weight for one, level in exam.config.difficulties.items()}
    for one, weight in (weights or {}).items():
        if one not in difficulties:
            known = ", ".join(difficulties)
            raise ConfigError(f"exam {exam.key} has no {one} items to give a weight to (there are: {known})")
        if not 0 <= weight < math.inf:
            raise ConfigError(f"the weight of {one} items must be a number of at least 0, not {weight}")
        difficulties[one] = weight
    for name, shares in (("schema", schemas.values()), ("difficulty", difficulties.values())):
        if not any(shares):
            raise ConfigError(f"no selected {name} of exam {exam.key} has a weight above 0")
    by_schema = _deal(tuple(schemas.items()), seed, items)
    by_difficulty = _deal(tuple(difficulties.items()), seed, items)
    dealt = Counter(zip(by_schema, by_difficulty, strict=True))
    return {part: dealt[part.schema_id, part.difficulty.value] for part in exam.parts()}


@lru_cache(maxsize=16)  # called for every part of an exam with the same arguments
def _deal(weights: tuple[tuple[str, float], ...], seed: int, items: int) -> tuple[str, ...]:
    """A name for each item. Each item gets the name that is furthest below its share so far. The seed breaks ties."""
    whole = sum(weight for _, weight in weights)
    shares = {key: weight / whole for key, weight in weights if weight > 0}
    had = dict.fromkeys(shares, 0)
    order: list[str] = []
    for dealt in range(1, items + 1):
        lag = {key: round(share * dealt - had[key], 9) for key, share in shares.items()}
        last = max(lag.values())
        key = min(
            (one for one in lag if lag[one] == last), key=lambda one: digest(str(seed), str(dealt), one)
        )
        had[key] += 1
        order.append(key)
    return tuple(order)


def exam_prompt_hashes(own: Mapping[str, Prompt] | None = None) -> dict[str, str]:
    """The hashes of the prompts of all four roles, by name. The prompts in `own` replace shipped prompts."""
    return {
        name: prompt.hash for name, prompt in ({one.name: one for one in prompts()} | dict(own or {})).items()
    }


def part_fingerprint(specs: dict[Role, ModelSpec], exam: Exam, part: ExamPart, seed: int) -> str:
    """A hash of everything that the journal of a slot depends on.

    Of the limits and thresholds, only the existence of `most_flaws` is in it, so a run with other limits resumes the same journal.
    """
    config = exam.config
    models = {role.value: spec.identity() for role, spec in specs.items()}
    return fingerprint(
        [
            EXAM_VERSION,
            json.dumps(models, sort_keys=True),
            json.dumps(exam_prompt_hashes(own_prompts(prompts(), exam.prompts)), sort_keys=True),
            config.name,
            config.candidate_profile,
            json.dumps(config.style_notes),
            config.difficulties[part.difficulty].meaning,
            exam.schema(part.schema_id).text,
            str(seed),
            *(() if config.thresholds.most_flaws is None else ("flaws",)),
        ]
    )


@dataclass(frozen=True)
class ItemWork:
    """The work on one slot, with everything that decides its result."""

    part: ExamPart
    slot: int  # counts from 1
    context: ExamContext
    limits: ItemLimits
    models: Mapping[Role, Model]
    examine: Examiner = code_checks.examine


class ExamOptions(Allowance):
    """Options of a run that replace settings of the configuration. None leaves a setting as configured.

    The limits replace the profile's budget of a run. `items` and `seed` apply to the whole exam, and `weights` to its difficulties.
    `models` binds roles to other models, as `model` or `provider:model`.
    `replace`: results of earlier runs do not count. `refresh`: the run brings a part up to date. It has the options of the launch that made
    the part, removes no slot, and replaces results only if the configuration changed.
    """

    profile: str | None = None
    items: int | None = Field(default=None, description="Goal for the number of slots of the whole exam.")
    seed: int | None = Field(default=None, description="Another seed leads to another bank.")
    weights: dict[str, float] | None = Field(default=None, description="Weights of easy, medium and hard.")
    schema_prefixes: list[str] | None = Field(
        default=None, description="Use only schemas whose id starts with one of these."
    )
    max_designer_retries: int | None = Field(
        default=None, description="Retries when a design cannot be used."
    )
    max_implementer_retries: int | None = Field(default=None, description="Further questions for an idea.")
    models: dict[str, str] | None = Field(default=None, description="MODEL or PROVIDER:MODEL by role.")
    replace: bool = Field(
        default=False, description="Replace earlier results. If false, a run only adds results."
    )
    refresh: bool = Field(
        default=False,
        description="Use the goal and the options of the last launch, and make only the changed results again.",
    )

    @property
    def given(self) -> Given:
        """The options that a set stores."""
        names = Given.model_fields.keys() - {"goal", "models"}
        goal = bool(self.items or self.weights or self.schema_prefixes)
        return Given(**{name: getattr(self, name) for name in names}, models=self.models or {}, goal=goal)


@dataclass(frozen=True)
class PartPlan:
    """One part, with everything that decides its results.

    Attributes:
        slots: the number of slots that the run aims at. The part may have more already.
        kept: the store keys of the results of slots that ended in earlier runs and stay as they are, by slot.
    """

    part: ExamPart
    exam: Exam
    schema: ExamSchema
    profile_name: str
    specs: Mapping[Role, ModelSpec]
    limits: ItemLimits
    slots: int
    seed: int
    fingerprint: str
    budget: Budget = field(default_factory=Budget)
    replace: bool = False
    kept: Mapping[int, str] = field(default_factory=dict[int, str])
    given: Given = field(default_factory=Given)

    @property
    def others(self) -> int:
        """The number of the run's slots that keep a result of another configuration."""
        return sum(self.kept.get(slot, "") not in ("", self.result_key(slot)) for slot in self.numbers)

    @property
    def most_items(self) -> int:
        """The number of different items that the implementer can make, but at most the number of slots."""
        if self.specs[Role.IMPLEMENTER].provider != "embedded":
            return self.slots
        return min(self.slots, different_items(self.part.schema_id, self.part.difficulty.value))

    @property
    def numbers(self) -> range:
        return range(1, self.slots + 1)

    @property
    def configuration(self) -> str:
        """A hash of everything that can change a result."""
        return fingerprint([self.fingerprint, self.limits.model_dump_json()])

    def result_key(self, slot: int) -> str:
        return self.part.result_key(slot, self.configuration)

    def partial_key(self, slot: int) -> str:
        """The key of the result of a slot whose budget was exhausted."""
        return self.part.partial_key(slot, self.configuration)

    def journal(self, slot: int, workspace: Workspace) -> JournalFile[ExamEvent]:
        key = self.part.journal_key(slot, self.fingerprint)
        return JournalFile(workspace.store, key, self.fingerprint, ExamJournal)

    def work(self, slot: int, models: Mapping[Role, Model]) -> ItemWork:
        own = own_prompts(prompts(), self.exam.prompts)
        context = ExamContext(self.exam.config, self.schema, self.part.difficulty, slot, self.seed, own)
        return ItemWork(self.part, slot, context, self.limits, models)


def plan_part(workspace: Workspace, part: ExamPart, options: ExamOptions) -> PartPlan:
    """Resolve configuration, quota and models. Raises ConfigError. Asks no model and writes nothing."""
    made = part_set(workspace, part)
    if made is None or not options.refresh:
        return _planned(workspace, part, options)
    earlier = made.given.model_dump(exclude={"goal"})
    earlier["profile"] = options.profile or earlier["profile"]
    plan = _planned(workspace, part, options.model_copy(update=earlier))
    slots = made.slots if made.given.goal else max(plan.slots, made.slots)
    changed = made.fingerprint != plan.configuration
    anew = changed and not is_free_for_paid(made.models.values(), model_names(plan.specs).values())
    plan = replace(plan, slots=slots, replace=anew, given=made.given)
    return replace(plan, kept=dict[int, str]()) if anew else plan


def _planned(workspace: Workspace, part: ExamPart, options: ExamOptions) -> PartPlan:
    exam = find_exam(workspace.settings.corpora, part.exam)
    schema = exam.schema(part.schema_id)
    if part not in exam.parts():
        raise ConfigError(f"exam {exam.key} has no part {part.key}")
    name = options.profile or exam.config.profile or workspace.settings.profile
    profile = _with_models(workspace.profile(name), options.models or {}, name)
    specs = bound_specs(profile, EXAM_ROLES, name)
    seed = exam.config.seed if options.seed is None else options.seed
    items = exam.config.items if options.items is None else options.items
    if not (0 <= seed <= MOST_SEED and 1 <= items <= MOST_ITEMS):
        raise ConfigError(f"the seed must be 0 to {MOST_SEED}, and the number of items 1 to {MOST_ITEMS}")
    return PartPlan(
        part=part,
        exam=exam,
        schema=schema,
        profile_name=name,
        specs=specs,
        limits=_limits(exam, options),
        slots=quotas(exam, items, seed, options.weights, options.schema_prefixes)[part],
        seed=seed,
        fingerprint=part_fingerprint(specs, exam, part, seed),
        budget=effective_budget(profile, options.limits),
        replace=options.replace,
        kept={} if options.replace else _kept(workspace, part),
        given=options.given,
    )


def part_set(workspace: Workspace, part: ExamPart) -> PartSet | None:
    """The current results of a part; None if the part was never run, or its set is damaged and must be made again."""
    return workspace.store.find_valid(part.set_key(), PartSet)


def finished_slot(workspace: Workspace, plan: PartPlan, slot: int) -> SlotResult | None:
    """The result of a slot; None if there is none, or it is damaged and must be made again."""
    return workspace.store.find_valid(plan.result_key(slot), SlotResult)


def _kept(workspace: Workspace, part: ExamPart) -> dict[int, str]:
    found, store = part_set(workspace, part), workspace.store
    finished = {} if found is None else found.finished
    return {slot: key for slot, key in finished.items() if store.find_valid(key, SlotResult) is not None}


def _limits(exam: Exam, options: ExamOptions) -> ItemLimits:
    """The limits of the exam; limits in `options` come first. Raises ConfigError for a negative number of retries."""
    config = exam.config
    designs, retries = options.max_designer_retries, options.max_implementer_retries
    if min(designs or 0, retries or 0) < 0:
        raise ConfigError("the number of retries must be 0 or more")
    return ItemLimits(
        max_designer_retries=config.max_designer_retries if designs is None else designs,
        max_implementer_retries=config.max_implementer_retries if retries is None else retries,
        thresholds=config.thresholds,
    )


def _with_models(profile: Profile, models: Mapping[str, str], name: str) -> Profile:
    """The profile, in which `models` replace the models of exam roles. Raises ConfigError."""
    roles = dict(profile.roles)
    for role_name, model in models.items():
        role = next((one for one in EXAM_ROLES if one.value == role_name), None)
        if role is None:
            known = ", ".join(one.value for one in EXAM_ROLES)
            raise ConfigError(f"there is no exam role {role_name!r} (there are: {known})")
        roles[role] = _other(profile.spec_or_fallback(role), model, role)
    try:
        return Profile.model_validate(profile.model_dump() | {"roles": roles})
    except ValidationError as error:
        fault = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigError(f"profile {name} with other models: {fault}") from None


def _other(spec: ModelSpec | None, model: str, role: Role) -> ModelSpec:
    """The spec of `model`, at the provider and address of `spec` unless `model` names another provider. A changed spec has no price."""
    provider, divider, rest = model.partition(":")
    if divider and rest and provider in PROVIDERS:
        if spec is None or spec.provider != provider:
            return ModelSpec(provider=provider, model=rest)
        model = rest
    if spec is None:
        raise ConfigError(f"{role.value}: name the provider too, as in openai:{model}")
    return spec if spec.model == model else spec.model_copy(update={"model": model, **_PRICES})
