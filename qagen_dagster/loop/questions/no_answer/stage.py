"""Adds questions without an answer to the result of a document, as many of each kind as the scenario's mix asks for.

The stage has a journal of its own, which depends on the texts of the whole corpus. When a document of the corpus changes, the
questions are proved again: unchanged requests cost nothing, because the ledger has the responses.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from qagen_dagster.agents.questions import no_answer, validator
from qagen_dagster.agents.questions.requirements import Mix
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.journal import Journal, JournalFile
from qagen_dagster.loop.questions.controls import compare
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages, Prover
from qagen_dagster.loop.questions.result import pairs_of, rejections_of, shortfalls
from qagen_dagster.loop.questions.state import Accepted, Dedupe, Judged, QAState, Rejected, Validate
from qagen_dagster.loop.questions.state_machine import wanted_only
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_config import NoAnswerKind
from qagen_dagster.records.questions.results import (
    CallSummary,
    Candidate,
    DocumentEnd,
    GenerationResult,
    QAPair,
    RejectionReason,
    VerdictRecord,
)
from qagen_dagster.records.questions.submissions import EvidenceQuote

ROUNDS = 3
KINDS = frozenset(kind.value for kind in NoAnswerKind)


class Tested(Record):
    """The validator was asked questions that the document answers. `fault`: why it proves nothing."""

    kind: Literal["tested"] = "tested"
    fault: str
    asked: int = 0
    answered: int = 0
    calls: tuple[CallSummary, ...] = ()


class Drafted(Record):
    """The generator proposed candidates, or an earlier result had them."""

    kind: Literal["drafted"] = "drafted"
    candidates: tuple[Candidate, ...]
    failure: str = ""
    carried: bool = False
    calls: tuple[CallSummary, ...] = ()


class Decided(Record):
    """A candidate was proved, or refused for a reason."""

    kind: Literal["decided"] = "decided"
    candidate: Candidate
    reason: RejectionReason | None = None
    detail: str = ""
    duplicate_of: str | None = None
    verdict: VerdictRecord | None = None
    calls: tuple[CallSummary, ...] = ()


EventT = TypeVar("EventT", Drafted, Decided)
Judge = Callable[[Validate], Judged]
StageEvent = Annotated[Tested | Drafted | Decided, Field(discriminator="kind")]


class StageJournal(Journal[StageEvent]):
    """The journal of the stage of one document."""


@dataclass
class _State:
    wanted: Mapping[NoAnswerKind, int]
    fault: str = ""
    tested: bool = False
    controls: tuple[int, int] = (0, 0)
    rounds: int = 0
    waiting: list[Candidate] = field(default_factory=list[Candidate])
    decided: list[Decided] = field(default_factory=list[Decided])

    def apply(self, event: StageEvent) -> None:
        match event:
            case Tested():
                self.tested, self.fault = True, event.fault
                self.controls = (event.asked, event.answered)
            case Drafted():
                self.rounds += not event.carried
                self.waiting += event.candidates
                self.fault = event.failure
            case Decided():
                self.decided.append(event)
                self.waiting.remove(
                    next(one for one in self.waiting if one.question == event.candidate.question)
                )

    @property
    def missing(self) -> dict[NoAnswerKind, int]:
        have = Counter(one.candidate.question_type for one in self.decided if one.reason is None)
        left = {kind: count - have[kind.value] for kind, count in self.wanted.items()}
        return {kind: count for kind, count in left.items() if count > 0}

    @property
    def next_candidate(self) -> Candidate | None:
        return next((one for one in self.waiting if NoAnswerKind(one.question_type) in self.missing), None)


def without_stages(result: GenerationResult) -> GenerationResult:
    """The result without questions without an answer and imported ones, as the loop of the document made it."""
    own = [pair for pair in result.accepted if pair.origin == "generated"]
    accepted = tuple(pair for pair in own if pair.no_answer is None)
    lost = [one for one in result.rejected if one.origin == "generated"]
    rejected = tuple(one for one in lost if one.question_type not in KINDS)
    shortfalls = tuple(one for one in result.shortfalls if one.question_type not in KINDS)
    whole = result.model_copy(update={"accepted": accepted, "rejected": rejected, "shortfalls": shortfalls})
    return counted(
        whole.model_copy(update={"no_answer_target": 0, "controls": (0, 0)}),
        result.stats.target_count - result.no_answer_target,
    )


def counted(result: GenerationResult, target: int) -> GenerationResult:
    """The result with the counts of its questions."""
    reasons = Counter(one.rejection_reason.value for one in result.rejected)
    stats = {
        "target_count": target,
        "accepted_count": len(result.accepted),
        "rejected_count": len(result.rejected),
        "rejection_reasons": dict(sorted(reasons.items())),
    }
    return result.model_copy(update={"stats": result.stats.model_copy(update=stats)})


LEAST_ANSWERED = 0.8  # share of the questions with an answer that a validator must answer if its "no answer" is to prove anything


def distrust(controls: Iterable[tuple[int, int]]) -> str:
    """Why the validator of several documents proves nothing, from the `controls` of their results; empty if it does."""
    known = list(controls)
    asked, answered = sum(one for one, _ in known), sum(one for _, one in known)
    if answered >= LEAST_ANSWERED * asked:
        return ""
    return f"the validator answered only {answered} of {asked} questions that the documents answer"


@dataclass
class JournaledStage:
    """The work on one document."""

    work: DocumentWork
    models: QAModels
    corpus: CorpusPassages
    journal: JournalFile[StageEvent]

    def event(self, kind: type[EventT], make: Callable[[], EventT], stored: Iterator[StageEvent]) -> EventT:
        """The next stored event; if there is none, the one that is made now. Raises ValueError for an event of another kind."""
        found = next(stored, None)
        if found is None:
            found = make()
            self.journal.append(found)
        if not isinstance(found, kind):
            raise ValueError(f"{found.kind} does not fit the journal")
        return found

    def refuse(
        self, candidate: Candidate, accepted: tuple[Accepted, ...], attempt: int
    ) -> tuple[Decided | None, tuple[CallSummary, ...]]:
        """The decision on a candidate with a fault of its own, or one that repeats an accepted question; and the calls. Raises ModelError."""
        if candidate.gate is not None:
            return Decided(candidate=candidate, reason=candidate.gate, detail=candidate.gate_detail), ()
        step = Dedupe(candidate=candidate, attempt=attempt)
        same = compare(step, QAState(accepted=accepted), self.work, self.models)
        if same.duplicate_of is None:
            return None, same.calls
        decided = Decided(
            candidate=candidate,
            reason=RejectionReason.DUPLICATE,
            detail=same.detail,
            duplicate_of=accepted[same.duplicate_of].candidate.question,
            calls=same.calls,
        )
        return decided, same.calls

    def decide(self, candidate: Candidate, state: QAState, judge: Judge) -> Decided:
        """Compare the candidate with the accepted questions, and let `judge` decide. A failure beside its verdict says that a passage
        is not needed.

        Raises ModelError.
        """
        early, before = self.refuse(candidate, state.accepted, state.attempts + 1)
        if early is not None:
            return early
        judged = judge(Validate(candidate=candidate, attempt=state.attempts + 1))
        fault = None if judged.verdict is None else validator.rejection(judged.verdict)
        if judged.verdict is None:
            fault = (RejectionReason.VALIDATOR_FAILED, judged.failure)
        elif judged.failure:
            fault = (RejectionReason.NOT_MULTI_HOP, judged.failure)
        return Decided(
            candidate=candidate,
            reason=None if fault is None else fault[0],
            detail="" if fault is None else fault[1],
            verdict=judged.verdict,
            calls=(*before, *judged.calls),
        )


def after(state: QAState, event: Decided) -> QAState:
    """The state after a decision."""
    attempt = state.attempts + 1
    verdicts = state.verdicts if event.verdict is None else (*state.verdicts, event.verdict)
    update: dict[str, object] = {"attempts": attempt, "verdicts": verdicts, "validated_count": len(verdicts)}
    if event.reason is None:
        update["accepted"] = (*state.accepted, Accepted(candidate=event.candidate, attempt=attempt))
    else:
        lost = Rejected(
            candidate=event.candidate,
            attempt=attempt,
            reason=event.reason,
            detail=event.detail,
            duplicate_of=event.duplicate_of,
        )
        update["rejected"] = (*state.rejected, lost)
    return state.model_copy(update=update)


@dataclass
class Stage(JournaledStage):
    """The stage of one document."""

    wanted: Mapping[NoAnswerKind, int]

    def add(self, result: GenerationResult, earlier: Sequence[QAPair] = ()) -> GenerationResult:
        """The result with proved questions, and the kinds of which some are missing.

        `earlier` are the questions without an answer of an earlier result, which are proved again first. Raises ModelError.
        """
        state, ended = _State(self.wanted), ""
        for event in self.journal.events:
            state.apply(event)
        try:
            while (step := self._step(state, result, earlier)) is not None:
                self.journal.append(step)
                state.apply(step)
        except BudgetExhaustedError as error:
            ended = str(error)
        return self._result(result, state, ended)

    def _step(self, state: _State, result: GenerationResult, earlier: Sequence[QAPair]) -> StageEvent | None:
        if not state.tested:
            prover = Prover(self.work, self.models, self.corpus)
            asked, missed, calls = prover.finds_answers(_with_answers(result))
            fault = "" if asked else "the document has no question on which the validator could be tested"
            if 2 * len(missed) >= asked > 0:
                fault = f"the validator found no answer to {len(missed)} of {asked} questions that the document answers, such as {missed[0]!r}"
            return Tested(fault=fault, asked=asked, answered=asked - len(missed), calls=calls)
        if not state.missing or (state.fault and not state.rounds):
            return None
        if earlier and not state.decided and not state.waiting and not state.rounds:
            known = tuple(pair.candidate() for pair in earlier)
            return Drafted(candidates=known, carried=True)
        candidate = state.next_candidate
        if candidate is not None:
            return self._decide(candidate, state, result)
        if state.rounds >= ROUNDS:
            return None
        rejected = [(one.candidate.question, one.detail) for one in state.decided if one.reason is not None]
        found = no_answer.propose(
            self.work.context,
            self.models.generator,
            state.missing,
            [*(pair.question for pair in result.accepted), *self._accepted(state)],
            rejected,
            state.rounds + 1,
        )
        fresh = {one.question: one for one in found.candidates}
        for one in state.decided:
            fresh.pop(one.candidate.question, None)
        return Drafted(candidates=tuple(fresh.values()), failure=found.failure, calls=found.calls)

    def _decide(self, candidate: Candidate, state: _State, result: GenerationResult) -> Decided:
        attempt = result.stats.total_attempts + len(state.decided) + 1
        claim = candidate.no_answer
        if claim is None:
            return Decided(candidate=candidate, reason=candidate.gate, detail=candidate.gate_detail)
        taken = [Accepted(candidate=pair.candidate(), attempt=0) for pair in result.accepted]
        taken += [Accepted(candidate=one.candidate, attempt=0) for one in state.decided if one.reason is None]
        early, before = self.refuse(candidate, tuple(taken), attempt)
        if early is not None:
            return early
        proved = Prover(self.work, self.models, self.corpus).prove(candidate, claim, attempt)
        return Decided(
            candidate=proved.candidate,
            reason=proved.reason,
            detail=proved.detail,
            calls=(*before, *proved.calls),
        )

    @staticmethod
    def _accepted(state: _State) -> list[str]:
        return [one.candidate.question for one in state.decided if one.reason is None]

    def _result(self, result: GenerationResult, state: _State, ended: str) -> GenerationResult:
        first = result.stats.total_attempts + 1
        numbered = list(enumerate(state.decided, first))
        accepted = tuple(
            Accepted(candidate=one.candidate, attempt=attempt)
            for attempt, one in numbered
            if one.reason is None
        )
        rejected = tuple(
            Rejected(
                candidate=one.candidate,
                attempt=attempt,
                reason=one.reason,
                detail=one.detail,
                duplicate_of=one.duplicate_of,
            )
            for attempt, one in numbered
            if one.reason is not None
        )
        mix = Mix(counts=({kind.value: count for kind, count in self.wanted.items()},))
        limits = self.work.limits.model_copy(update={"mix": mix})
        qa = QAState(accepted=wanted_only(accepted, limits), rejected=rejected)
        why = ended or state.fault or f"the generator was asked in {state.rounds} rounds"
        calls = tuple(call for event in self.journal.events for call in event.calls)
        pairs = pairs_of(qa, self.work, self.models.generator.spec.name, self.models.validator.spec.name)
        whole = result.model_copy(
            update={
                "accepted": (*result.accepted, *pairs),
                "rejected": (*result.rejected, *rejections_of(qa, self.work)),
                "calls": (*result.calls, *calls),
                "shortfalls": (*result.shortfalls, *shortfalls(qa, mix, lambda _kind: why)),
                "no_answer_target": sum(self.wanted.values()),
                "controls": state.controls,
                **({"end": DocumentEnd.BUDGET_EXHAUSTED, "end_detail": ended} if ended else {}),
            }
        )
        return counted(whole, result.stats.target_count + sum(self.wanted.values()))


def _with_answers(result: GenerationResult) -> list[str]:
    """Questions that the document answers: accepted ones, then those whose only fault is that a model answers them without it."""
    trivial = (
        one.question
        for one in result.rejected
        if one.rejection_reason is RejectionReason.TRIVIAL and one.evidence
    )
    return [*(pair.question for pair in result.accepted), *trivial]


def reproved(work: DocumentWork, earlier: GenerationResult) -> list[QAPair]:
    """The questions without an answer of an earlier result whose quotes are still in the document, at their present places."""
    found: list[QAPair] = []
    for pair in earlier.accepted:
        quotes = (EvidenceQuote(quote=one.quote, start_line=one.start_line) for one in pair.evidence)
        places = [work.context.evidence.find(one) for one in quotes]
        if pair.no_answer is not None and None not in places:
            found.append(pair.model_copy(update={"evidence": tuple(filter(None, places))}))
    return found
