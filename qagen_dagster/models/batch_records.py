"""Stores one record per batch and one mark per request, so that no batch is sent twice.

This module has the record, the marks and the order in which they are written. Sending, waiting and reading are in
`batcher.py`, and the server's answers in `wires/`.

The record and the marks are durable before a batch is sent. The server's id is stored as soon as it is known. The mark of a request
stays until the batch ends without a response to it, or until a caller has been charged, so that the spending of a killed run is counted.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import Field, ValidationError

from qagen_dagster.records.base import Record
from qagen_dagster.store import Blobs

_PREFIX = "job-"


class JobState(StrEnum):
    SENDING = "sending"  # the server may or may not have the batch
    OPEN = "open"  # the server has the batch; its results are not stored yet
    CLOSED = "closed"  # all results that the batch gave are stored


class Job(Record):
    """One batch. It contains no request and no response."""

    tag: str  # our name for the batch, which is sent if the endpoint accepts a name
    model: str  # `provider:model`
    keys: tuple[str, ...]  # ledger keys of its requests
    created: datetime
    state: JobState = JobState.SENDING
    id: str | None = None  # the server's id
    lost: dict[str, str] = Field(default_factory=dict)  # the requests without a response, with the reasons
    note: str = ""  # how the batch ended, as the server says


class JobBook:
    """The records and marks in `blobs`. A caller must have locked a request in the ledger before it changes the request's mark."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def begin(self, model: str, keys: Sequence[str]) -> Job:
        """Record a batch that is about to be sent."""
        tag = _PREFIX + uuid.uuid4().hex
        job = self._write(Job(tag=tag, model=model, keys=tuple(keys), created=datetime.now(UTC)))
        for key in keys:
            self._blobs.put(key, tag.encode("ascii"))
        return job

    def sent(self, job: Job, job_id: str) -> Job:
        """Record that the server has accepted the batch as `job_id`."""
        return self._write(job.model_copy(update={"id": job_id, "state": JobState.OPEN}))

    def close(self, job: Job, *, lost: Mapping[str, str], note: str) -> Job:
        """Record that the batch will give no more responses. The marks of the requests in `lost` are removed."""
        for key in lost:
            if self._blobs.get(key) == job.tag.encode("ascii"):
                self._blobs.remove(key)
        return self._write(
            job.model_copy(update={"state": JobState.CLOSED, "lost": dict(lost), "note": note})
        )

    def open_for(self, key: str) -> Job | None:
        """The batch that contains the request `key` and is not closed, or None."""
        mark = self._blobs.get(key)
        job = None if mark is None else self._read(mark.decode("ascii", "replace"))
        return job if job is not None and job.state is not JobState.CLOSED and key in job.keys else None

    def marked(self, key: str) -> bool:
        """Whether the request `key` was put into a batch and is not charged to a caller yet."""
        return self._blobs.get(key) is not None

    def unmark(self, key: str) -> None:
        """Record that `key` has been charged."""
        self._blobs.remove(key)

    def ids(self) -> frozenset[str]:
        """The servers' ids of all recorded batches."""
        return frozenset(job.id for _, job in self.records() if job is not None and job.id is not None)

    def records(self) -> Iterator[tuple[str, Job | None]]:
        """The tag and the record of each batch; None for a damaged record."""
        keys = self._blobs.keys()
        for key in keys:
            if key.startswith(_PREFIX):
                yield key, self._read(key)

    def marks(self) -> dict[str, str]:
        """The tags of batches by the keys of the requests that have not been charged yet."""
        keys = self._blobs.keys()
        found = {key: self._blobs.get(key) for key in keys if not key.startswith(_PREFIX)}
        return {key: tag.decode("ascii", "replace") for key, tag in found.items() if tag is not None}

    def forget(self, tag: str) -> None:
        """Remove the record of a batch that is no longer needed."""
        self._blobs.remove(tag)

    def _read(self, tag: str) -> Job | None:
        data = self._blobs.get(tag) if tag.startswith(_PREFIX) and tag.isascii() else None
        try:
            return None if data is None else Job.model_validate_json(data)
        except ValidationError:
            return None  # a damaged record counts as missing, so its requests are sent again

    def _write(self, job: Job) -> Job:
        self._blobs.put(job.tag, job.model_dump_json(indent=1).encode())
        return job
