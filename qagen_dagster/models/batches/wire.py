"""What a provider with batches implements, and how its bodies and files are read.

What belongs here: the protocol, and the code that both endpoints share. What does not: either endpoint
(`openai.py`, `anthropic.py`), and waiting (`batcher.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from qagen_dagster.errors import MalformedResponseError, ModelError, TransientModelError
from qagen_dagster.models.messages import Request
from qagen_dagster.models.wires import faults
from qagen_dagster.records.base import Record

Result = dict[str, Any] | ModelError
CLOCKS_DIFFER = timedelta(minutes=5)  # by at most this much: the server's clock and ours


class JobStatus(Record):
    """What the server says about a batch."""

    ended: bool
    note: str = ""  # how it ended, unless it ended well
    crowded: bool = False  # not worked on because too much was enqueued: to be sent again later


UNKNOWN = JobStatus(ended=True, note="the server does not know the batch")


class BatchProvider(Protocol):
    """The batch endpoint of one provider. Every method is one attempt and raises TransientModelError or PermanentModelError."""

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        """Send `requests` with their keys, and return the server's id of the batch."""
        ...

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """Ids of batches, sent after `since` with `count` requests, that may be the one of `tag`; the likeliest first."""
        ...

    def poll(self, job_id: str) -> JobStatus:
        """The status of the batch. A batch that the server no longer knows counts as ended."""
        ...

    def results(self, job_id: str) -> dict[str, Result]:
        """For each key of an ended batch, what `Provider.send` would have returned or raised. Keys may be missing."""
        ...


def expected(shape: type[faults.S], body: dict[str, Any]) -> faults.S:
    """`body` as `shape`. Raises TransientModelError: another form is a fault of the server, not a model's reply."""
    try:
        return faults.shaped(shape, body)
    except MalformedResponseError as error:
        failure = TransientModelError(str(error))
    raise failure


def lines(shape: type[faults.S], name: str, text: str, secret: str | None) -> list[faults.S]:
    """The lines of a file of results. A line that cannot be read is skipped, and its request has no result.

    Raises TransientModelError when there are lines and none of them can be read: it is the wrong file.
    """
    found: list[faults.S] = []
    failure: TransientModelError | None = None
    for line in text.split("\n"):  # not splitlines(): JSON may contain other line separators
        if line.strip():
            try:
                found.append(expected(shape, faults.json_body(name, line, secret)))
            except TransientModelError as error:
                failure = error
    if failure is not None and not found:
        raise failure
    return found
