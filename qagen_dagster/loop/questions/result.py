"""Converts a final state into the records that are stored: pairs, rejections, statistics."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from qagen_dagster.agents.questions.evidence.widening import look, surroundings
from qagen_dagster.agents.questions.mix import OTHER, Mix, label
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import Done, QAState
from qagen_dagster.records.ids import Mode, question_id
from qagen_dagster.records.questions import results

_EXHAUSTED = (results.DocumentEnd.EXHAUSTED_REPORTED, results.DocumentEnd.CONSECUTIVE_FAILURES)


def result_of(
    work: DocumentWork,
    models: QAModels,
    state: QAState,
    done: Done,
    calls: tuple[results.CallSummary, ...] = (),
) -> results.GenerationResult:
    """The result of a finished document."""
    view = work.context.view
    writers = {
        one.attempt: models.writing(view.document.id, one.attempt).generator.spec.name
        for one in state.accepted
    }
    accepted = pairs_of(state, work, writers, models.validator.spec.name)
    return results.GenerationResult(
        accepted=accepted,
        rejected=rejections_of(state, work),
        stats=_stats(work, state, done.end),
        document_id=view.document.id,
        document_version=view.document.version,
        fingerprint=work.fingerprint,
        end=done.end,
        end_detail=done.detail,
        viewed_pages=state.viewed_pages,
        verdicts=state.verdicts,
        calls=calls,
        text_sha256=view.document.text_sha256,
        surroundings={
            pair.id: tuple(surroundings(view.document, view.lines, one) for one in pair.evidence)
            for pair in accepted
        },
        looks=_looks(work, accepted),
        planned={} if work.limits.mix is None else work.limits.mix.named,
        retired=state.retired,
    )


ENDED = {
    results.DocumentEnd.CONSECUTIVE_FAILURES: "work stopped after too many failures in a row",
    results.DocumentEnd.BUDGET_EXHAUSTED: "the budget ended",
}


def why_ended(done: Done) -> str:
    """The reason why the work on a document gave no more questions."""
    return ENDED.get(done.end) or f"ended after {done.detail}"


def with_missing(detail: str, missing: Iterable[results.Shortfall]) -> str:
    """The text `detail` on the end of a document, with the numbers of missing questions."""
    named = ", ".join(f"{one.missing} {one.question_type}" for one in missing)
    return "; ".join(filter(None, (detail, f"missing: {named}" if named else "")))


def shortfalls(
    state: QAState, mix: Mix | None, why: Callable[[str], str], written: Mapping[str, int] | None = None
) -> tuple[results.Shortfall, ...]:
    """The kinds of the mix with too few accepted questions, with the reasons.

    `why` states what ended the search for a kind. `written` is the number of written questions by kind, if the state lacks some of them.
    """
    if mix is None:
        return ()
    found: list[results.Shortfall] = []
    left = mix.without([one.candidate for one in state.accepted])
    lost = [(mix.kinds(one.candidate), one.reason.value) for one in state.rejected if one.candidate.question]
    for at, counts in enumerate(mix.counts):
        for kind, missing in left.counts[at].items() if counts.keys() != {OTHER} else ():
            reasons = Counter(reason for kinds, reason in lost if kinds[at] == kind)
            accepted = counts[kind] - missing
            count = (written or {}).get(kind, accepted + reasons.total())
            rejected = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
            outcome = f"{count} written" + (f", rejected: {rejected}" if rejected else "")
            one = results.Shortfall(
                question_type=label(kind, counts),
                wanted=counts[kind],
                accepted=accepted,
                reason="; ".join(filter(None, (outcome, why(kind)))),
            )
            found += [one] if missing else []
    return tuple(found)


def _looks(work: DocumentWork, pairs: Iterable[results.QAPair]) -> dict[str, str]:
    """Hashes of the visuals that questions of visual mode are about, by label."""
    view = work.context.view
    labels = {label for pair in pairs if pair.category is Mode.VISUAL for label in pair.labels}
    return {one.label: look(view, one) for one in view.visuals if one.label in labels}


def pairs_of(
    state: QAState, work: DocumentWork, generator: str | Mapping[int, str], validator: str
) -> tuple[results.QAPair, ...]:
    """Accepted candidates as QAPairs, in order of acceptance. `generator` is the name of the model, or the names by attempt."""
    document = work.context.view.document
    return tuple(
        results.QAPair(
            **one.candidate.shared(results.QAPair),
            id=one.id
            or question_id(work.combination, document.id, one.candidate.question, one.candidate.answer),
            source_document=work.source_document,
            document_id=document.id,
            category=work.combination.mode,
            content_refs=one.candidate.visuals,
            generation_metadata=results.GenerationMetadata(
                generator_model=one.candidate.writer
                or (generator if isinstance(generator, str) else generator[one.attempt]),
                validator_model=validator,
                attempt_number=one.attempt,
            ),
        )
        for one in state.accepted
    )


def rejections_of(state: QAState, work: DocumentWork) -> tuple[results.RejectedQA, ...]:
    """Rejected candidates, in order."""
    return tuple(
        results.RejectedQA(
            **one.candidate.shared(results.RejectedQA, question_type=one.candidate.question_type or None),
            **one.shared(results.RejectedQA),
            rejection_reason=one.reason,
            rejection_detail=one.detail,
            document_id=work.context.view.document.id,
            attempt_number=one.attempt,
        )
        for one in state.rejected
    )


def _stats(work: DocumentWork, state: QAState, end: results.DocumentEnd) -> results.GenerationStats:
    reasons = Counter(one.reason.value for one in state.rejected)
    duplicates = reasons[results.RejectionReason.DUPLICATE.value]
    return results.GenerationStats(
        document_path=work.source_document,
        mode=work.combination.mode,
        target_count=work.limits.target_count,
        accepted_count=len(state.accepted),
        rejected_count=len(state.rejected),
        total_attempts=state.own_attempts,
        validation_pass_rate=_rate(len(state.accepted), state.validated_count),
        dedup_rejection_rate=_rate(duplicates, state.compared_count),
        exhausted=end in _EXHAUSTED,
        rejection_reasons=dict(sorted(reasons.items())),
    )


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
