"""The journal of one piece of work (a document, an exam item), which records its finished steps.

The file is replaced atomically after each step, so a killed process resumes at the step where it stopped.
Each product declares its own events and a `Journal` of them.
"""

from typing import Generic, TypeVar

from qagen_dagster.errors import ResumeError
from qagen_dagster.records.base import Record
from qagen_dagster.store import Store

EventT = TypeVar("EventT")


class Journal(Record, Generic[EventT]):
    """Events in order, and the work that they belong to."""

    work: str  # for a document, the fingerprint of its version, models, prompts, corpus and scenario
    events: tuple[EventT, ...] = ()


class JournalFile(Generic[EventT]):
    """A journal under its key in the store. A damaged journal counts as empty, since the ledger has all paid responses.

    Raises ResumeError if the journal belongs to other work.
    """

    def __init__(self, store: Store, key: str, work: str, kind: type[Journal[EventT]]) -> None:
        self._store, self._key = store, key
        found = store.find_valid(key, kind)
        if found is not None and found.work != work:
            raise ResumeError(f"{store.path(key)} belongs to other work ({found.work}, not {work})")
        self._journal = found or kind(work=work)
        self.damaged = found is None and store.exists(key)

    @property
    def events(self) -> tuple[EventT, ...]:
        return self._journal.events

    def append(self, event: EventT) -> None:
        """Store the journal with `event` added."""
        self._journal = self._journal.model_copy(update={"events": (*self.events, event)})
        self._store.write(self._key, self._journal)
