from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.result import result_of
from qagen_dagster.loop.questions.run_document import DocumentSteps
from qagen_dagster.loop.questions.state import Accepted, Done, Generate, QAState
from qagen_dagster.loop.questions.state_machine import next_step, replay
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.results import Candidate, DocumentEnd, GenerationResult, RejectionReason
from tests.support.documents import context_of, visual_context
from tests.support.play import Outcome, Play

WORK = DocumentWork(
    Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL),
    context_of(),
    QALimits(target_count=3, max_consecutive_failures=3, max_attempts=12),
    fingerprint="f" * 16,
)


def empty_result(end: DocumentEnd, detail: str) -> GenerationResult:
    return result_of(WORK, Play([]).models, QAState(), Done(end=end, detail=detail))


def play_out(piece: list[Outcome]) -> GenerationResult:
    play = Play([*piece, *[Outcome.EXHAUSTED] * 20])
    state, events = replay((), WORK.limits)[0], ()
    with DocumentSteps(WORK, play.models) as steps:
        while not isinstance(step := next_step(state, WORK.limits), Done):
            events = (*events, steps.perform(step, state))
            state, _ = replay(events, WORK.limits)
    calls = tuple(call for event in events for call in event.calls)
    return result_of(WORK, play.models, state, step, calls)


@given(st.lists(st.sampled_from(Outcome), max_size=14))
def test_statistics_are_those_of_the_records(piece: list[Outcome]) -> None:
    result = play_out(piece)
    stats = result.stats
    assert (stats.accepted_count, stats.rejected_count) == (len(result.accepted), len(result.rejected))
    assert stats.accepted_count + stats.rejected_count == stats.total_attempts
    assert stats.rejection_reasons == Counter(one.rejection_reason.value for one in result.rejected)
    assert stats.accepted_count <= stats.target_count == 3
    numbers = [one.generation_metadata.attempt_number for one in result.accepted]
    numbers += [one.attempt_number for one in result.rejected]
    assert sorted(numbers) == list(range(1, stats.total_attempts + 1))
    ended_dry = (DocumentEnd.EXHAUSTED_REPORTED, DocumentEnd.CONSECUTIVE_FAILURES)
    assert stats.exhausted == (result.end in ended_dry)


@given(st.lists(st.sampled_from(Outcome), max_size=14))
def test_rates_are_none_where_nothing_was_measured(piece: list[Outcome]) -> None:
    result = play_out(piece)
    validated, passed = len(result.verdicts), len(result.accepted)
    if not validated:
        assert result.stats.validation_pass_rate is None
    else:
        assert result.stats.validation_pass_rate == round(passed / validated, 4)
    comparisons = {call.attempt for call in result.calls if call.role == "deduplicator"}
    duplicates = [one for one in result.rejected if one.rejection_reason is RejectionReason.DUPLICATE]
    if not comparisons:
        assert result.stats.dedup_rejection_rate is None
    else:
        assert result.stats.dedup_rejection_rate == round(len(duplicates) / len(comparisons), 4)


def test_an_accepted_question_has_everything_it_is_published_with() -> None:
    result = play_out([Outcome.WRONG, Outcome.ACCEPTED])
    (pair,) = result.accepted
    assert pair.id == question_id(WORK.combination, "manual.txt", pair.question, pair.answer)
    assert (pair.source_document, pair.document_id) == ("documents/manual.txt", "manual.txt")
    assert (pair.category, pair.content_refs, pair.question_type) == (Mode.TEXTUAL, (), "factual")
    assert pair.generation_metadata.model_dump() == {
        "generator_model": "scripted:generator",
        "validator_model": "scripted:validator",
        "attempt_number": 2,
    }
    assert pair.evidence[0].start_line == 3
    assert (result.document_version, result.fingerprint) == (WORK.context.view.document.version, "f" * 16)
    assert [verdict.attempt for verdict in result.verdicts] == [1, 2]


def test_a_rejected_candidate_keeps_its_words_and_reason() -> None:
    result = play_out([Outcome.ACCEPTED, Outcome.DUPLICATE, Outcome.NO_CALL])
    duplicate, silent = result.rejected
    assert (duplicate.rejection_reason, duplicate.duplicate_of) == (
        RejectionReason.DUPLICATE,
        result.accepted[0].question,
    )
    assert (silent.rejection_reason, silent.question, silent.duplicate_of) == (
        RejectionReason.GENERATION_FAILED,
        "",
        None,
    )
    assert silent.rejection_detail.startswith("no_tool_call: ")


def test_every_call_is_in_the_result_in_order() -> None:
    result = play_out([Outcome.ACCEPTED, Outcome.WRONG])
    roles = [(call.role, call.attempt) for call in result.calls]
    generator, validator = [("generator", 1)] * 2, [("validator", 1)] * 3
    assert roles[:5] == generator + validator
    assert roles[5:] == [
        *[("generator", 2)] * 2,
        ("deduplicator", 2),
        *[("validator", 2)] * 3,
        ("generator", 2),  # it may correct its wrong answer
        ("generator", 3),
    ]


def test_an_empty_result_measures_nothing() -> None:
    result = empty_result(DocumentEnd.NOT_USABLE, "corrupt: no pages")
    assert (result.accepted, result.rejected, result.calls) == ((), (), ())
    assert (result.end, result.end_detail) == (DocumentEnd.NOT_USABLE, "corrupt: no pages")
    assert (result.stats.validation_pass_rate, result.stats.dedup_rejection_rate) == (None, None)
    assert result.document_id == "manual.txt"


def test_pages_viewed_in_any_attempt_are_remembered() -> None:
    assert isinstance(next_step(replay((), WORK.limits)[0], WORK.limits), Generate)
    assert play_out([]).viewed_pages == ()
    assert visual_context().view.document.page_count == 2


def test_an_accepted_question_keeps_its_computation() -> None:
    candidate = Candidate(
        question="How many?", answer="3", evidence=(), question_type="numeric", computation="sum of 1; 2 = 3"
    )
    state = QAState(accepted=(Accepted(candidate=candidate, attempt=1),))
    (pair,) = result_of(WORK, Play([]).models, state, Done(end=DocumentEnd.TARGET_REACHED)).accepted
    assert pair.computation == "sum of 1; 2 = 3"
