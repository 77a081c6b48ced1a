"""The events of the work on a document, its steps, and its state. All of them are values, and this module does no work.

The agents make the events that are imported here.
"""

from typing import Annotated, Literal, Self

from pydantic import Field

from qagen_dagster.agents.questions.deduplicator import Compared
from qagen_dagster.agents.questions.generator import Exhausted, GenerationFailed, Mended, Proposed
from qagen_dagster.agents.questions.validator import Judged
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions import results


class Kept(Record):
    """A question whose evidence and surroundings are unchanged. It keeps its id, its attempt and its verdict."""

    id: str
    candidate: results.Candidate
    attempt: int
    verdict: results.VerdictRecord | None = None


class Recheck(Record):
    """A question whose quotes are still in the document, but whose surroundings changed. The validator decides whether it stays.

    If the validator does not agree with the question's answer, `otherwise` is stored. It is the record of the retired question.
    """

    id: str
    candidate: results.Candidate
    otherwise: results.RetiredQA


class Carried(Record):
    """The questions of the former version of the document. `retired` also has the questions that were retired before."""

    kind: Literal["carried"] = "carried"
    kept: tuple[Kept, ...] = ()
    recheck: tuple[Recheck, ...] = ()
    retired: tuple[results.RetiredQA, ...] = ()
    calls: tuple[results.CallSummary, ...] = ()


class Controlled(Record):
    """The validator agreed with the answer, but a control rejected the question."""

    kind: Literal["controlled"] = "controlled"
    may_mend: Literal[False] = False
    verdict: results.VerdictRecord
    reason: results.RejectionReason
    detail: str
    calls: tuple[results.CallSummary, ...] = ()

    @classmethod
    def of(cls, judged: Judged, reason: results.RejectionReason, detail: str) -> Self:
        if judged.verdict is None:
            raise ValueError("a candidate without a verdict is not controlled")
        return cls(verdict=judged.verdict, reason=reason, detail=detail, calls=judged.calls)


Event = Annotated[
    Carried | Proposed | GenerationFailed | Exhausted | Compared | Judged | Mended | Controlled,
    Field(discriminator="kind"),
]


class Rejected(Record):
    """A candidate that failed, with the feedback for the generator."""

    candidate: results.Candidate
    attempt: int
    reason: results.RejectionReason
    detail: str
    duplicate_of: str | None = None
    duplicate_score: float | None = None
    duplicate_step: results.DuplicateStep = ""
    first: results.Candidate | None = None  # the candidate before it was corrected


class Accepted(Record):
    candidate: results.Candidate
    attempt: int
    id: str = ""  # set only if the question was carried over from a former version of the document; else it is computed
    first: results.Candidate | None = None  # the candidate before it was corrected


class Generate(Record):
    attempt: int


class Dedupe(Record):
    candidate: results.Candidate
    attempt: int


class Validate(Record):
    candidate: results.Candidate
    attempt: int


class Mend(Record):
    """Let the generator correct the answer and the evidence of the current candidate once, in the same conversation.

    A trivial question gets a new wording instead.
    """

    candidate: results.Candidate
    attempt: int
    reason: results.RejectionReason
    detail: str
    calls: int  # number of calls in the conversation so far


class Done(Record):
    end: results.DocumentEnd
    detail: str = ""


Step = Generate | Dedupe | Validate | Mend | Done
MENDABLE = frozenset(
    (
        results.RejectionReason.WRONG_ANSWER,
        results.RejectionReason.ANSWER_NOT_SUPPORTED,
        results.RejectionReason.TRIVIAL,
    )
)


class QAState(Record):
    """The state of the loop for a document."""

    accepted: tuple[Accepted, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    verdicts: tuple[results.VerdictRecord, ...] = ()
    viewed_pages: tuple[int, ...] = ()
    also_seen: tuple[str, ...] = ()  # facts that the generator noted for later attempts
    attempts: int = 0
    consecutive_failures: int = 0
    compared_count: int = 0
    validated_count: int = 0
    current: results.Candidate | None = None
    is_unique: bool = False  # whether the current candidate was compared and is not a duplicate
    calls: int = 0  # number of calls that made the current candidate
    mend: Mend | None = None  # the next step, if the current candidate is to be mended
    first: results.Candidate | None = None  # the current candidate before it was mended
    # `viewed_pages` and `also_seen` before the generator made the current candidate.
    seen_before: tuple[tuple[int, ...], tuple[str, ...]] = ((), ())
    exhausted: str | None = None
    recheck: tuple[Recheck, ...] = ()
    retired: tuple[results.RetiredQA, ...] = ()
    # the part of `attempts` that does not count: attempts of former versions, rechecks and forgiven attempts
    carried_attempts: int = 0

    @property
    def own_attempts(self) -> int:
        return self.attempts - self.carried_attempts
