"""The state machine of the question loop of one document: generate, deduplicate, validate, mend once, accept or reject.

States, order and exits follow "Single-Document Question Generator Architecture", section The Agent Loop. The code is pure: `next_step`
returns a step, an event reports the outcome of the step, and `transition` applies the event. So a journal of events restores any
state. `next_ahead` returns a step that may run at the same time. Its event is applied later, when `next_step` returns the same step.
"""

from qagen_dagster.agents.next_step import GiveUpReason, ended_by
from qagen_dagster.agents.questions.validator import rejection
from qagen_dagster.agents.runner import unfinished
from qagen_dagster.loop.questions import state as qa
from qagen_dagster.loop.questions.stopping import QALimits, end_of_failures, gave_nothing, nothing_of_use
from qagen_dagster.records.questions.results import Candidate, DocumentEnd, RejectionReason


def next_step(state: qa.QAState, limits: QALimits) -> qa.Step:
    """The next step. The target is checked before all other ends, so a document that has reached it never ends for another reason."""
    attempt = state.attempts + 1
    if state.mend is not None:
        return state.mend
    if state.current is not None:
        kind = qa.Validate if _is_compared(state) else qa.Dedupe
        return kind(candidate=state.current, attempt=attempt)
    if state.recheck:
        return qa.Validate(candidate=state.recheck[0].candidate, attempt=attempt)
    if len(wanted_only(state.accepted, limits)) >= limits.target_count:
        return qa.Done(end=DocumentEnd.TARGET_REACHED)
    if state.exhausted is not None:
        return qa.Done(end=DocumentEnd.EXHAUSTED_REPORTED, detail=state.exhausted)
    return end_of_failures(state, limits) or qa.Generate(attempt=attempt)


def wanted_only(accepted: tuple[qa.Accepted, ...], limits: QALimits) -> tuple[qa.Accepted, ...]:
    """The accepted questions that the limits want, in order. A journal may have more questions, if the target or the mix has changed."""
    if limits.mix is None:
        return accepted[: limits.target_count]
    left, kept = limits.mix, list[qa.Accepted]()
    for one in accepted:
        if not left.refusal(one.candidate):
            left = left.without([one.candidate])
            kept.append(one)
    return tuple(kept)


def next_ahead(state: qa.QAState, limits: QALimits) -> qa.Generate | None:
    """The generation that may run while the current candidate is checked.

    None if the loop may end with this candidate, accepted or rejected, because the generation might then be useless.
    """
    if state.current is None:
        return None
    checked = state.model_copy(update={"current": None, "mend": None, "attempts": state.attempts + 1})
    taken = {"accepted": (*state.accepted, qa.Accepted(candidate=state.current, attempt=checked.attempts))}
    accepted = next_step(checked.model_copy(update=taken | {"consecutive_failures": 0}), limits)
    failures = {"consecutive_failures": state.consecutive_failures + 1}
    rejected = next_step(checked.model_copy(update=failures), limits)
    return accepted if isinstance(accepted, qa.Generate) and accepted == rejected else None


def as_generator_sees(state: qa.QAState) -> qa.QAState:
    """The state that the generator's prompt shows: the newest candidate counts as accepted, in the form in which it was proposed. So the
    generator sees the same before and after the check of this candidate, and results do not depend on timing."""
    if state.current is not None:
        newest = qa.Accepted(candidate=state.first or state.current, attempt=state.attempts + 1)
        return state.model_copy(update={"accepted": (*state.accepted, newest), "current": None})
    taken = state.accepted[-1] if state.accepted else None
    if taken is not None and taken.attempt == state.attempts and taken.first is not None:
        newest = qa.Accepted(candidate=taken.first, attempt=taken.attempt)
        return state.model_copy(update={"accepted": (*state.accepted[:-1], newest)})
    last = state.rejected[-1] if state.rejected else None
    if last is None or last.attempt != state.attempts or not _was_checked(last):
        return state
    newest = qa.Accepted(candidate=last.first or last.candidate, attempt=last.attempt)
    return state.model_copy(update={"accepted": (*state.accepted, newest), "rejected": state.rejected[:-1]})


def as_generator_saw(state: qa.QAState) -> qa.QAState:
    """The state that the generator saw when it made the current candidate."""
    pages, notes = state.seen_before
    return as_generator_sees(
        state.model_copy(update={"current": None, "viewed_pages": pages, "also_seen": notes})
    )


def transition(state: qa.QAState, event: qa.Event) -> qa.QAState:
    """The state after `event`. Raises ValueError for an event that does not fit the state."""
    match event:
        case qa.Carried():
            _expect(state == qa.QAState(), event)
            return _carried(event)
        case qa.Proposed():
            _expect(_awaits_candidate(state), event)
            return _proposed(state, event)
        case qa.GenerationFailed():
            _expect(_awaits_candidate(state), event)
            nothing = Candidate(question="", answer="", evidence=(), question_type="")
            return _reject(
                _viewed(state, event.viewed_pages), nothing, RejectionReason.GENERATION_FAILED, event.reason
            )
        case qa.Exhausted():
            _expect(_awaits_candidate(state), event)
            return _viewed(state, event.viewed_pages).model_copy(update={"exhausted": event.reason})
        case qa.Compared():
            return _compared(state, event)
        case qa.Mended():
            return _mended(state, event)
        case qa.Judged() | qa.Controlled():
            return _judged(state, event)


def replay(events: tuple[qa.Event, ...], limits: QALimits) -> tuple[qa.QAState, int]:
    """Apply events until the limits end the loop. Returns the state and the number of applied events.

    If the target is smaller than when the journal was written, the last events are not applied.
    """
    state = qa.QAState()
    for taken, event in enumerate(events):
        state = ask_again(state, limits)
        if isinstance(next_step(state, limits), qa.Done):
            return state, taken
        state = transition(state, event)
    return state, len(events)


def ask_again(state: qa.QAState, limits: QALimits) -> qa.QAState:
    """The state from which a later run goes on. If `is_useless` holds for the end of the document, the models are asked again."""
    step = next_step(state, limits)
    return forgiven(state) if isinstance(step, qa.Done) and is_useless(state, step) else state


def forgiven(state: qa.QAState) -> qa.QAState:
    """The state in which the attempts so far do not count. Candidates that the validator failed to judge may be proposed again."""
    rejected = tuple(one for one in state.rejected if one.reason is not RejectionReason.VALIDATOR_FAILED)
    fresh = {"consecutive_failures": 0, "carried_attempts": state.attempts, "exhausted": None}
    return state.model_copy(update={**fresh, "rejected": rejected})


def is_useless(state: qa.QAState, done: qa.Done) -> bool:
    """Whether the document ended without any usable reply. Such an end says nothing about the document."""
    unjudged = any(one.reason is RejectionReason.VALIDATOR_FAILED for one in state.rejected)
    ends = {DocumentEnd.CONSECUTIVE_FAILURES, DocumentEnd.MAX_ATTEMPTS}
    ends |= {DocumentEnd.EXHAUSTED_REPORTED} if unjudged else set()
    return done.end in ends and nothing_of_use(state)


def is_malformed(failure: str) -> bool:
    """Whether a step failed because a reply of the model's server was unreadable."""
    return ended_by(failure, GiveUpReason.MALFORMED)


def check_replies(state: qa.QAState, done: qa.Done) -> None:
    """Raise MalformedResponseError if only malformed replies ended the document, or if `is_useless`. The document stays unfinished."""
    limit = DocumentEnd.CONSECUTIVE_FAILURES if state.accepted else DocumentEnd.MAX_ATTEMPTS
    failures = [one.detail for one in state.rejected if one.attempt][-state.consecutive_failures :]
    if (
        done.end in (DocumentEnd.CONSECUTIVE_FAILURES, limit)
        and failures
        and all(map(is_malformed, failures))
    ):
        raise unfinished(failures[-1])
    if is_useless(state, done):
        raise unfinished([one.detail for one in state.rejected if gave_nothing(one)][-1])


def check_recheck(state: qa.QAState, event: object) -> None:
    """Raise MalformedResponseError if a malformed reply would retire a question. The document stays unfinished."""
    if state.recheck and isinstance(event, qa.Judged) and is_malformed(event.failure):
        raise unfinished(event.failure)


def _awaits_candidate(state: qa.QAState) -> bool:
    return state.current is None and state.exhausted is None and not state.recheck


def _carried(event: qa.Carried) -> qa.QAState:
    attempts = max((one.attempt for one in event.kept), default=0)
    return qa.QAState(
        accepted=tuple(qa.Accepted(**one.shared(qa.Accepted)) for one in event.kept),
        verdicts=tuple(one.verdict for one in event.kept if one.verdict is not None),
        validated_count=len(event.kept),
        recheck=event.recheck,
        retired=event.retired,
        attempts=attempts,
        carried_attempts=attempts,
    )


def _was_checked(one: qa.Rejected) -> bool:
    """Whether a rejected candidate reached the deduplicator or the validator."""
    passed = one.candidate.gate is None and one.reason is not RejectionReason.GENERATION_FAILED
    return passed or one.first is not None


def _is_compared(state: qa.QAState) -> bool:
    """Whether the current candidate needs no further comparison. Without accepted questions, no candidate needs a comparison."""
    return state.is_unique or not state.accepted


def _proposed(before: qa.QAState, event: qa.Proposed) -> qa.QAState:
    candidate, noted = event.candidate, (*before.also_seen, *event.also_seen)
    state = _viewed(before, event.viewed_pages).model_copy(update={"also_seen": noted})
    if candidate.gate is not None:
        return _reject(state, candidate, candidate.gate, candidate.gate_detail)
    seen = (before.viewed_pages, before.also_seen)
    update = {"current": candidate, "is_unique": False, "seen_before": seen, "calls": len(event.calls)}
    return state.model_copy(update=update)


def _mended(state: qa.QAState, event: qa.Mended) -> qa.QAState:
    mend, corrected = state.mend, event.candidate
    if mend is None:
        raise ValueError(f"{event.kind} without a candidate to mend")
    unmended = state.model_copy(update={"mend": None})
    if corrected is None:
        return _reject(unmended, mend.candidate, mend.reason, mend.detail)
    same = corrected.question == mend.candidate.question
    changed = {"current": corrected, "first": mend.candidate, "is_unique": unmended.is_unique and same}
    kept = unmended.model_copy(update=changed)
    return kept if corrected.gate is None else _reject(kept, corrected, corrected.gate, corrected.gate_detail)


def _compared(state: qa.QAState, event: qa.Compared) -> qa.QAState:
    candidate = _current(state, event)
    _expect(not _is_compared(state), event)
    counted = state.model_copy(update={"compared_count": state.compared_count + 1})
    if event.duplicate_of is None:
        return counted.model_copy(update={"is_unique": True})
    _expect(0 <= event.duplicate_of < len(state.accepted), event)
    repeated = state.accepted[event.duplicate_of].candidate.question
    return _reject(counted, candidate, RejectionReason.DUPLICATE, event.detail, repeated, event)


def _fault(event: qa.Judged | qa.Controlled) -> tuple[RejectionReason, str] | None:
    if isinstance(event, qa.Controlled):
        return event.reason, event.detail
    if event.verdict is None:
        return RejectionReason.VALIDATOR_FAILED, event.failure
    return rejection(event.verdict)


def _rechecked(state: qa.QAState, event: qa.Judged | qa.Controlled) -> qa.QAState:
    first, attempt = state.recheck[0], state.attempts + 1
    verdicts = () if event.verdict is None else (event.verdict,)
    fault = _fault(event)
    update: dict[str, object] = {
        "recheck": state.recheck[1:],
        "attempts": attempt,
        "carried_attempts": state.carried_attempts + 1,
        "validated_count": state.validated_count + len(verdicts),
        "verdicts": (*state.verdicts, *verdicts),
    }
    if fault is None:
        kept = qa.Accepted(candidate=first.candidate, attempt=attempt, id=first.id)
        return state.model_copy(update=update | {"accepted": (*state.accepted, kept)})
    retired = first.otherwise.model_copy(update={"reason": fault[0], "detail": fault[1]})
    return state.model_copy(update=update | {"retired": (*state.retired, retired)})


def _judged(state: qa.QAState, event: qa.Judged | qa.Controlled) -> qa.QAState:
    if state.recheck:
        return _rechecked(state, event)
    candidate = _current(state, event)
    _expect(_is_compared(state) and state.mend is None, event)
    verdicts = () if event.verdict is None else (event.verdict,)
    # The verdict on a mended candidate replaces the verdict on its first form.
    before = state.verdicts if state.first is None else state.verdicts[:-1]
    judged = (*before, *verdicts)
    validated = state.validated_count + len(judged) - len(state.verdicts)
    counted = state.model_copy(update={"validated_count": validated, "verdicts": judged})
    fault = _fault(event)
    if fault is not None and fault[0] in qa.MENDABLE and event.may_mend and state.first is None:
        mend = qa.Mend(
            candidate=candidate,
            attempt=state.attempts + 1,
            reason=fault[0],
            detail=fault[1],
            calls=state.calls,
        )
        return counted.model_copy(update={"mend": mend})
    if fault is not None:
        return _reject(counted, candidate, *fault)
    accepted = qa.Accepted(candidate=candidate, attempt=state.attempts + 1, first=state.first)
    return counted.model_copy(
        update={
            "accepted": (*state.accepted, accepted),
            "attempts": state.attempts + 1,
            "consecutive_failures": 0,
            "current": None,
            "first": None,
        }
    )


def _reject(
    state: qa.QAState,
    candidate: Candidate,
    reason: RejectionReason,
    detail: str,
    of: str | None = None,
    found: qa.Compared | None = None,
) -> qa.QAState:
    attempt = state.attempts + 1
    rejected = qa.Rejected(
        candidate=candidate,
        attempt=attempt,
        reason=reason,
        detail=detail,
        duplicate_of=of,
        duplicate_score=found.score if found else None,
        duplicate_step=found.step if found else "",
        first=state.first,
    )
    return state.model_copy(
        update={
            "rejected": (*state.rejected, rejected),
            "attempts": attempt,
            # An unwanted question says nothing about the document, so only `max_attempts` counts such questions.
            "consecutive_failures": state.consecutive_failures + (reason is not RejectionReason.NOT_WANTED),
            "current": None,
            "first": None,
        }
    )


def _viewed(state: qa.QAState, pages: tuple[int, ...]) -> qa.QAState:
    return state.model_copy(update={"viewed_pages": tuple(dict.fromkeys((*state.viewed_pages, *pages)))})


def _current(state: qa.QAState, event: qa.Event) -> Candidate:
    if state.current is None:
        raise ValueError(f"{event.kind} without a current candidate")
    return state.current


def _expect(holds: bool, event: qa.Event) -> None:
    if not holds:
        raise ValueError(f"{event.kind} does not fit the current state")
