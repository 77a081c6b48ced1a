"""Adds questions without an answer to the result of a document, as many of each kind as the scenario's mix asks for.

The stage has a journal of its own, which depends on the texts of the whole corpus. When a document of the corpus changes, the questions are
proved again. Unchanged requests cost nothing, because the ledger has their responses. `JournaledStage` is the base of all stages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from qagen_dagster.agents.questions import no_answer, validator
from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.journal import Journal, JournalFile
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.model_checks import compare
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages, Decided, Prover
from qagen_dagster.loop.questions.result import pairs_of, rejections_of, shortfalls
from qagen_dagster.loop.questions.state import Accepted, Dedupe, Judged, QAState, Rejected, Validate
from qagen_dagster.loop.questions.state_machine import wanted_only
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import AcrossKind, NoAnswerKind, Span
from qagen_dagster.records.questions.results import (
    CallSummary,
    Candidate,
    DocumentEnd,
    GenerationResult,
    QAPair,
    RejectedQA,
    RejectionReason,
    spans_documents,
)
from qagen_dagster.records.questions.submissions import EvidenceQuote

ROUNDS = 3  # maximum requests to the generator for new candidates
KINDS = frozenset(kind.value for kind in (*NoAnswerKind, *Span))


class Tested(Record):
    """The validator was tested with questions that the document answers. `fault` is why its proofs cannot be trusted; empty if they can."""

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


EventT = TypeVar("EventT", Tested, Drafted, Decided)
Judge = Callable[[Validate], Judged]
StageEvent = Annotated[Tested | Drafted | Decided, Field(discriminator="kind")]


class StageJournal(Journal[StageEvent]):
    """The journal of one stage of a document."""


def is_across(one: QAPair | RejectedQA) -> bool:
    """Whether the across-documents stage made this question. A rejected question may have lost its quotes."""
    if isinstance(one, QAPair):
        return one.no_answer is None and spans_documents(one.evidence)
    return spans_documents(one.evidence) or (not one.evidence and one.question_type in set(AcrossKind))


def without_stages(result: GenerationResult) -> GenerationResult:
    """The result without its unanswerable, cross-document and imported questions, and without their verdicts and counts. The calls of
    the stages stay, and the end of the document is not changed."""
    own = [pair for pair in result.accepted if pair.origin == "generated" and not is_across(pair)]
    accepted = tuple(pair for pair in own if pair.no_answer is None)
    lost = [one for one in result.rejected if one.origin == "generated" and not is_across(one)]
    rejected = tuple(one for one in lost if one.question_type not in KINDS)
    shortfalls = tuple(one for one in result.shortfalls if one.question_type not in KINDS)
    kept = {one.question for one in (*accepted, *rejected)}
    left_out = {one.question for one in (*result.accepted, *result.rejected)} - kept
    update = {
        "accepted": accepted,
        "rejected": rejected,
        "verdicts": tuple(one for one in result.verdicts if one.question not in left_out),
        "shortfalls": shortfalls,
        "planned": {kind: count for kind, count in result.planned.items() if kind not in KINDS},
        "no_answer_target": 0,
        "controls": (0, 0),
    }
    target = result.stats.target_count - result.no_answer_target
    return counted(result.model_copy(update=update), target)


def counted(result: GenerationResult, target: int) -> GenerationResult:
    """The result whose statistics have the present counts of its questions, and the target."""
    reasons = Counter(one.rejection_reason.value for one in result.rejected)
    stats = {
        "target_count": target,
        "accepted_count": len(result.accepted),
        "rejected_count": len(result.rejected),
        "rejection_reasons": dict(sorted(reasons.items())),
    }
    return result.model_copy(update={"stats": result.stats.model_copy(update=stats)})


LEAST_ANSWERED = 0.8  # minimum share of answerable questions that a validator must answer to be trusted


def distrust(controls: Iterable[tuple[int, int]]) -> str:
    """The reason not to trust the validator's proofs, from the `controls` (asked, answered) of all results; empty if there is none."""
    known = list(controls)
    asked, answered = sum(one for one, _ in known), sum(one for _, one in known)
    if answered >= LEAST_ANSWERED * asked:
        return ""
    return f"the validator answered only {answered} of {asked} questions that the documents answer"


@dataclass
class JournaledStage:
    """The work on one document. The journal keeps the steps, and a step in the journal is not taken again.

    Attributes:
        state: the questions that were there before the stage, and the questions that the stage has decided on.
    """

    work: DocumentWork
    models: QAModels
    corpus: CorpusPassages
    journal: JournalFile[StageEvent]
    state: QAState = field(default=QAState(), init=False)

    def __post_init__(self) -> None:
        self._unused = [one for one in self.journal.events if isinstance(one, Decided)]

    def drafted(self, number: int, make: Callable[[], Drafted]) -> Drafted:
        """The drafts of the round with this number, which counts from 0. Raises ModelError."""
        rounds = [one for one in self.journal.events if isinstance(one, Drafted) and not one.carried]
        return rounds[number] if number < len(rounds) else self.kept(make())

    def decided(self, candidate: Candidate, decide: Callable[[Candidate], Decided]) -> None:
        """Decide on a candidate. Raises ModelError."""
        found = next((one for one in self._unused if one.candidate.question == candidate.question), None)
        if found is None:
            found = self.kept(decide(candidate))
        else:
            self._unused.remove(found)
        self.state = after(self.state, found)

    def kept(self, event: EventT) -> EventT:
        """Store the event, and return it."""
        self.journal.append(event)
        return event

    def start(self, result: GenerationResult) -> None:
        """Begin with the accepted questions of a result, and continue its count of attempts."""
        known = tuple(Accepted(candidate=pair.candidate(), attempt=0) for pair in result.accepted)
        self.state = QAState(accepted=known, attempts=result.stats.total_attempts)

    @property
    def own(self) -> tuple[Accepted, ...]:
        """The accepted questions of the stage."""
        return tuple(one for one in self.state.accepted if one.attempt)

    def added(
        self, result: GenerationResult, accepted: Sequence[Accepted], ended: str, writer: str = ""
    ) -> GenerationResult:
        """The result with these questions of the stage, and with the questions that the stage has refused since `start`.

        `ended` states how the budget was exhausted, if it was. `writer` is the model that wrote the questions; empty means the generator.
        """
        outcome_state = self.state.model_copy(update={"accepted": tuple(accepted)})
        models = writer or self.models.generator.spec.name, self.models.validator.spec.name
        calls = (call for event in self.journal.events for call in event.calls)
        update = {
            "accepted": (*result.accepted, *pairs_of(outcome_state, self.work, *models)),
            "rejected": (*result.rejected, *rejections_of(outcome_state, self.work)),
            "verdicts": (*result.verdicts, *outcome_state.verdicts),
            "calls": (*result.calls, *calls),
        }
        if ended:
            update |= {"end": DocumentEnd.BUDGET_EXHAUSTED, "end_detail": ended}
        return counted(result.model_copy(update=update), result.stats.target_count)

    def with_share(self, result: GenerationResult, state: QAState, mix: Mix, why: str) -> GenerationResult:
        """The result with the stage's share of the target, and the shortfalls of the wanted `mix`; `state` has the questions found."""
        share, missing = sum(mix.named.values()), shortfalls(state, mix, lambda _kind: why)
        update = {
            "no_answer_target": result.no_answer_target + share,
            "shortfalls": (*result.shortfalls, *missing),
        }
        return counted(result.model_copy(update=update), result.stats.target_count + share)

    def refuse(self, candidate: Candidate) -> tuple[Decided | None, tuple[CallSummary, ...]]:
        """Returns (decision, calls). The decision is None unless the candidate has a fault or repeats a question. Raises ModelError."""
        if candidate.gate is not None:
            return Decided(candidate=candidate, reason=candidate.gate, detail=candidate.gate_detail), ()
        step, accepted = Dedupe(candidate=candidate, attempt=self.state.attempts + 1), self.state.accepted
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

    def decide(self, candidate: Candidate, judge: Judge) -> Decided:
        """Compare the candidate with the accepted questions, and let `judge` decide. If `judge` gives both a verdict and a failure, the
        question is rejected, because it does not need all its documents. Raises ModelError."""
        early, before = self.refuse(candidate)
        if early is not None:
            return early
        judged = judge(Validate(candidate=candidate, attempt=self.state.attempts + 1))
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
    """The stage that adds unanswerable questions to one document."""

    wanted: Mapping[NoAnswerKind, int]

    def add(self, result: GenerationResult, earlier: Sequence[QAPair] = ()) -> GenerationResult:
        """The result with proved questions, and with a shortfall for each kind that lacks questions. `earlier` are the unanswerable
        questions of an earlier result, which are proved again first. Raises ModelError."""
        self.start(result)
        ended, why = "", ""
        tested = next((one for one in self.journal.events if isinstance(one, Tested)), None)
        try:
            tested = tested or self.kept(self._test(result))
            why = tested.fault
            if earlier and not why:
                known = tuple(pair.candidate() for pair in earlier)
                drafts = (one for one in self.journal.events if isinstance(one, Drafted) and one.carried)
                self._decide_all(next(drafts, None) or self.kept(Drafted(candidates=known, carried=True)))
            for number in range(0 if why else ROUNDS):
                if self._missing:
                    drafted = self.drafted(number, partial(self._propose, number + 1))
                    self._decide_all(drafted)
                    why = drafted.failure or f"the generator was asked in {number + 1} rounds"
        except BudgetExhaustedError as error:
            ended = str(error)
        mix = Mix(counts=({kind.value: count for kind, count in self.wanted.items()},))
        accepted = wanted_only(self.own, self.work.limits.model_copy(update={"mix": mix}))
        found = self.state.model_copy(update={"accepted": accepted})
        whole = self.with_share(self.added(result, accepted, ended), found, mix, ended or why)
        controls = (0, 0) if tested is None else (tested.asked, tested.answered)
        return whole.model_copy(update={"controls": controls})

    @property
    def _missing(self) -> dict[NoAnswerKind, int]:
        have = Counter(one.candidate.question_type for one in self.own)
        left = {kind: count - have[kind.value] for kind, count in self.wanted.items()}
        return {kind: count for kind, count in left.items() if count > 0}

    def _test(self, result: GenerationResult) -> Tested:
        prover = Prover(self.work, self.models, self.corpus)
        asked, missed, calls = prover.finds_answers(_with_answers(result))
        fault = "" if asked else "the document has no question on which the validator could be tested"
        if 2 * len(missed) >= asked > 0:
            fault = f"the validator found no answer to {len(missed)} of {asked} questions that the document answers, such as {missed[0]!r}"
        return Tested(fault=fault, asked=asked, answered=asked - len(missed), calls=calls)

    def _propose(self, number: int) -> Drafted:
        known = [one.candidate.question for one in self.state.accepted]
        rejected = [(one.candidate.question, one.detail) for one in self.state.rejected]
        context, model = self.work.context, self.models.generator
        found = no_answer.propose(context, model, self._missing, known, rejected, number)
        decided = {one.candidate.question for one in (*self.own, *self.state.rejected)}
        fresh = {one.question: one for one in found.candidates if one.question not in decided}
        return Drafted(candidates=tuple(fresh.values()), failure=found.failure, calls=found.calls)

    def _decide_all(self, drafted: Drafted) -> None:
        for candidate in drafted.candidates:
            if NoAnswerKind(candidate.question_type) in self._missing:
                self.decided(candidate, self._decide)

    def _decide(self, candidate: Candidate) -> Decided:
        claim = candidate.no_answer
        if claim is None:
            return Decided(candidate=candidate, reason=candidate.gate, detail=candidate.gate_detail)
        early, before = self.refuse(candidate)
        if early is not None:
            return early
        prover = Prover(self.work, self.models, self.corpus)
        proved = prover.prove(candidate, claim, self.state.attempts + 1)
        return proved.model_copy(update={"calls": (*before, *proved.calls)})


def _with_answers(result: GenerationResult) -> list[str]:
    """Questions that the document answers: accepted questions, then questions that were rejected only as trivial."""
    trivial = (
        one.question
        for one in result.rejected
        if one.rejection_reason is RejectionReason.TRIVIAL and one.evidence
    )
    return [*(pair.question for pair in result.accepted), *trivial]


def reproved(work: DocumentWork, earlier: GenerationResult) -> list[QAPair]:
    """The unanswerable questions of an earlier result that have all their quotes in the document, with the present places of the quotes."""
    found: list[QAPair] = []
    for pair in earlier.accepted:
        quotes = (EvidenceQuote(quote=one.quote, start_line=one.start_line) for one in pair.evidence)
        places = [work.context.evidence.find(one) for one in quotes]
        if pair.no_answer is not None and None not in places:
            found.append(pair.model_copy(update={"evidence": tuple(filter(None, places))}))
    return found
