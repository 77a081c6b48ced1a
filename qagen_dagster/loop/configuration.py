"""The configuration that a product is made with: a fingerprint, and named parts by which a change can be described."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.spec import ModelSpec

NONE = "none"
OTHER_VERSION = "its settings, its prompts or the version of this program changed"
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class Configuration:
    """Everything that a product depends on besides its upstream products.

    Attributes:
        version: a hash that changes with everything that can change the product.
        parts: models, prompts, texts and limits by name. Stored products also have these parts.
        settings: other settings by name. Stored products do not have them.
    """

    version: str
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


def model_names(specs: Mapping[Role, ModelSpec]) -> dict[str, str]:
    """The names of the models by role, as stored sets record them."""
    return {role.value: spec.name for role, spec in specs.items()}


def model_settings(specs: Mapping[Role, ModelSpec]) -> dict[str, str]:
    """By role, the settings of the models that can change a response."""
    return {
        f"{role.value} {name}": json.dumps(value, sort_keys=True)
        for role, spec in specs.items()
        for name, value in spec.identity().items()
        if name not in ("provider", "model")
    }


def is_free_for_paid(made: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether free models would replace the work of paid models. Models are `provider:model`."""
    free = [[name.partition(":")[0] in FREE_PROVIDERS for name in names] for names in (made, wanted)]
    return not all(free[0]) and all(free[1])


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """One line for each part that differs, with the name, the old value and the new value. Long values are not shown."""
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, NONE), after.get(name, NONE)
        if old != new:
            short = max(len(old), len(new)) <= _LONGEST
            lines.append(f"{name}: {old} → {new}" if short else f"{name} changed")
    return tuple(lines)


def what_changed(made: Configuration, wanted: Configuration) -> tuple[str, ...]:
    """One line for each difference between the configuration of a stored product and the present configuration."""
    if made.version == wanted.version and made.parts == wanted.parts:
        return ()
    return differences(made.parts, wanted.parts) or (OTHER_VERSION,)
