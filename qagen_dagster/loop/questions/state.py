"""The state of the question loop of one document, its limits and its steps."""

from __future__ import annotations

from qagen_dagster.loop.questions.events import Recheck
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.results import (
    Candidate,
    DocumentEnd,
    DuplicateStep,
    RejectionReason,
    RetiredQA,
    VerdictRecord,
)


class QALimits(Record):
    """When the loop of a document ends."""

    target_count: int
    max_consecutive_failures: int
    max_attempts: int


class Rejected(Record):
    """A candidate that failed, with the feedback for the generator."""

    candidate: Candidate
    attempt: int
    reason: RejectionReason
    detail: str
    duplicate_of: str | None = None
    duplicate_score: float | None = None
    duplicate_step: DuplicateStep = ""
    first: Candidate | None = None  # before it was mended


class Accepted(Record):
    candidate: Candidate
    attempt: int
    id: str = ""  # of a question that an earlier version of the document had; else it is computed
    first: Candidate | None = None  # before it was mended


class Generate(Record):
    attempt: int


class Dedupe(Record):
    candidate: Candidate
    attempt: int


class Validate(Record):
    candidate: Candidate
    attempt: int


class Mend(Record):
    """The generator may correct the answer and the evidence of the current candidate once, in the same conversation."""

    candidate: Candidate
    attempt: int
    reason: RejectionReason
    detail: str
    calls: int  # of the conversation so far


class Done(Record):
    end: DocumentEnd
    detail: str = ""


Step = Generate | Dedupe | Validate | Mend | Done
MENDABLE = frozenset((RejectionReason.WRONG_ANSWER, RejectionReason.ANSWER_NOT_SUPPORTED))


class QAState(Record):
    """The state of the loop for a document."""

    accepted: tuple[Accepted, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    verdicts: tuple[VerdictRecord, ...] = ()
    viewed_pages: tuple[int, ...] = ()
    also_seen: tuple[str, ...] = ()  # what generators noted for later attempts
    attempts: int = 0
    consecutive_failures: int = 0
    compared_count: int = 0
    validated_count: int = 0
    current: Candidate | None = None
    is_unique: bool = False  # of the current candidate
    calls: int = 0  # that the current candidate took
    mend: Mend | None = None  # of the current candidate
    first: Candidate | None = None  # the current candidate before it was mended
    seen_before: tuple[tuple[int, ...], tuple[str, ...]] = (
        (),
        (),
    )  # by the generator of the current candidate: pages, notes
    exhausted: str | None = None
    recheck: tuple[Recheck, ...] = ()
    retired: tuple[RetiredQA, ...] = ()
    carried_attempts: int = 0  # of the attempts: those of earlier versions of the document, and rechecks

    @property
    def own_attempts(self) -> int:
        return self.attempts - self.carried_attempts
