"""How an embedder's spec becomes an embedder. The SDK is loaded only for paid embedders."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from qagen_dagster.models.budget import Meter
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.registry import key_variable, read_key
from qagen_dagster.models.vectors.base import Embedder, EmbedderSpec
from qagen_dagster.models.vectors.local import LocalEmbedder


def build_embedder(
    spec: EmbedderSpec,
    ledger: Ledger,
    secret: Callable[[str], str | None],
    state: Path,
    threads: int = 1,
    meter: Meter | None = None,
) -> Embedder:
    """Build the embedder of `spec`; `secret` looks up the value of an environment variable.

    Processes share limits in the folder `state`; `threads` is the number of CPU threads of a local embedder; `meter`
    checks the budget and counts spending. Raises ConfigError for a missing key and for an invalid address.
    """
    if spec.local:
        return LocalEmbedder(spec, threads)
    variable = key_variable(spec.provider, spec.api_key_env)
    value = read_key(spec.name, variable, secret, "embedder.api_key_env")
    paid: Any = import_module("qagen_dagster.models.vectors.openai_endpoint")
    made: Embedder = paid.PaidEmbedder(spec, value, variable, ledger, state, meter=meter)
    return made
