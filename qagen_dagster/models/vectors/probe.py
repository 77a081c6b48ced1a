"""Checks that an embedder does what its profile says, with one call of three short texts.

What belongs here: the call, and one line that says what would fail. What does not: the meaning of a failed call
(`models/probe.py`). Nothing is stored and nothing is retried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from qagen_dagster.errors import MalformedResponseError, ModelError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.probe import IN_PROCESS, SECONDS, Finding, built, place_of, unreachable
from qagen_dagster.models.registry import key_variable
from qagen_dagster.models.vectors.base import Embedder, EmbedderSpec
from qagen_dagster.models.vectors.registry import build_embedder

_ALIKE = ("The ferry leaves at nine in the morning.", "At 9 a.m. the boat departs.")
_OTHER = "Photosynthesis turns light into sugar."


class _NoBlobs:
    """`Blobs` that store nothing."""

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, data: bytes) -> None:
        """Nothing is stored."""

    def lock_file(self, key: str) -> Path | None:
        return None

    def lease(self, key: str) -> AbstractContextManager[None]:
        return nullcontext()


def probe_embedder(
    spec: EmbedderSpec, secret: Callable[[str], str | None], state: Path, *, offline: bool = False
) -> Iterator[Finding]:
    """Check one embedder. `secret` looks up an environment variable; processes share limits in the folder `state`."""
    if spec.local:
        yield Finding(what="embedder", good=True, detail=IN_PROCESS)
        return
    variable = key_variable(spec.provider, spec.api_key_env)
    seconds = min(spec.timeout_seconds, SECONDS)
    short = spec.model_copy(
        update={"timeout_seconds": seconds, "deadline_seconds": seconds, "max_attempts": 1, "batch_size": 8}
    )
    found, embedder = built(
        lambda: build_embedder(short, Ledger(_NoBlobs()), secret, state), variable, secret
    )
    yield found
    if embedder is not None and not offline:
        yield _asked(short, variable, embedder)


def _asked(spec: EmbedderSpec, variable: str | None, embedder: Embedder) -> Finding:
    server = ModelSpec(provider=spec.provider, model=spec.model, base_url=spec.base_url)
    try:
        vectors = embedder.passages([*_ALIKE, _OTHER])
    except MalformedResponseError as error:
        return Finding(what="vectors", good=False, detail=f"{error}: is {spec.model!r} an embedding model?")
    except ModelError as error:
        return unreachable(server, variable, error)
    size = int(vectors.shape[1])
    if spec.dimensions not in (None, size):
        detail = f"{size} dimensions instead of the requested {spec.dimensions}: remove `dimensions`"
        return Finding(what="vectors", good=False, detail=detail)
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    if near <= far:
        found = f"texts with the same meaning are no closer ({near:.2f}) than others ({far:.2f})"
        detail = f"{found}: is {spec.model!r} an embedding model?"
        return Finding(what="vectors", good=None, detail=detail)
    return Finding(what="vectors", good=True, detail=f"{size} dimensions, from {place_of(server)}")
