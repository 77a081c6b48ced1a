"""Does an embedder do what its profile says? One call of three short texts; nothing is stored or tried again.

What belongs here: the call and one line on what would fail. How servers are told apart by their refusals is `probe.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from qagen_dagster.errors import ConfigError, MalformedResponseError, ModelError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.probe import SECONDS, Finding, place_of, unreachable
from qagen_dagster.models.vectors.base import Embedder, EmbedderSpec
from qagen_dagster.models.vectors.registry import KEY_ENV, build_embedder

_ALIKE = ("The ferry leaves at nine in the morning.", "At 9 a.m. the boat departs.")
_OTHER = "Photosynthesis turns light into sugar."


class _Nowhere:
    """`Blobs` that forget."""

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, data: bytes) -> None:
        """Nothing is kept."""

    def lock_file(self, key: str) -> Path | None:
        return None


def probe_embedder(
    spec: EmbedderSpec, secret: Callable[[str], str | None], state: Path, *, offline: bool = False
) -> Iterator[Finding]:
    """Look at one embedder. `secret` looks up an environment variable, `state` is where processes share limits."""
    if spec.local:
        yield Finding(what="embedder", good=True, detail="runs in this process, without key or server")
        return
    variable = spec.api_key_env or KEY_ENV.get(spec.provider)
    seconds = min(spec.timeout_seconds, SECONDS)
    short = spec.model_copy(
        update={"timeout_seconds": seconds, "deadline_seconds": seconds, "max_attempts": 1, "batch_size": 8}
    )
    try:
        embedder = build_embedder(short, Ledger(_Nowhere()), secret, state)
    except ConfigError as error:
        missing = variable is not None and not (secret(variable) or "").strip()
        yield Finding(what="key" if missing else "settings", good=False, detail=error.message)
        return
    said = "no key is sent" if variable is None else f"{variable} is set"
    yield Finding(what="key", good=None if variable is None else True, detail=said)
    if not offline:
        yield _asked(short, variable, embedder)


def _asked(spec: EmbedderSpec, variable: str | None, embedder: Embedder) -> Finding:
    server = ModelSpec(provider=spec.provider, model=spec.model, base_url=spec.base_url)
    try:
        vectors = embedder.passages([*_ALIKE, _OTHER])
    except MalformedResponseError as error:
        return Finding(what="vectors", good=False, detail=f"{error}: is {spec.model!r} a model that embeds?")
    except ModelError as error:
        return unreachable(server, variable, error)
    size = int(vectors.shape[1])
    if spec.dimensions not in (None, size):
        detail = f"{size} dimensions, not the {spec.dimensions} asked for: leave `dimensions` out"
        return Finding(what="vectors", good=False, detail=detail)
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    if near <= far:
        detail = f"texts of one meaning are no nearer ({near:.2f}) than others ({far:.2f}): is {spec.model!r} a model that embeds?"
        return Finding(what="vectors", good=None, detail=detail)
    return Finding(what="vectors", good=True, detail=f"{size} dimensions, from {place_of(server)}")
