from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.errors import PermanentModelError
from qagen_dagster.loop.questions.inputs import DocumentWork
from qagen_dagster.loop.questions.journal import QuestionJournal, open_journal
from qagen_dagster.loop.questions.run_document import run_document, unusable
from qagen_dagster.loop.questions.state_machine import QALimits
from qagen_dagster.models.messages import Request
from qagen_dagster.records.document import Outcome as Parsing
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult
from qagen_dagster.store import Store
from tests.support.documents import TABLE, context_of, view_of, visual_context
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
    return run_document(work_of(target), play.models, open_journal(store, KEY, "w"))


def killer(at: int) -> Callable[[str, Request], None]:
    """Dies instead of the call number `at` (from 0)."""
    count = iter(range(10_000))

    def before(_role: str, _request: Request) -> None:
        if next(count) == at:
            raise Killed

    return before


def events(store: Store) -> tuple[object, ...]:
    found = store.find(KEY, QuestionJournal)
    return found.events if found else ()


def full_run(target: int = 3) -> tuple[GenerationResult, Play, list[int]]:
    """An undisturbed run, and for each of its calls how many steps were durable when it was made."""
    store = fresh()
    steps: list[int] = []
    play = Play(PIECE, lambda _role, _request: steps.append(len(events(store))))
    return run(play, store, target), play, steps


def test_a_document_is_worked_to_its_target() -> None:
    result, play, _ = full_run()
    assert result.end is DocumentEnd.TARGET_REACHED
    assert [one.rejection_reason.value for one in result.rejected] == [
        outcome.value for outcome in PIECE[:9] if outcome is not A
    ]
    assert [pair.generation_metadata.attempt_number for pair in result.accepted] == [1, 4, 9]
    assert [one.duplicate_of for one in result.rejected if one.rejection_reason == "duplicate"] == [
        result.accepted[0].question
    ]
    assert [call.model for call in result.calls] == [f"scripted:{role}" for role, _ in play.log]


def test_every_step_is_durable_before_the_next_begins() -> None:
    """Attempt by attempt: propose, compare if there is something to compare with, judge."""
    _, play, steps = full_run()
    roles = [role for role, _ in play.log]
    boundaries = [n for n in range(1, len(roles)) if steps[n] != steps[n - 1]]
    assert steps[0] == 0
    # A comparison that words decide is a step without a call.
    assert all(steps[n] - steps[n - 1] in (1, 2) for n in boundaries)
    assert all(steps[n] != steps[n - 1] for n in range(1, len(roles)) if roles[n] != roles[n - 1])


def test_killed_anywhere_it_goes_on_at_the_very_step() -> None:
    expected, undisturbed, steps = full_run()
    calls = undisturbed.log
    for at in range(len(calls)):
        store = fresh()
        dying = Play(PIECE, killer(at))
        with pytest.raises(Killed):
            run(dying, store)
        assert dying.log == calls[:at]
        assert len(events(store)) == steps[at]
        resumed = Play(PIECE)
        assert run(resumed, store) == expected
        assert resumed.log == calls[steps.index(steps[at]) :]  # the broken step again, no finished one


@settings(max_examples=25)
@given(st.lists(st.integers(0, 12), max_size=12))
def test_killed_again_and_again_the_result_is_the_same(deaths: list[int]) -> None:
    expected, _, _ = full_run()
    store = fresh()
    for at in deaths:
        try:
            run(Play(PIECE, killer(at)), store)
        except Killed:
            continue
    assert run(Play(PIECE), store) == expected


def test_a_finished_document_costs_nothing_to_run_again() -> None:
    store = fresh()
    first = run(Play(PIECE), store)
    again = Play(PIECE)
    assert run(again, store) == first
    assert again.log == []


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 3), (2, 5), (3, 5)])
def test_a_higher_target_goes_on_where_the_lower_one_stopped(low: int, high: int) -> None:
    lower, short, _ = full_run(low)
    higher, long, _ = full_run(high)
    store = fresh()
    assert run(Play(PIECE), store, low) == lower
    more = Play(PIECE)
    assert run(more, store, high) == higher
    assert more.log == long.log[len(short.log) :]
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
    assert resumed.log[0][0] == "validator"


def test_limits_end_a_document_that_gives_nothing() -> None:
    piece = [W] * 10
    store = fresh()
    failing = run_document(work_of(failures=2), Play(piece).models, open_journal(store, "f.json", "w"))
    assert (failing.end, failing.stats.total_attempts, failing.stats.exhausted) == (
        DocumentEnd.CONSECUTIVE_FAILURES,
        3,
        True,
    )
    few = run_document(work_of(attempts=2), Play(piece).models, open_journal(store, "a.json", "w"))
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
    result = run_document(work_of(context=context), play.models, open_journal(fresh(), "n.json", "w"))
    assert (result.end, result.end_detail, play.log) == (end, detail, [])
    assert (result.stats.total_attempts, result.stats.exhausted) == (0, False)
    assert result.stats.validation_pass_rate is None


def test_what_each_mode_needs() -> None:
    assert unusable(context_of()) is None
    assert unusable(visual_context()) is None
    assert unusable(context_of(view_of("", visuals=(TABLE,), outcome=Parsing.NO_TEXT), Mode.VISUAL)) is None
