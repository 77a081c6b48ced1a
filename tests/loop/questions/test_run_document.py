from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.errors import BudgetExhaustedError, PermanentModelError
from qagen_dagster.loop.questions.document_journal import DocumentJournal, QuestionJournal, events_of
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.run_document import run_document, unusable
from qagen_dagster.loop.questions.state import Event
from qagen_dagster.loop.questions.state_machine import replay
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import Request
from qagen_dagster.records.document import Outcome as Parsing
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult
from qagen_dagster.store import Store
from tests.support.documents import TABLE, context_of, view_of, visual_context
from tests.support.models import Turn
from tests.support.play import Outcome, Play

A, D, U, N, X, W, V = (
    Outcome.ACCEPTED,
    Outcome.DUPLICATE,
    Outcome.UNPROVEN,
    Outcome.NO_CALL,
    Outcome.UNANSWERABLE,
    Outcome.WRONG,
    Outcome.NO_VERDICT,
)
PIECE = [A, U, D, A, W, N, X, V, A, D, A, A, Outcome.EXHAUSTED]
COMBINATION = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
KEY = "journals/j.json"


class Killed(Exception):
    """The process died here."""


def work_of(
    target: int = 3, context: QAContext | None = None, *, failures: int = 9, attempts: int = 20
) -> DocumentWork:
    limits = QALimits(target_count=target, max_consecutive_failures=failures, max_attempts=attempts)
    return DocumentWork(COMBINATION, context or context_of(), limits, fingerprint="f" * 16)


def fresh() -> Store:
    return Store(f"memory://{uuid.uuid4().hex}")


def run(play: Play, store: Store, target: int = 3) -> GenerationResult:
    return run_document(work_of(target), play.models, DocumentJournal(store, KEY, "w"))


def killer(at: int) -> Callable[[str, Request], None]:
    """Dies instead of the call number `at` (from 0): nothing is answered from then on."""
    count = iter(range(10_000))

    def before(_role: str, _request: Request) -> None:
        if next(count) >= at:
            raise Killed

    return before


def attempts_of(log: list[tuple[str, str]]) -> set[tuple[str, int]]:
    """Role and attempt of the calls."""
    return {(role, json.loads(request)["sample"]) for role, request in log}


def events(store: Store) -> tuple[object, ...]:
    found = store.find(KEY, QuestionJournal)
    return found.events if found else ()


@cache
def full_run(target: int = 3) -> tuple[GenerationResult, Play]:
    """An undisturbed run."""
    play = Play(PIECE, paid={})
    return run(play, fresh(), target), play


def test_a_document_is_worked_to_its_target() -> None:
    result, play = full_run()
    assert result.end is DocumentEnd.TARGET_REACHED
    assert [one.rejection_reason.value for one in result.rejected] == [
        outcome.value for outcome in PIECE[:9] if outcome is not A
    ]
    assert [pair.generation_metadata.attempt_number for pair in result.accepted] == [1, 4, 9]
    assert [one.duplicate_of for one in result.rejected if one.rejection_reason == "duplicate"] == [
        result.accepted[0].question
    ]
    assert Counter(call.model for call in result.calls) == Counter(f"scripted:{role}" for role, _ in play.log)
    assert [call.attempt for call in result.calls] == sorted(call.attempt for call in result.calls)


def test_every_step_is_durable_before_a_step_that_needs_it() -> None:
    store = fresh()

    def before(role: str, request: Request) -> None:
        found = store.find(KEY, QuestionJournal)
        state, _ = replay(
            events_of(Event, DocumentJournal(store, KEY, "w")) if found else (), work_of().limits
        )
        ended = state.attempts
        if role == "generator" and ended == request.sample - 2:  # ahead of the check of the one before
            assert state.current is not None
        else:
            assert ended == request.sample - 1
            assert (state.current is None) == (role == "generator" and state.mend is None)

    assert run(Play(PIECE, before, {}), store) == full_run()[0]


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_killed_anywhere_it_pays_nothing_twice_and_asks_nothing_of_a_finished_step(step: int) -> None:
    expected, undisturbed = full_run()
    for at in range(0, len(undisturbed.log), step):
        store, paid = fresh(), dict[str, Turn]()
        dying = Play(PIECE, killer(at), paid)
        with pytest.raises(Killed):
            run(dying, store)
        state, _ = replay(events_of(Event, DocumentJournal(store, KEY, "w")), work_of().limits)
        resumed = Play(PIECE, paid=paid)
        assert run(resumed, store) == expected
        assert Counter(dying.log + resumed.log) == Counter(undisturbed.log)
        assert {attempt for _, attempt in attempts_of(resumed.log)} <= set(range(state.attempts + 1, 20))


def test_resumed_without_the_ledger_it_repeats_only_unfinished_steps() -> None:
    expected, undisturbed = full_run()
    for at in range(0, len(undisturbed.log), 3):
        store = fresh()
        with pytest.raises(Killed):
            run(Play(PIECE, killer(at)), store)
        state, _ = replay(events_of(Event, DocumentJournal(store, KEY, "w")), work_of().limits)
        resumed = Play(PIECE)
        assert run(resumed, store) == expected
        asked = attempts_of(resumed.log)
        assert min(attempt for _, attempt in asked) == state.attempts + 1
        mended = state.attempts + 1 == PIECE.index(W) + 1  # without the ledger its conversation is repeated
        assert state.current is None or mended or ("generator", state.attempts + 1) not in asked


@settings(max_examples=settings().max_examples // 3)  # 8, and 80 in `make test-long`
@given(st.lists(st.integers(0, 12), max_size=12))
def test_killed_again_and_again_the_result_is_the_same(deaths: list[int]) -> None:
    expected, _ = full_run()
    store = fresh()
    for at in deaths:
        try:
            run(Play(PIECE, killer(at)), store)
        except Killed:
            continue
    assert run(Play(PIECE), store) == expected


@pytest.mark.parametrize("slow", ["generator", "validator", "deduplicator", ""])
def test_the_result_does_not_depend_on_timing(slow: str) -> None:
    store = fresh()
    result = run(Play(PIECE, lambda role, _request: time.sleep(0.01 * (role == slow))), store, 9)
    one_by_one = Play(PIECE).models
    one_by_one = replace(one_by_one, overlap=False)
    alone, expected = fresh(), full_run(9)[0]
    assert result == expected
    in_order = run_document(work_of(9), one_by_one, DocumentJournal(alone, KEY, "w"))
    assert (in_order.accepted, in_order.rejected, in_order.stats) == (
        result.accepted,
        result.rejected,
        result.stats,
    )
    assert [event.kind for event in DocumentJournal(alone, KEY, "w").events] == [
        event.kind for event in DocumentJournal(store, KEY, "w").events
    ]


@pytest.mark.parametrize("at", range(0, 20, 3))
def test_a_journal_of_steps_taken_one_by_one_is_continued(at: int) -> None:
    """As versions without overlap wrote it, and as a document with a budget of its own writes it."""
    store, paid = fresh(), dict[str, Turn]()
    dying = replace(Play(PIECE, killer(at), paid).models, overlap=False)
    with pytest.raises(Killed):
        run_document(work_of(), dying, DocumentJournal(store, KEY, "w"))
    result, expected = run(Play(PIECE, paid=paid), store), full_run()[0]
    assert (result.accepted, result.rejected, result.end) == (
        expected.accepted,
        expected.rejected,
        expected.end,
    )


def test_the_next_candidate_is_generated_while_this_one_is_checked() -> None:
    generating = threading.Event()

    def before(role: str, request: Request) -> None:
        if (role, request.sample) == ("generator", 2):
            generating.set()
        if (role, request.sample) == ("validator", 1):
            assert generating.wait(30)

    assert run(Play(PIECE, before), fresh()) == full_run()[0]


def test_the_blind_answer_is_given_while_a_model_compares() -> None:
    answering = threading.Event()

    def before(role: str, request: Request) -> None:
        if (role, request.sample) == ("validator", 3):
            answering.set()
        if (role, request.sample) == ("deduplicator", 3):
            assert answering.wait(30)

    assert run(Play(PIECE, before), fresh()) == full_run()[0]


def test_what_was_answered_for_a_duplicate_counts_as_unused() -> None:
    result, _ = full_run()
    unused = [(call.role, call.attempt) for call in result.calls if call.unused]
    assert unused == [("validator", 3)] * 2
    assert run_document(
        work_of(), replace(Play(PIECE).models, overlap=False), DocumentJournal(fresh(), KEY, "w")
    ).calls == tuple(call for call in result.calls if not call.unused)


def test_a_candidate_generated_before_the_budget_ended_counts_as_unused() -> None:
    generated = threading.Event()

    def before(role: str, request: Request) -> None:
        if role == "generator" and request.sample == 3:
            generated.set()
        if role == "validator" and request.sample == 2:
            assert generated.wait(30)
            raise BudgetExhaustedError("all is spent")

    store, paid = fresh(), dict[str, Turn]()
    partial = run(Play([A] * 9, before, paid), store)
    assert (partial.end, len(partial.accepted)) == (DocumentEnd.BUDGET_EXHAUSTED, 1)
    assert [(call.role, call.attempt) for call in partial.calls if call.unused] == [("generator", 3)] * 2
    whole = run(Play([A] * 9, paid=paid), store)
    assert [call for call in whole.calls if call.unused] == []


def test_a_finished_document_costs_nothing_to_run_again() -> None:
    store = fresh()
    first = run(Play(PIECE), store)
    again = Play(PIECE)
    assert run(again, store) == first
    assert again.log == []


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 3), (2, 5), (3, 5)])
def test_a_higher_target_goes_on_where_the_lower_one_stopped(low: int, high: int) -> None:
    lower, short = full_run(low)
    higher, long = full_run(high)
    store = fresh()
    assert run(Play(PIECE), store, low) == lower
    more = Play(PIECE, paid={})
    assert run(more, store, high) == higher
    assert Counter(more.log) == Counter(long.log) - Counter(short.log)
    nothing = Play(PIECE)
    assert run(nothing, store, low) == lower
    assert nothing.log == []
    assert run(nothing, store, high) == higher
    assert nothing.log == []


def test_an_exhausted_document_stays_exhausted_under_a_higher_target() -> None:
    store = fresh()
    result = run(Play(PIECE), store, 9)
    assert (result.end, result.end_detail, result.stats.exhausted) == (
        DocumentEnd.EXHAUSTED_REPORTED,
        "Nothing is left.",
        True,
    )
    again = Play(PIECE)
    assert run(again, store, 99).end is DocumentEnd.EXHAUSTED_REPORTED
    assert again.log == []


def test_a_model_that_cannot_be_had_keeps_the_place() -> None:
    def busy(role: str, _request: Request) -> None:
        if role == "validator":
            raise PermanentModelError("bad key")

    store = fresh()
    with pytest.raises(PermanentModelError):
        run(Play(PIECE, busy), store)
    assert len(events(store)) == 1
    resumed = Play(PIECE)
    assert run(resumed, store) == full_run()[0]
    assert ("generator", 1) not in attempts_of(resumed.log)


def test_limits_end_a_document_that_gives_nothing() -> None:
    piece = [W] * 10
    store = fresh()
    failing = run_document(work_of(failures=2), Play(piece).models, DocumentJournal(store, "f.json", "w"))
    assert (failing.end, failing.stats.total_attempts, failing.stats.exhausted) == (
        DocumentEnd.CONSECUTIVE_FAILURES,
        3,
        True,
    )
    few = run_document(work_of(attempts=2), Play(piece).models, DocumentJournal(store, "a.json", "w"))
    assert (few.end, few.stats.total_attempts, few.stats.exhausted) == (DocumentEnd.MAX_ATTEMPTS, 2, False)


NOTHING_TO_ASK = [
    (context_of(view_of("")), DocumentEnd.NOT_USABLE, "parsed: there is no text to ask about"),
    (context_of(view_of(" \n\t")), DocumentEnd.NOT_USABLE, "parsed: there is no text to ask about"),
    (
        context_of(view_of("", outcome=Parsing.NO_TEXT)),
        DocumentEnd.NOT_USABLE,
        "no_text: there is no text to ask about",
    ),
    (context_of(view_of(outcome=Parsing.CORRUPT)), DocumentEnd.NOT_USABLE, "corrupt: for a reason"),
    (
        context_of(view_of(visuals=(TABLE,), outcome=Parsing.ENCRYPTED), Mode.VISUAL),
        DocumentEnd.NOT_USABLE,
        "encrypted: for a reason",
    ),
    (
        context_of(view_of(), Mode.VISUAL),
        DocumentEnd.NO_VISUALS,
        "the document has no tables, figures or page pictures",
    ),
]


@pytest.mark.parametrize(("context", "end", "detail"), NOTHING_TO_ASK, ids=lambda one: str(one)[:30])
def test_where_there_is_nothing_to_ask_no_model_is_asked(
    context: QAContext, end: DocumentEnd, detail: str
) -> None:
    play = Play(PIECE)
    result = run_document(work_of(context=context), play.models, DocumentJournal(fresh(), "n.json", "w"))
    assert (result.end, result.end_detail, play.log) == (end, detail, [])
    assert (result.stats.total_attempts, result.stats.exhausted) == (0, False)
    assert result.stats.validation_pass_rate is None


def test_what_each_mode_needs() -> None:
    assert unusable(context_of()) is None
    assert unusable(visual_context()) is None
    assert unusable(context_of(view_of("", visuals=(TABLE,), outcome=Parsing.NO_TEXT), Mode.VISUAL)) is None
