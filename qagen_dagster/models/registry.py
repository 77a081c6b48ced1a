"""Which class speaks for which provider name, and how a spec becomes a model.

The one place that knows all providers. Modules are imported when a profile first names them, so a
run with the embedded models loads no SDK.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from qagen_dagster.errors import ConfigError
from qagen_dagster.models.base import Model, ModelSpec, Provider
from qagen_dagster.models.batches.batcher import Batcher, Batchers, BatchModel
from qagen_dagster.models.batches.limits import LimitedBatch
from qagen_dagster.models.ledger import Ledger, LedgeredModel, LocalModel
from qagen_dagster.models.limits.limiter import limited
from qagen_dagster.models.wires.emulation import EmulatedTools


class _Entry(NamedTuple):
    constructor: str  # module:class, called with (spec, api_key), or with (spec) if local
    key_env: str | None = None  # where the key is unless the spec says otherwise; None: none is needed
    local: bool = False  # runs in this process, free and deterministic
    batch: str | None = None  # module:class of its BatchProvider, called with (spec, api_key)


_PACKAGE = "qagen_dagster.models"
PROVIDERS: dict[str, _Entry] = {
    "openai": _Entry(
        f"{_PACKAGE}.wires.openai:OpenAIProvider",
        "OPENAI_API_KEY",
        batch=f"{_PACKAGE}.batches.openai:OpenAIBatch",
    ),
    "openai_compatible": _Entry(f"{_PACKAGE}.wires.openai_compatible:OpenAICompatibleProvider"),
    "anthropic": _Entry(
        f"{_PACKAGE}.wires.anthropic:AnthropicProvider",
        "ANTHROPIC_API_KEY",
        batch=f"{_PACKAGE}.batches.anthropic:AnthropicBatch",
    ),
    "embedded": _Entry(f"{_PACKAGE}.embedded.provider:EmbeddedProvider", local=True),
    "scripted": _Entry(f"{_PACKAGE}.wires.scripted:ScriptedProvider", local=True),
}


def why_no_batch(spec: ModelSpec) -> str | None:
    """Why `spec` cannot have `execution: batch`, which it asks for; None where it can, or does not ask."""
    if spec.execution != "batch":
        return None
    entry = PROVIDERS.get(spec.provider)
    if entry is not None and entry.batch is None:
        able = ", ".join(name for name, one in PROVIDERS.items() if one.batch)
        return f"{spec.name} has no batches (execution: batch is for {able})"
    return f"{spec.name}: batches need tool_calling: native" if spec.tool_calling == "emulated" else None


def build_model(
    spec: ModelSpec,
    ledger: Ledger,
    secret: Callable[[str], str | None],
    state: Path,
    batchers: Batchers | None = None,
) -> Model:
    """Build the model of `spec`; `secret` looks up the value of an environment variable.

    `state` is the folder by which processes share limits, `batchers` where threads hand in what goes by batch. Raises
    ConfigError for an unknown provider, for a missing key, naming its variable, for a folder that cannot be used,
    and for batches where there are none.
    """
    provider = build_provider(spec, secret)
    entry = PROVIDERS[spec.provider]
    if entry.local:
        return LocalModel(provider)
    direct = limited(provider, spec.api_key_env or entry.key_env, state)
    if spec.execution == "direct":
        return LedgeredModel(direct, ledger)
    return BatchModel(direct, ledger, _batcher(spec, entry, ledger, secret, state, batchers))


def _batcher(
    spec: ModelSpec,
    entry: _Entry,
    ledger: Ledger,
    secret: Callable[[str], str | None],
    state: Path,
    batchers: Batchers | None,
) -> Batcher:
    fault = why_no_batch(spec)
    if fault is not None or entry.batch is None or batchers is None:
        raise ConfigError(fault or f"{spec.name}: there is no place to keep batches in", key="execution")
    endpoint, variable = _load(entry.batch), spec.api_key_env or entry.key_env
    return batchers.of(
        spec, ledger, lambda: LimitedBatch(endpoint(spec, _key(spec, entry, secret)), spec, variable, state)
    )


def build_provider(spec: ModelSpec, secret: Callable[[str], str | None]) -> Provider:
    """The wire of `spec` alone, with emulated tools where it asks for them. Raises ConfigError."""
    entry = PROVIDERS.get(spec.provider)
    if entry is None:
        raise ConfigError(
            f"unknown provider {spec.provider!r}; choose one of {', '.join(PROVIDERS)}", key="provider"
        )
    constructor: Callable[..., Provider] = _load(entry.constructor)
    if entry.local:
        return constructor(spec)
    provider = constructor(spec, _key(spec, entry, secret))
    return EmulatedTools(provider) if spec.tool_calling == "emulated" else provider


def _key(spec: ModelSpec, entry: _Entry, secret: Callable[[str], str | None]) -> str | None:
    variable = spec.api_key_env or entry.key_env
    if variable is None:
        return None
    value = (secret(variable) or "").strip()
    if not value:
        raise ConfigError(f"{spec.name} needs a key: set {variable} in the environment", key="api_key_env")
    return value


def _load(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    return found
