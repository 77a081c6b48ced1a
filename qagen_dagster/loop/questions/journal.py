"""The journal of one document, with the events of either strategy."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from qagen_dagster.errors import ResumeError
from qagen_dagster.loop.journal import Journal, JournalFile
from qagen_dagster.loop.questions.batch.events import (
    Answered,
    AnswerGraded,
    Asked,
    BatchEvent,
    QuestionGraded,
    Rewritten,
)
from qagen_dagster.loop.questions.state_machine import (
    Compared,
    Event,
    Exhausted,
    GenerationFailed,
    Judged,
    Proposed,
)
from qagen_dagster.store import Store

E = TypeVar("E")
_OF_BOTH = (Proposed, Compared, Judged)
_OF_AGENT = (GenerationFailed, Exhausted)
_OF_BATCH = (Asked, QuestionGraded, Rewritten, Answered, AnswerGraded)
QuestionEvent: TypeAlias = Annotated[
    Proposed
    | GenerationFailed
    | Exhausted
    | Compared
    | Judged
    | Asked
    | QuestionGraded
    | Rewritten
    | Answered
    | AnswerGraded,
    Field(discriminator="kind"),
]


class QuestionJournal(Journal[QuestionEvent]):
    """The journal of one document."""


DocumentJournal: TypeAlias = JournalFile[QuestionEvent]


def open_journal(store: Store, key: str, work: str) -> DocumentJournal:
    """The journal of a document. Raises ResumeError when it belongs to other work."""
    return JournalFile(store, key, work, QuestionJournal)


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
