"""What is written down about batches, whether it can be read, and what of it nobody needs: for people, never for a run.

What belongs here: counting and judging records and marks. What does not: their form (`models/batches/jobs.py`), entries
of the ledger (`report.py`), and how it is told (`cli/ledger.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from qagen_dagster.models.batches.jobs import JobBook, JobState
from qagen_dagster.records.base import Record
from qagen_dagster.store import Store

BATCHES = "batches"
FINISHED_DAYS = (
    2.0  # a run that looks for a batch it may have sent knows by the younger ones which are not it
)
_NAME = re.compile(r"[0-9a-f]{64}|job-[0-9a-f]{32}")


class BatchStats(Record):
    """The batches that the store knows of."""

    sending: int = 0  # perhaps the server has them, perhaps not
    open: int = 0  # the server has them, and their results are not stored yet
    finished: int = 0
    corrupt: int = 0  # records that cannot be read: their requests are asked again
    requests: int = 0  # in those that are not finished
    uncharged: int = 0  # requests that are in one, or were answered by one and charged to nobody yet
    oldest: str | None = None  # of those that are not finished; ISO 8601, UTC


def statistics(store: Store) -> BatchStats:
    """Count batches by state, and what waits for them."""
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
    """Tags of records that cannot be read."""
    return [tag for tag, job in JobBook(store.blobs(BATCHES)).records() if job is None]


def foreign(store: Store) -> Iterator[str]:
    """Store paths of files that are neither records nor marks."""
    blobs = store.blobs(BATCHES)
    yield from map(store.path, blobs.strays())
    keys = blobs.keys()
    yield from (blobs.path(key) for key in keys if not _NAME.fullmatch(key))


def finished(store: Store) -> list[str]:
    """Tags of batches that ended `FINISHED_DAYS` ago and more, and all of whose answers are charged.

    None while a batch may be under way without the server's id: which it is, is found out by those that it is not.
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
    """Remove records, of the unreadable ones those that still are; how many went."""
    book = JobBook(store.blobs(BATCHES))
    gone = [*(tag for tag in corrupt(store) if tag in unreadable), *ended]
    for tag in gone:
        book.forget(tag)
    return len(gone)
