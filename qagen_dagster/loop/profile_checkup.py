"""Checks whether the models of a profile work. Each distinct model is checked once, for all its roles."""

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.checkup import Finding, probe, probe_embedder
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.settings import OTHER_CERTIFICATES, network_faults

_SHOWN_DOCUMENTS = frozenset({Role.GENERATOR.value, Role.VALIDATOR.value})
PICTURE_ROLES = frozenset({Role.GENERATOR, Role.VALIDATOR})  # roles that get pictures in visual mode


class RoleBinding(NamedTuple):
    """A model with all its roles."""

    spec: ModelSpec
    roles: tuple[str, ...]  # "visual generator" if a different model has this role in textual mode
    pictures: bool

    @property
    def name(self) -> str:
        return f"{', '.join(self.roles)} {self.spec.name}"


def checkup(
    profile: Profile,
    secret: Callable[[str], str | None],
    *,
    state: Path | None = None,
    sizes: Collection[int] = (),
    offline: bool = False,
) -> Iterator[tuple[str, Finding]]:
    """Check each model and yield its name with each finding. This costs some tokens per model, unless `offline`.

    `sizes` has the lengths of the documents in characters. A model that is shown documents gets a prompt as long as the longest in a run.

    The first findings are environment variables for proxies and certificates with values that no client can use. Models that can only be
    reached through these are not checked.
    `state` is the folder through which processes share rate limits. The embedder is checked only if `state` is given.
    """
    bound_models = bindings(profile)
    remote = [bound.spec for bound in bound_models if bound.spec.provider not in FREE_PROVIDERS]
    if remote or not profile.embedder.local:
        faults = network_faults(OTHER_CERTIFICATES)
        yield from (("environment", Finding(what=name, good=False, detail=detail)) for name, detail in faults)
    for bound in bound_models:
        if _is_cut_off(bound.spec):
            continue
        longest = _longest(bound, sizes)
        for finding in probe(bound.spec, secret, pictures=bound.pictures, longest=longest, offline=offline):
            yield bound.name, finding
    if state is not None and not _is_cut_off(profile.embedder):
        for finding in probe_embedder(profile.embedder, secret, state, offline=offline):
            yield f"embedder {profile.embedder.name}", finding


def _longest(bound: RoleBinding, sizes: Collection[int]) -> int:
    """The maximum characters of a document that a run shows a model at once."""
    most = bound.spec.opening_characters
    shown = [size if size <= most else min(most, 8_000) for size in sizes]  # as QAContext.opening does
    return max(shown, default=0) if _SHOWN_DOCUMENTS & set(bound.roles) else 0


def _is_cut_off(spec: ModelSpec | EmbedderSpec) -> bool:
    """Whether environment variables keep clients from the server of a model."""
    local = spec.local if isinstance(spec, EmbedderSpec) else spec.provider in FREE_PROVIDERS
    return not local and bool(network_faults(url=spec.base_url or "https://"))


def bindings(profile: Profile) -> list[RoleBinding]:
    """The distinct models in the order of their first roles. Specs that differ only in price or timeouts count as the same model.

    Roles without a model of their own are left out.
    """
    found: dict[str, RoleBinding] = {}
    for role in Role:
        textual = profile.roles.get(role)
        visual = profile.visual.get(role) or textual
        played = [] if textual is None else [(textual, role.value)]
        if role is Role.GENERATOR:
            played += [(spec, f"writer {name}") for name, spec in profile.writers.items()]
        played += [] if visual is None or visual is textual else [(visual, f"visual {role.value}")]
        for spec, name in played:
            key = key_of(spec)
            known = found.get(key, RoleBinding(spec, (), pictures=False))
            sees = known.pictures or (role in PICTURE_ROLES and spec is visual)
            found[key] = RoleBinding(known.spec, (*known.roles, name), sees)
    return list(found.values())


def key_of(spec: ModelSpec) -> str:
    """A key that is equal for specs that give the same responses and name the same variable for the API key."""
    return json.dumps([spec.identity(), spec.api_key_env], sort_keys=True)
