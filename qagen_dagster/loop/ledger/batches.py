"""Counts, checks and removes records of provider batches in the store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from qagen_dagster.models.batch_jobs import JobBook, JobState
from qagen_dagster.records.base import Record
from qagen_dagster.store import Store

BATCHES = "batches"
FINISHED_DAYS = 2.0  # younger ones are kept: a run that looks for a batch it sent must exclude them
_NAME = re.compile(r"[0-9a-f]{64}|job-[0-9a-f]{32}")


class BatchStats(Record):
    """The batches in the store."""

    sending: int = 0  # the server may or may not have them
    open: int = 0  # the server has them, and their results are not stored yet
    finished: int = 0
    corrupt: int = 0  # unreadable records; their requests are sent again
    requests: int = 0  # in unfinished batches
    uncharged: int = 0  # requests sent in a batch that no run has counted as spending yet
    oldest: str | None = None  # of the unfinished ones; ISO 8601, UTC


def statistics(store: Store) -> BatchStats:
    """Count batches by state, and their requests."""
    book = JobBook(store.blobs(BATCHES))
    found = [job for _, job in book.records()]
    jobs = [job for job in found if job is not None]
    states = Counter(job.state for job in jobs)
    waiting = [job for job in jobs if job.state is not JobState.CLOSED]
    return BatchStats(
        sending=states[JobState.SENDING],
        open=states[JobState.OPEN],
        finished=states[JobState.CLOSED],
        corrupt=len(found) - len(jobs),
        requests=sum(len(job.keys) for job in waiting),
        uncharged=len(book.marks()),
        oldest=min(
            (job.created.astimezone(UTC).isoformat(timespec="seconds") for job in waiting), default=None
        ),
    )


def corrupt(store: Store) -> list[str]:
    """The tags of unreadable records."""
    return [tag for tag, job in JobBook(store.blobs(BATCHES)).records() if job is None]


def foreign(store: Store) -> Iterator[str]:
    """Store paths of files that are neither records nor marks."""
    blobs = store.blobs(BATCHES)
    yield from map(store.path, blobs.strays())
    keys = blobs.keys()
    yield from (blobs.path(key) for key in keys if not _NAME.fullmatch(key))


def finished(store: Store) -> list[str]:
    """The tags of batches that ended at least `FINISHED_DAYS` ago and whose responses are all counted as spending.

    Empty while a batch may be in progress without a known id: it is found by excluding these batches.
    """
    book = JobBook(store.blobs(BATCHES))
    jobs = [job for _, job in book.records() if job is not None]
    if any(job.state is JobState.SENDING for job in jobs):
        return []
    before = datetime.now(UTC) - timedelta(days=FINISHED_DAYS)
    wanted = set(book.marks().values())
    return [
        job.tag
        for job in jobs
        if job.state is JobState.CLOSED and job.created <= before and job.tag not in wanted
    ]


def forget(store: Store, unreadable: tuple[str, ...], ended: tuple[str, ...]) -> int:
    """Remove records that are finished or still unreadable. Returns the number of removed records."""
    book = JobBook(store.blobs(BATCHES))
    gone = [*(tag for tag in corrupt(store) if tag in unreadable), *ended]
    for tag in gone:
        book.forget(tag)
    return len(gone)
