"""What a provider with batches implements, and how its bodies and files are read.

What belongs here: the protocol, and what both wires do alike. What does not: either wire
(`openai.py`, `anthropic.py`), and who waits for what (`desk.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from qagen_dagster.errors import MalformedResponseError, ModelError, TransientModelError
from qagen_dagster.models.messages import Request
from qagen_dagster.models.wires import faults
from qagen_dagster.records.base import Record

Result = dict[str, Any] | ModelError


class JobStatus(Record):
    """What the server says of a batch."""

    ended: bool
    note: str = ""  # how it ended, if not well
    crowded: bool = False  # not worked on, because too much was enqueued: to be sent again later


class BatchProvider(Protocol):
    """The batch endpoint of one wire. Every method is one try, and raises TransientModelError or PermanentModelError."""

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        """Send `requests` with their keys, and return the server's id of the batch."""
        ...

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """Ids of batches that may be the one of `tag`, sent after `since` with `count` requests; likely ones first."""
        ...

    def poll(self, job_id: str) -> JobStatus:
        """How it stands; ended also when the server no longer knows it."""
        ...

    def results(self, job_id: str) -> dict[str, Result]:
        """Of an ended batch by key what `Provider.send` would have returned or raised. Keys may be missing."""
        ...


def expected(shape: type[faults.S], body: dict[str, Any]) -> faults.S:
    """`body` as `shape`. Raises TransientModelError: another form is a server at fault, not a model's reply."""
    try:
        return faults.shaped(shape, body)
    except MalformedResponseError as error:
        failure = TransientModelError(str(error))
    raise failure


def lines(shape: type[faults.S], name: str, text: str, secret: str | None) -> list[faults.S]:
    """The lines of a file of results; one that cannot be read is passed over, its request has no result then.

    Raises TransientModelError when there are lines and none can be read: it is another file.
    """
    found: list[faults.S] = []
    failure: TransientModelError | None = None
    for line in text.split("\n"):  # no other character ends a line: JSON may hold them
        if line.strip():
            try:
                found.append(expected(shape, faults.json_body(name, line, secret)))
            except TransientModelError as error:
                failure = error
    if failure is not None and not found:
        raise failure
    return found
