"""The journal of one document, with the events of either strategy."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from qagen_dagster.errors import ResumeError
from qagen_dagster.loop.journal import Journal, JournalFile
from qagen_dagster.loop.questions.batch.state import (
    Answered,
    AnswerGraded,
    Asked,
    BatchEvent,
    BlindAnswered,
    Prepared,
    QuestionGraded,
    Reanswered,
    Rewritten,
)
from qagen_dagster.loop.questions.state import (
    Carried,
    Compared,
    Controlled,
    Event,
    Exhausted,
    GenerationFailed,
    Judged,
    Mended,
    Proposed,
)
from qagen_dagster.loop.questions.state_machine import is_malformed
from qagen_dagster.store import Store

E = TypeVar("E")
_OF_BOTH = (Carried, Proposed, Compared, Judged, Controlled)
_OF_AGENT = (GenerationFailed, Exhausted, Mended)
_OF_BATCH = (Asked, QuestionGraded, Rewritten, Answered, Prepared, AnswerGraded, BlindAnswered, Reanswered)
QuestionEvent: TypeAlias = Annotated[
    Carried
    | Proposed
    | GenerationFailed
    | Exhausted
    | Compared
    | Judged
    | Mended
    | Controlled
    | Asked
    | QuestionGraded
    | Rewritten
    | Answered
    | Prepared
    | AnswerGraded
    | BlindAnswered
    | Reanswered,
    Field(discriminator="kind"),
]


class QuestionJournal(Journal[QuestionEvent]):
    """The journal of one document."""


class DocumentJournal(JournalFile[QuestionEvent]):
    """The journal file of one document. It never ends with steps that malformed replies failed: they are taken again."""

    def __init__(self, store: Store, key: str, work: str) -> None:
        super().__init__(store, key, work, QuestionJournal)
        self._held: list[QuestionEvent] = []  # failed steps, until another step follows
        kept = list(self.events)
        while kept and _malformed(kept[-1]):
            kept.pop()
        self._journal = self._journal.model_copy(update={"events": tuple(kept)})

    def append(self, event: QuestionEvent) -> None:
        self._held.append(event)
        if not _malformed(event):
            for one in self._held:
                super().append(one)
            self._held.clear()


def open_journal(store: Store, key: str, work: str) -> DocumentJournal:
    """The journal of a document. Raises StoreError when it cannot be read, ResumeError when it belongs to other work."""
    return DocumentJournal(store, key, work)


def _malformed(event: QuestionEvent) -> bool:
    match event:
        case GenerationFailed():
            return is_malformed(event.reason)
        case Judged() | Asked() | Rewritten() | Answered():
            return is_malformed(event.failure)
        case _:
            return False


def agent_events(journal: DocumentJournal) -> tuple[Event, ...]:
    """The events of the agent strategy. Raises ResumeError if the journal has others."""
    found = tuple(event for event in journal.events if isinstance(event, (*_OF_BOTH, *_OF_AGENT)))
    return _all_of(found, journal)


def batch_events(journal: DocumentJournal) -> tuple[BatchEvent, ...]:
    """The events of the batch strategy. Raises ResumeError if the journal has others."""
    found = tuple(event for event in journal.events if isinstance(event, (*_OF_BOTH, *_OF_BATCH)))
    return _all_of(found, journal)


def _all_of(found: tuple[E, ...], journal: DocumentJournal) -> tuple[E, ...]:
    if len(found) != len(journal.events):
        raise ResumeError("the journal contains steps of another strategy")
    return found
