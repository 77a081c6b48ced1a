"""The journal of one document: every finished step, durable before the next one starts.

It is written whole and atomically after each step, so a killed process resumes at the exact step.
"""

from __future__ import annotations

from collections.abc import Callable

from qagen_dagster.errors import ResumeError
from qagen_dagster.loop.qa import Event
from qagen_dagster.records.base import Record
from qagen_dagster.store import Store


class Journal(Record):
    """Events in order, and the work they belong to."""

    work: str  # fingerprint of document version, models, prompts, corpus and scenario
    events: tuple[Event, ...] = ()


class JournalFile:
    """A journal under its key in the store."""

    def __init__(self, store: Store, key: str, work: str) -> None:
        self._write: Callable[[Journal], None] = lambda journal: store.write(key, journal)
        found = store.find(key, Journal)
        if found is not None and found.work != work:
            raise ResumeError(f"{store.path(key)} belongs to other work ({found.work}, not {work})")
        self._journal = found or Journal(work=work)

    @property
    def events(self) -> tuple[Event, ...]:
        return self._journal.events

    def append(self, event: Event) -> None:
        """Make `event` durable."""
        self._journal = self._journal.model_copy(update={"events": (*self._journal.events, event)})
        self._write(self._journal)
