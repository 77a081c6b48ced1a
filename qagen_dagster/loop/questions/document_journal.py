"""The journal of one document, with the events of either strategy."""

from typing import Annotated, Any, TypeAlias, get_args

from pydantic import Field

from qagen_dagster.errors import ResumeError
from qagen_dagster.loop.journal import Journal, JournalFile
from qagen_dagster.loop.questions.batch.state import Answered, Asked, BatchEvent, Rewritten
from qagen_dagster.loop.questions.state import Event, GenerationFailed, Judged
from qagen_dagster.loop.questions.state_machine import is_malformed
from qagen_dagster.store import Store

QuestionEvent: TypeAlias = Annotated[Event | BatchEvent, Field(discriminator="kind")]


class QuestionJournal(Journal[QuestionEvent]):
    """The journal of one document."""


class DocumentJournal(JournalFile[QuestionEvent]):
    """The journal file of one document. Raises ResumeError if it belongs to other work. A step that failed because of a malformed reply is
    stored only when a step without such a reply follows. So a later run repeats the malformed steps at the end."""

    def __init__(self, store: Store, key: str, work: str) -> None:
        super().__init__(store, key, work, QuestionJournal)
        # steps with malformed replies, not yet followed by a step without one
        self._held: list[QuestionEvent] = []
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


def _malformed(event: QuestionEvent) -> bool:
    match event:
        case GenerationFailed():
            return is_malformed(event.reason)
        case Judged() | Asked() | Rewritten() | Answered():
            return is_malformed(event.failure)
        case _:
            return False


def events_of(union: Any, journal: DocumentJournal) -> tuple[Any, ...]:
    """The events of a strategy, whose kinds are in `union`. Raises ResumeError if the journal has other events."""
    kinds = get_args(get_args(union)[0])  # the classes in an annotated union
    if not all(isinstance(event, kinds) for event in journal.events):
        raise ResumeError("the journal contains steps of another strategy")
    return journal.events
