"""Is a profile fit for work? Each distinct model is looked at once, for all roles that it plays.

What belongs here: who plays what, and who is shown pictures. What does not: the calls (`models/probe.py`), printing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.probe import Finding, probe
from qagen_dagster.models.vectors.probe import probe_embedder

SEEING = frozenset({Role.GENERATOR, Role.VALIDATOR})  # roles that are shown pictures in visual mode


class Bound(NamedTuple):
    """One model with everything it is asked to do."""

    spec: ModelSpec
    roles: tuple[str, ...]  # "visual generator" where another plays the role in textual mode
    pictures: bool

    @property
    def name(self) -> str:
        return f"{', '.join(self.roles)} {self.spec.name}"


def checkup(
    profile: Profile, secret: Callable[[str], str | None], *, state: Path | None = None, offline: bool = False
) -> Iterator[tuple[str, Finding]]:
    """Who was looked at, and what was found; costs a few tokens a model, unless `offline`.

    `state`: the folder by which processes share limits; the embedder is looked at where it is given.
    """
    for bound in bindings(profile):
        for finding in probe(bound.spec, secret, pictures=bound.pictures, offline=offline):
            yield bound.name, finding
    if state is not None:
        for finding in probe_embedder(profile.embedder, secret, state, offline=offline):
            yield f"embedder {profile.embedder.name}", finding


def bindings(profile: Profile) -> list[Bound]:
    """The distinct models in the order of their first role; what differs in price or time-outs alone is one.

    Roles that are bound to no model of their own are left out, whoever plays them.
    """
    found: dict[str, Bound] = {}
    for role in Role:
        textual = profile.roles.get(role)
        visual = profile.visual.get(role) or textual
        played = [] if textual is None else [(textual, role.value)]
        played += [] if visual is None or visual is textual else [(visual, f"visual {role.value}")]
        for spec, name in played:
            key = json.dumps([spec.identity(), spec.api_key_env], sort_keys=True)
            known = found.get(key, Bound(spec, (), pictures=False))
            sees = known.pictures or (role in SEEING and spec is visual)
            found[key] = Bound(known.spec, (*known.roles, name), sees)
    return list(found.values())
