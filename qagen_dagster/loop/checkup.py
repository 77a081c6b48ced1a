"""Checks whether the models of a profile work. Each distinct model is checked once, for all its roles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from qagen_dagster.configuration.profiles import QUESTION_ROLES, Profile, Role
from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.loop.parallel import run_in_parallel
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.spending import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.probe import HELLO, Finding, probe, short, unreachable
from qagen_dagster.models.registry import key_variable
from qagen_dagster.models.vectors.probe import probe_embedder
from qagen_dagster.records.ids import Combination

PICTURE_ROLES = frozenset({Role.GENERATOR, Role.VALIDATOR})  # roles that get pictures in visual mode


def refused(workspace: Workspace, combinations: Iterable[Combination], options: RunOptions) -> list[str]:
    """A line for each paid model of these combinations whose server refuses the shortest possible call.

    All models are asked at once. The ledger keeps the responses, so a model that has answered is not asked again. A server
    that is busy or cannot be reached is left to the retries of the run. A budget of 0 allows no call.
    """
    specs: dict[str, ModelSpec] = {}
    for one in combinations:
        profile = workspace.profile(workspace.profile_name(one, options.profile))
        budget = effective_budget(profile, options.run_budget).run
        if 0 not in (budget.max_usd, budget.max_tokens, budget.max_calls):
            found = (profile.find(role, one.mode) for role in (*QUESTION_ROLES, Role.JUDGE))
            specs |= {_key(spec): spec for spec in found if spec is not None and _is_paid(spec)}
    chosen = list(specs.values())
    lines = run_in_parallel(
        [()] * len(chosen), lambda number: _refused(workspace, chosen[number]), workers=len(chosen) or 1
    )
    return [line for line in lines if line is not None]


def _refused(workspace: Workspace, spec: ModelSpec) -> str | None:
    asked = short(spec).model_copy(update={"execution": "direct", "max_attempts": 1})
    try:
        workspace.model(asked).respond(HELLO)
    except PermanentModelError as error:
        variable = key_variable(spec.provider, spec.api_key_env)
        return f"{spec.name}: {unreachable(spec, variable, error).detail}"
    except ModelError:
        return None
    return None


def _is_paid(spec: ModelSpec) -> bool:
    """Whether a call costs money, as far as the profile tells: it has a price, or needs a key."""
    priced = spec.usd_per_million_input or spec.usd_per_million_output
    return bool(priced or key_variable(spec.provider, spec.api_key_env))


class RoleBinding(NamedTuple):
    """A model with all the roles that it has."""

    spec: ModelSpec
    roles: tuple[str, ...]  # "visual generator" if another model has the role in textual mode
    pictures: bool

    @property
    def name(self) -> str:
        return f"{', '.join(self.roles)} {self.spec.name}"


def checkup(
    profile: Profile, secret: Callable[[str], str | None], *, state: Path | None = None, offline: bool = False
) -> Iterator[tuple[str, Finding]]:
    """Check each model and yield its name with each finding. This costs a few tokens per model, unless `offline`.

    `state` is the folder through which processes share rate limits. The embedder is checked only if `state` is given.
    """
    for bound in bindings(profile):
        for finding in probe(bound.spec, secret, pictures=bound.pictures, offline=offline):
            yield bound.name, finding
    if state is not None:
        for finding in probe_embedder(profile.embedder, secret, state, offline=offline):
            yield f"embedder {profile.embedder.name}", finding


def bindings(profile: Profile) -> list[RoleBinding]:
    """The distinct models in the order of their first role. Specs that differ only in price or timeouts count as one model.

    Roles without a model of their own are left out.
    """
    found: dict[str, RoleBinding] = {}
    for role in Role:
        textual = profile.roles.get(role)
        visual = profile.visual.get(role) or textual
        played = [] if textual is None else [(textual, role.value)]
        played += [] if visual is None or visual is textual else [(visual, f"visual {role.value}")]
        for spec, name in played:
            key = _key(spec)
            known = found.get(key, RoleBinding(spec, (), pictures=False))
            sees = known.pictures or (role in PICTURE_ROLES and spec is visual)
            found[key] = RoleBinding(known.spec, (*known.roles, name), sees)
    return list(found.values())


def _key(spec: ModelSpec) -> str:
    return json.dumps([spec.identity(), spec.api_key_env], sort_keys=True)
