"""Maps names of providers to their classes, and builds models and embedders from specs.

No other module knows all providers. A provider's module is imported when its first model is built, so a run with only the embedded
models loads no SDK.
"""

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from qagen_dagster.errors import ConfigError
from qagen_dagster.models.base import Model, Provider
from qagen_dagster.models.batcher import Batcher, Batchers, BatchModel, LimitedBatch
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.embedders import Embedder, EmbedderSpec, LocalEmbedder
from qagen_dagster.models.ledger import Breaker, Ledger, LedgeredModel, LocalModel
from qagen_dagster.models.rate_limits import limited
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.emulation import EmulatedTools
from qagen_dagster.models.wires.forcing import ForcedTools


class _Entry(NamedTuple):
    constructor: str  # module:class in this folder, called with (spec, api_key), or with (spec) if local
    key_env: str | None = None  # the default variable of the key; None if no key is needed
    local: bool = False  # whether it runs in this process, free and deterministic
    batch: str | None = None  # module:class of its BatchProvider, called with (spec, api_key)


PROVIDERS: dict[str, _Entry] = {
    "openai": _Entry("wires.openai:OpenAIProvider", "OPENAI_API_KEY", batch="wires.openai:OpenAIBatch"),
    "openai_compatible": _Entry("wires.openai_compatible:OpenAICompatibleProvider"),
    "anthropic": _Entry(
        "wires.anthropic:AnthropicProvider", "ANTHROPIC_API_KEY", batch="wires.anthropic:AnthropicBatch"
    ),
    "embedded": _Entry("embedded.provider:EmbeddedProvider", local=True),
    "scripted": _Entry("wires.scripted:ScriptedProvider", local=True),
}


def _resolved(name: str) -> Callable[..., Any]:
    return resolve_name(f"qagen_dagster.models.{name}")


def key_variable(provider: str, chosen: str | None) -> str | None:
    """The environment variable of the key: `chosen` from the spec, or else the provider's; None if no key is needed."""
    entry = PROVIDERS.get(provider)
    return chosen or (entry.key_env if entry else None)


def read_key(
    name: str, variable: str | None, secret: Callable[[str], str | None], option: str = "api_key_env"
) -> str | None:
    """The API key of the model `name`; None if `variable` is None. Raises ConfigError, which names the variable and the `option`, if the
    key is missing or cannot be sent."""
    if variable is None:
        return None
    value = (secret(variable) or "").strip()
    if not value:
        raise ConfigError(f"{name} needs a key: set {variable} in the environment", key=option)
    strange = next((sign for sign in value if not " " <= sign <= "~"), None)
    if strange is not None:
        found = "a line break" if strange in "\r\n" else f"the character U+{ord(strange):04X}"
        raise ConfigError(f"{name}: the key in {variable} contains {found}, so it cannot be sent", key=option)
    return value


def why_no_batch(spec: ModelSpec) -> str | None:
    """The reason why `spec` cannot have the `execution: batch` that it requests; None if it can, or if it does not request it."""
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
    breaker: Breaker | None = None,
) -> Model:
    """Build the model of `spec`. `secret` looks up the value of an environment variable. Processes share limits
    through the folder `state`. Threads share `batchers` and `breaker`. Raises ConfigError for an unknown
    provider, a missing key, an unusable folder, and for batches that the spec cannot have (see `why_no_batch`)."""
    provider = build_provider(spec, secret)
    entry = PROVIDERS[spec.provider]
    if entry.local:
        return LocalModel(provider)
    direct = limited(ForcedTools(provider), key_variable(spec.provider, spec.api_key_env), state)
    if spec.execution == "direct":
        return LedgeredModel(direct, ledger, breaker=breaker)
    batcher = _batcher(spec, entry, ledger, secret, state, batchers)
    return BatchModel(direct, ledger, batcher, breaker)


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
        raise ConfigError(fault or f"{spec.name}: there is no store for batches", key="execution")
    endpoint, variable = _resolved(entry.batch), key_variable(spec.provider, spec.api_key_env)
    return batchers.of(
        spec,
        ledger,
        lambda: LimitedBatch(endpoint(spec, read_key(spec.name, variable, secret)), spec, variable, state),
    )


def build_provider(spec: ModelSpec, secret: Callable[[str], str | None]) -> Provider:
    """The provider of `spec` without ledger and limits. Tools are emulated if the spec asks for it. Raises ConfigError."""
    entry = PROVIDERS.get(spec.provider)
    if entry is None:
        raise ConfigError(
            f"unknown provider {spec.provider!r}; choose one of {', '.join(PROVIDERS)}", key="provider"
        )
    constructor: Callable[..., Provider] = _resolved(entry.constructor)
    if entry.local:
        return constructor(spec)
    variable = key_variable(spec.provider, spec.api_key_env)
    provider = constructor(spec, read_key(spec.name, variable, secret))
    return EmulatedTools(provider) if spec.tool_calling == "emulated" else provider


def build_embedder(
    spec: EmbedderSpec,
    ledger: Ledger,
    secret: Callable[[str], str | None],
    state: Path,
    threads: int = 1,
    meter: Meter | None = None,
) -> Embedder:
    """Build the embedder of `spec`. `secret` looks up the value of an environment variable. Processes share
    limits through the folder `state`. `threads` is the number of CPU threads of a local embedder. `meter`
    checks the budget and counts spending. Raises ConfigError for a missing key and for an invalid address."""
    if spec.local:
        return LocalEmbedder(spec, threads)
    variable = key_variable(spec.provider, spec.api_key_env)
    value = read_key(spec.name, variable, secret, "embedder.api_key_env")
    make: Callable[..., Embedder] = _resolved("wires.openai_embeddings:PaidEmbedder")
    return make(spec, value, variable, ledger, state, meter=meter)
