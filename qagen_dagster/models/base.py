"""The interface of models: what a provider implements, and what all other code calls.

A `Provider` sends one request over its wire, which is the API of one kind of server, and reads one stored body. Between these steps,
the ledger stores the body. A `BatchProvider` sends many requests as one job. Agents use a `Model`: `respond(request) -> Response`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from qagen_dagster.errors import ModelError
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Record


class Provider(Protocol):
    """The client of one wire. It is built from a `ModelSpec`, and is safe to call from many threads."""

    @property
    def spec(self) -> ModelSpec: ...

    def send(self, request: Request) -> dict[str, Any]:
        """Send once, without retries, and return the body as JSON. Raises TransientModelError,
        ContextOverflowError or PermanentModelError."""
        ...

    def read(self, body: dict[str, Any]) -> Response:
        """The response in a fresh or stored body. Raises MalformedResponseError."""
        ...


class Wrapper:
    """The base class of providers that change what another provider sends or reads."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def read(self, body: dict[str, Any]) -> Response:
        return self._provider.read(body)


class Model(Protocol):
    """A model as agents call it."""

    @property
    def spec(self) -> ModelSpec: ...

    def respond(self, request: Request) -> Response:
        """Return the response to `request`, paid or replayed. Raises ModelError."""
        ...


BatchResult = dict[str, Any] | ModelError
CLOCKS_DIFFER = timedelta(minutes=5)  # maximum difference between the clocks of server and client


class JobStatus(Record):
    """The status of a batch at the server."""

    ended: bool
    note: str = ""  # how the batch ended; empty if it ended well
    crowded: bool = False  # not worked on because too much was enqueued, so that it must be sent again


UNKNOWN_JOB = JobStatus(ended=True, note="the server does not know the batch")


class BatchProvider(Protocol):
    """The batch endpoint of one provider. Every method is one attempt and raises TransientModelError or PermanentModelError."""

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        """Send `requests` with their keys, and return the server's id of the batch."""
        ...

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """The ids of the batches that may have been sent as `tag` after `since` with `count` requests, the likeliest first."""
        ...

    def poll(self, job_id: str) -> JobStatus:
        """The status of a batch. A batch that the server no longer knows counts as ended."""
        ...

    def results(self, job_id: str) -> dict[str, BatchResult]:
        """For each key, the body or the error that `Provider.send` would have returned or raised. Keys may be missing."""
        ...
