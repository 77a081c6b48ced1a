"""The narrow waist: what a provider implements, and what everything above calls.

A `Provider` sends one request over its wire and reads one stored body; between the two, the ledger
writes the body down. A `Model` is what agents hold: `respond(request) -> Response`.
"""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import Field

from qagen_dagster.models.messages import Request, Response
from qagen_dagster.records.base import Record

EMBEDDED_VERSION = "3"  # raised when the embedded mechanisms would answer a request differently


class ModelSpec(Record):
    """A model as a profile binds it to a role."""

    provider: str  # a name in models/registry.py: openai, openai_compatible, anthropic, embedded, scripted
    model: str
    temperature: float | None = None  # None: the provider's default, and nothing is sent
    max_output_tokens: int = Field(default=4096, ge=16)
    base_url: str | None = None
    api_key_env: str | None = None  # name of the variable, never its value
    timeout_seconds: float = Field(default=120.0, gt=0)
    tool_calling: str = Field(default="native", pattern="^(native|emulated)$")
    images: bool = True  # whether the model takes pictures
    structured_output: str = Field(default="json_schema", pattern="^(json_schema|json_object|none)$")
    max_image_pixels: int = Field(default=1_150_000, ge=10_000)
    usd_per_million_input: float | None = Field(default=None, ge=0)
    usd_per_million_output: float | None = Field(default=None, ge=0)
    usd_per_million_cached: float | None = Field(default=None, ge=0)  # None: as input
    usd_per_million_cache_write: float | None = Field(default=None, ge=0)  # None: see pricing.py
    max_attempts: int = Field(
        default=8, ge=1
    )  # of one call, transport failures only; 8 outlive 30 s of outage
    deadline_seconds: float = Field(default=600.0, gt=0)  # of one call with all its attempts
    requests_per_minute: float | None = Field(default=None, gt=0)  # None: no limit; shared, see limits.py
    tokens_per_minute: int | None = Field(default=None, gt=0)  # input and output together
    concurrency: int | None = Field(default=None, ge=1, le=1000)  # attempts under way at once
    execution: str = Field(
        default="direct", pattern="^(direct|batch)$"
    )  # batch: see batch.py for which requests
    batch_window_seconds: float = Field(default=5.0, ge=0)  # how long requests are collected for one batch
    batch_poll_seconds: float = Field(default=30.0, gt=0)  # between two looks at a batch under way
    batch_deadline_seconds: float = Field(
        default=90_000.0, gt=0
    )  # waited for a batch; servers take up to 24 h
    batch_discount: float = Field(default=0.5, ge=0, le=1)  # share of the price that a batch saves
    options: dict[str, Any] = Field(default_factory=dict)  # sent as they are with every request

    @property
    def name(self) -> str:
        """`provider:model`, as records show it."""
        return f"{self.provider}:{self.model}"

    def identity(self) -> dict[str, Any]:
        """What of this spec can change a response: part of the ledger key and of fingerprints."""
        said = self.model_dump(
            mode="json",
            include={
                "provider", "model", "temperature", "max_output_tokens", "base_url", "tool_calling",
                "images", "structured_output", "max_image_pixels", "options",
            },
        )  # fmt: skip
        return said | {"version": EMBEDDED_VERSION} if self.provider == "embedded" else said


class Provider(Protocol):
    """One wire. Built from a `ModelSpec`; holds a client; safe to call from many threads."""

    @property
    def spec(self) -> ModelSpec: ...

    def send(self, request: Request) -> dict[str, Any]:
        """Send once, without retries of its own, and return the body as JSON.

        Raises TransientModelError, ContextOverflowError or PermanentModelError.
        """
        ...

    def read(self, body: dict[str, Any]) -> Response:
        """Read a body, fresh or stored. Raises MalformedResponseError."""
        ...


class Model(Protocol):
    """What agents call."""

    @property
    def spec(self) -> ModelSpec: ...

    def respond(self, request: Request) -> Response:
        """Give the response to `request`, paid or replayed. Raises ModelError."""
        ...
