"""What is written down about batches, so that none is sent twice: a record per batch, a mark per request.

What belongs here: the record, the marks and their order on disk. What does not: asking, waiting and reading
(`batcher.py`), and what a server says (`openai.py`, `anthropic.py`).

The record and the marks are durable before a batch is sent, the server's id as soon as it is known. A mark
stays until the response it stands for has been charged to somebody, so that also what a killed run paid is counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from pydantic import Field, ValidationError

from qagen_dagster.records.base import Record

_PREFIX = "job-"


class JobBlobs(Protocol):
    """Where records and marks lie; `put` is atomic and durable."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...

    def remove(self, key: str) -> None: ...

    def keys(self) -> Iterator[str]: ...


class JobState(StrEnum):
    SENDING = "sending"  # perhaps the server has it, perhaps not
    OPEN = "open"  # the server has it; its results are not stored yet
    CLOSED = "closed"  # all that can be had of it is stored


class Job(Record):
    """One batch. It holds no request and no response."""

    tag: str  # ours; sent along where the server takes it
    model: str  # `provider:model`
    keys: tuple[str, ...]  # addresses of its requests
    created: datetime
    state: JobState = JobState.SENDING
    id: str | None = None  # the server's
    lost: dict[str, str] = Field(default_factory=dict)  # requests without a response, and why
    note: str = ""  # how the server says it ended


class JobBook:
    """Records and marks over `blobs`. Who changes a request's mark holds that request in the ledger."""

    def __init__(self, blobs: JobBlobs) -> None:
        self._blobs = blobs

    def begin(self, model: str, keys: Sequence[str]) -> Job:
        """Write down a batch that is about to be sent."""
        tag = _PREFIX + uuid.uuid4().hex
        job = self._write(Job(tag=tag, model=model, keys=tuple(keys), created=datetime.now(UTC)))
        for key in keys:
            self._blobs.put(key, tag.encode("ascii"))
        return job

    def sent(self, job: Job, job_id: str) -> Job:
        """The server has taken it."""
        return self._write(job.model_copy(update={"id": job_id, "state": JobState.OPEN}))

    def close(self, job: Job, *, lost: Mapping[str, str], note: str) -> Job:
        """Nothing more will come of it. What is lost loses its mark."""
        for key in lost:
            if self._blobs.get(key) == job.tag.encode("ascii"):
                self._blobs.remove(key)
        return self._write(
            job.model_copy(update={"state": JobState.CLOSED, "lost": dict(lost), "note": note})
        )

    def open_for(self, key: str) -> Job | None:
        """The batch that holds the request `key` and is not closed."""
        mark = self._blobs.get(key)
        job = None if mark is None else self._read(mark.decode("ascii", "replace"))
        return job if job is not None and job.state is not JobState.CLOSED and key in job.keys else None

    def marked(self, key: str) -> bool:
        """Whether `key` went by a batch and has not been charged to anybody."""
        return self._blobs.get(key) is not None

    def unmark(self, key: str) -> None:
        """`key` is charged."""
        self._blobs.remove(key)

    def ids(self) -> frozenset[str]:
        """The servers' ids of all batches that are written down."""
        return frozenset(job.id for _, job in self.records() if job is not None and job.id is not None)

    def records(self) -> Iterator[tuple[str, Job | None]]:
        """All batches by tag; None for one whose record is damaged."""
        keys = self._blobs.keys()
        for key in keys:
            if key.startswith(_PREFIX):
                yield key, self._read(key)

    def marks(self) -> dict[str, str]:
        """The requests that are charged to nobody yet, each with the tag of its batch."""
        keys = self._blobs.keys()
        found = {key: self._blobs.get(key) for key in keys if not key.startswith(_PREFIX)}
        return {key: tag.decode("ascii", "replace") for key, tag in found.items() if tag is not None}

    def forget(self, tag: str) -> None:
        """Remove the record of a batch that nobody asks for any more."""
        self._blobs.remove(tag)

    def _read(self, tag: str) -> Job | None:
        data = self._blobs.get(tag) if tag.startswith(_PREFIX) and tag.isascii() else None
        try:
            return None if data is None else Job.model_validate_json(data)
        except ValidationError:
            return None  # damaged: as if it had never been, so that its requests are asked again

    def _write(self, job: Job) -> Job:
        self._blobs.put(job.tag, job.model_dump_json(indent=1).encode())
        return job
