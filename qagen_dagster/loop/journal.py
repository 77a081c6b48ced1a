"""The journal of one document or one exam item: every finished step, durable before the next one starts.

It is written whole and atomically after each step, so a killed process resumes at the exact step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import Field

from qagen_dagster.errors import ResumeError
from qagen_dagster.loop.exams.events import (
    Designed,
    ExamEvent,
    Examined,
    Implemented,
    Solved,
    Styled,
    Verified,
)
from qagen_dagster.loop.questions.batch.events import (
    Answered,
    AnswerGraded,
    Asked,
    BatchEvent,
    QuestionGraded,
    Rewritten,
)
from qagen_dagster.loop.questions.states import Compared, Event, Exhausted, GenerationFailed, Judged, Proposed
from qagen_dagster.records.base import Record
from qagen_dagster.store import Store

E = TypeVar("E")
_OF_BOTH = (Proposed, Compared, Judged)
_OF_AGENT = (GenerationFailed, Exhausted)
_OF_BATCH = (Asked, QuestionGraded, Rewritten, Answered, AnswerGraded)
_OF_EXAM = (Designed, Implemented, Examined, Solved, Verified, Styled)
AnyEvent = Annotated[
    Proposed
    | GenerationFailed
    | Exhausted
    | Compared
    | Judged
    | Asked
    | QuestionGraded
    | Rewritten
    | Answered
    | AnswerGraded
    | Designed
    | Implemented
    | Examined
    | Solved
    | Verified
    | Styled,
    Field(discriminator="kind"),
]


class Journal(Record):
    """Events in order, and the work they belong to."""

    work: str  # of a document: fingerprint of its version, models, prompts, corpus and scenario
    events: tuple[AnyEvent, ...] = ()


class JournalFile:
    """A journal under its key in the store."""

    def __init__(self, store: Store, key: str, work: str) -> None:
        self._write: Callable[[Journal], None] = lambda journal: store.write(key, journal)
        found = store.find(key, Journal)
        if found is not None and found.work != work:
            raise ResumeError(f"{store.path(key)} belongs to other work ({found.work}, not {work})")
        self._journal = found or Journal(work=work)

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        return self._journal.events

    def append(self, event: AnyEvent) -> None:
        """Make `event` durable."""
        self._journal = self._journal.model_copy(update={"events": (*self._journal.events, event)})
        self._write(self._journal)


def agent_events(journal: JournalFile) -> tuple[Event, ...]:
    """The events of the agent strategy. Raises ResumeError when there is another one among them."""
    found = tuple(event for event in journal.events if isinstance(event, (*_OF_BOTH, *_OF_AGENT)))
    return _all_of(found, journal)


def batch_events(journal: JournalFile) -> tuple[BatchEvent, ...]:
    """The events of the batch strategy. Raises ResumeError when there is another one among them."""
    found = tuple(event for event in journal.events if isinstance(event, (*_OF_BOTH, *_OF_BATCH)))
    return _all_of(found, journal)


def exam_events(journal: JournalFile) -> tuple[ExamEvent, ...]:
    """The events of an exam item. Raises ResumeError when there is one of a document among them."""
    return _all_of(tuple(event for event in journal.events if isinstance(event, _OF_EXAM)), journal)


def _all_of(found: tuple[E, ...], journal: JournalFile) -> tuple[E, ...]:
    if len(found) != len(journal.events):
        raise ResumeError("the journal holds steps of another strategy")
    return found
