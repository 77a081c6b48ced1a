"""How an embedder's spec becomes an embedder. The SDK is loaded only for those that speak over a wire."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from qagen_dagster.errors import ConfigError
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.vectors.base import Embedder, EmbedderSpec
from qagen_dagster.models.vectors.local import LocalEmbedder

KEY_ENV = {"openai": "OPENAI_API_KEY"}  # where the key is unless the spec says otherwise


def build_embedder(
    spec: EmbedderSpec,
    ledger: Ledger,
    secret: Callable[[str], str | None],
    state: Path,
    threads: int = 1,
    meter: Meter | None = None,
) -> Embedder:
    """Build the embedder of `spec`; `secret` looks up the value of an environment variable, `state` is the folder by
    which processes share limits, `threads` what a local one may use of the CPU, `meter` allows and counts what is paid.
    Raises ConfigError for a missing key, naming its variable, and for an address that is none.
    """
    if spec.local:
        return LocalEmbedder(spec, threads)
    variable = spec.api_key_env or KEY_ENV.get(spec.provider)
    value = None if variable is None else (secret(variable) or "").strip()
    if variable is not None and not value:
        raise ConfigError(
            f"{spec.name} needs a key: set {variable} in the environment", key="embedder.api_key_env"
        )
    paid: Any = import_module("qagen_dagster.models.vectors.paid")
    made: Embedder = paid.PaidEmbedder(spec, value, variable, ledger, state, meter=meter)
    return made
