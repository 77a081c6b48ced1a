from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qagen_dagster.errors import (
    BudgetExhaustedError,
    ContextOverflowError,
    MalformedResponseError,
    ModelError,
    PermanentModelError,
    ResumeError,
    TransientModelError,
)
from qagen_dagster.loop.questions.document_journal import DocumentJournal, QuestionJournal
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.duplicates.similarity import DuplicateMatch, find_duplicates
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import (
    AssistantMessage,
    AssistantPart,
    Request,
    Response,
    Stop,
    Text,
    ToolCall,
)
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult
from qagen_dagster.store import Store
from tests.support.batches.play import FALSE, BatchPlay, Fate, Round, question
from tests.support.batches.run import COMBINATION, KEY, fresh, limits_of, run
from tests.support.documents import context_of
from tests.support.models import FakeModel, Turn, answer, task, told

HOP, WHY = QuestionType.MULTI_HOP, QuestionType.CAUSAL
PIECE: list[Round] = [
    [("multi_hop", Fate.GOOD), ("multi_hop", Fate.FALSE), ("multi_hop", Fate.LATE), ("causal", Fate.WRONG)],
    [("causal", Fate.HONEST), ("multi_hop", Fate.UNPROVEN), ("causal", Fate.GOOD)],
    [("multi_hop", Fate.SILENT), ("causal", Fate.NOWHERE)],
    [("multi_hop", Fate.GOOD), ("causal", Fate.GOOD), ("causal", Fate.GOOD)],
]


class Killed(Exception):
    """The process died here."""


def killer(at: int) -> Callable[[str, Request], None]:
    """Dies instead of the call number `at` (from 0)."""
    count = iter(range(10_000))

    def before(_role: str, _request: Request) -> None:
        if next(count) == at:
            raise Killed

    return before


def types_of(result: GenerationResult) -> dict[str, int]:
    return dict(Counter(pair.question_type for pair in result.accepted))


def test_the_mix_is_delivered_exactly() -> None:
    result = run(BatchPlay(PIECE))
    assert types_of(result) == {"multi_hop": 3, "causal": 2}
    assert (result.end, result.shortfalls) == (DocumentEnd.TARGET_REACHED, ())
    assert result.stats.accepted_count == result.stats.target_count == 5
    reasons = {one.question: one.rejection_reason.value for one in result.rejected}
    assert reasons == {
        question(Fate.FALSE, 2): "ungrounded",
        question(Fate.WRONG, 4): "wrong_answer",
        question(Fate.HONEST, 5): "unanswerable",
        question(Fate.UNPROVEN, 6): "evidence_not_found",
        question(Fate.SILENT, 8): "generation_failed",
        question(Fate.NOWHERE, 9): "unanswerable",
    }


def test_a_question_that_is_not_of_its_type_does_not_count_for_it() -> None:
    seen: list[str] = []

    def before(role: str, request: Request) -> None:
        if role == "validator":
            seen.append(told(request))

    play = BatchPlay([[("multi_hop", Fate.LOOKUP), ("multi_hop", Fate.GOOD)]], before)
    result = run(play, limits=limits_of({HOP: 1}))
    assert [one.question for one in result.accepted] == [question(Fate.GOOD, 2)]
    assert [(one.rejection_reason.value, one.rejection_detail) for one in result.rejected] == [
        ("irrelevant", "it is no multi_hop question: Seen.")
    ]
    blind, compared = seen[:2]
    assert "multi_hop" not in blind
    assert "multi_hop: one fact identifies a thing" in compared


def test_what_is_not_needed_is_kept_in_reserve_and_costs_nothing() -> None:
    play = BatchPlay([[("causal", Fate.WRONG), *[("causal", Fate.GOOD)] * 3]])
    result = run(play, limits=limits_of({WHY: 2}))
    assert types_of(result) == {"causal": 2}
    assert (play.asked("generator"), play.asked("answerer")) == (1, 2), (
        "together, and the wrong one once more"
    )
    assert question(Fate.GOOD, 4) not in str(result.model_dump())


def test_the_best_attempt_is_kept_with_its_grade_and_does_not_enter_the_set() -> None:
    play = BatchPlay([[("multi_hop", Fate.FALSE)]], impossible=[("multi_hop", "Nothing hangs together.")])
    result = run(play, limits=limits_of({HOP: 1}))
    assert play.asked("answerer") == 2
    (rejected,) = result.rejected
    assert (rejected.answer, rejected.rejection_reason.value) == (FALSE, "ungrounded")
    assert rejected.evidence, "its grade is shown beside what it quotes"
    grade = result.grades[question_id(COMBINATION, result.document_id, rejected.question, rejected.answer)]
    assert grade.is_grounded is False
    assert rejected.rejection_detail.startswith(grade.issues[0])
    (shortfall,) = result.shortfalls
    assert (shortfall.question_type, shortfall.wanted, shortfall.accepted, shortfall.missing) == (
        "multi_hop",
        1,
        0,
        1,
    )
    assert shortfall.reason == "1 written, rejected: 1 ungrounded; the generator: Nothing hangs together."
    assert result.end is DocumentEnd.EXHAUSTED_REPORTED
    assert "missing: 1 multi_hop" in result.end_detail


def test_ungrounded_answers_enter_the_set_where_the_scenario_says_so_and_stay_marked() -> None:
    play = BatchPlay([[("multi_hop", Fate.FALSE)]])
    result = run(play, limits=limits_of({HOP: 1}, publish_ungrounded=True))
    (pair,) = result.accepted
    assert pair.answer == FALSE
    assert result.grades[pair.id].is_grounded is False


def test_every_accepted_answer_has_its_grade_and_its_evidence_from_the_document() -> None:
    result = run(BatchPlay(PIECE))
    assert types_of(result) == {"multi_hop": 3, "causal": 2}
    for pair in result.accepted:
        assert result.grades[pair.id].is_grounded
        assert pair.evidence[0].start_line is not None
        assert pair.generation_metadata.generator_model == "scripted:generator"


def test_an_answer_is_asked_for_again_with_the_reason() -> None:
    seen: list[str] = []

    def before(role: str, request: Request) -> None:
        if role == "answerer":
            seen.append(told(request))

    run(BatchPlay([[("multi_hop", Fate.LATE)]], before), limits=limits_of({HOP: 1}))
    assert len(seen) == 2
    assert FALSE not in seen[0]
    assert f"- {FALSE}\n" in seen[1]
    assert "(every sentence must be grounded)" in seen[1]
    assert "confidence" not in seen[1].partition(FALSE)[2]


def test_after_five_rounds_what_is_missing_is_said_by_type() -> None:
    play = BatchPlay([[("multi_hop", Fate.GOOD)]])
    result = run(play)
    assert play.asked("generator") == 1 + 4 * 2  # a reply without a call is asked for once more
    assert result.end is DocumentEnd.MAX_ATTEMPTS
    assert {one.question_type: (one.wanted, one.accepted) for one in result.shortfalls} == {
        "multi_hop": (3, 1),
        "causal": (2, 0),
    }
    assert result.shortfalls[1].reason == "0 written; ended after 5 rounds of questions"
    assert result.end_detail == "5 rounds of questions; missing: 2 multi_hop, 2 causal"
    assert [one.rejection_reason.value for one in result.rejected] == ["generation_failed"] * 4


def test_types_that_the_document_cannot_give_are_not_asked_for_again() -> None:
    play = BatchPlay([[("multi_hop", Fate.GOOD)] * 3], impossible=[("causal", "There are no reasons in it.")])
    result = run(play)
    assert play.asked("generator") == 1
    assert types_of(result) == {"multi_hop": 3}
    assert [one.reason for one in result.shortfalls] == [
        "0 written; the generator: There are no reasons in it."
    ]


def test_repeats_are_left_out_at_once_with_what_they_repeat() -> None:
    play = BatchPlay([[("causal", Fate.GOOD)], [("causal", Fate.GOOD)]], first=1)
    result = run(play, limits=limits_of({WHY: 2}))
    assert [one.question for one in result.accepted] == [question(Fate.GOOD, 1)]
    repeat = result.rejected[0]
    assert (repeat.rejection_reason.value, repeat.duplicate_of) == ("duplicate", question(Fate.GOOD, 1))
    assert (repeat.duplicate_score, repeat.duplicate_step) == (1.0, "exact")
    assert play.asked("answerer") == 1
    assert result.stats.dedup_rejection_rate is not None
    assert result.stats.dedup_rejection_rate <= 1


def test_limits_end_a_document_that_gives_nothing() -> None:
    piece: list[Round] = [[("causal", Fate.WRONG)] * 5]
    few = run(BatchPlay(piece), limits=limits_of({WHY: 5}, failures=2))
    assert (few.end, few.stats.total_attempts) == (DocumentEnd.CONSECUTIVE_FAILURES, 3)
    assert few.shortfalls[0].reason.endswith("work stopped after too many failures in a row")
    most = run(BatchPlay(piece), limits=limits_of({WHY: 5}, attempts=2))
    assert (most.end, most.stats.total_attempts) == (DocumentEnd.MAX_ATTEMPTS, 2)


@cache
def full_run() -> tuple[GenerationResult, BatchPlay]:
    play = BatchPlay(PIECE)
    return run(play, fresh()), play


def test_killed_anywhere_it_goes_on_at_the_very_step_and_asks_nothing_twice() -> None:
    expected, undisturbed = full_run()
    calls = undisturbed.log
    for at in range(0, len(calls), 3):
        store = fresh()
        dying = BatchPlay(PIECE, killer(at))
        with pytest.raises(Killed):
            run(dying, store)
        assert dying.log == calls[:at]
        resumed = BatchPlay(PIECE)
        assert run(resumed, store) == expected
        again = len(calls) - len(resumed.log)
        assert resumed.log == calls[again:]
        assert at - again <= 3  # the calls of the step that was broken
        finished = BatchPlay(PIECE)
        assert run(finished, store) == expected
        assert finished.log == []


@settings(max_examples=settings().max_examples // 5)  # 5, and 48 in `make test-long`
@given(st.lists(st.integers(0, 25), max_size=8))
def test_killed_again_and_again_the_result_is_the_same(deaths: list[int]) -> None:
    expected, _ = full_run()
    store = fresh()
    for at in deaths:
        try:
            run(BatchPlay(PIECE, killer(at)), store)
        except Killed:
            continue
    assert run(BatchPlay(PIECE), store) == expected


def test_a_larger_mix_goes_on_where_the_smaller_one_stopped_and_back() -> None:
    store = fresh()
    small = limits_of({HOP: 2, WHY: 1})
    first = run(BatchPlay(PIECE), store, small)
    assert types_of(first) == {"multi_hop": 2, "causal": 1}
    more = BatchPlay(PIECE)
    assert types_of(run(more, store)) == {"multi_hop": 3, "causal": 2}
    nothing = BatchPlay(PIECE)
    assert run(nothing, store, small) == first
    assert nothing.log == []


def test_the_end_of_the_budget_is_no_failure_and_work_goes_on_later() -> None:
    count = iter(range(100))

    def before(_role: str, _request: Request) -> None:
        if next(count) >= 6:
            raise BudgetExhaustedError("max_calls 6 (made 6)")

    store = fresh()
    result = run(BatchPlay(PIECE, before), store)
    assert result.end is DocumentEnd.BUDGET_EXHAUSTED
    assert result.shortfalls
    assert all("the budget ended" in one.reason for one in result.shortfalls)
    expected, _ = full_run()
    assert run(BatchPlay(PIECE), store) == expected


def test_a_model_that_cannot_be_had_keeps_the_place() -> None:
    def busy(role: str, _request: Request) -> None:
        if role == "validator":
            raise PermanentModelError("bad key")

    store = fresh()
    with pytest.raises(PermanentModelError):
        run(BatchPlay(PIECE, busy), store)
    found = store.find(KEY, QuestionJournal)
    assert found is not None
    assert [event.kind for event in found.events] == [
        "asked",
        "prepared",
        "question_graded",
        "answer_graded",
        "proposed",
        "blind_answered",
    ]


def test_without_an_answerer_the_generator_answers() -> None:
    play = BatchPlay([[("causal", Fate.GOOD)]])
    writer, answerer = play.models.generator, play.models.answerer
    assert answerer is not None

    def either(request: Request) -> Turn:
        return (answerer if task(request) == "submit_grounded_answers" else writer).respond(request)

    play.models = replace(play.models, generator=FakeModel(either, "both"), answerer=None)
    assert len(run(play, limits=limits_of({WHY: 1})).accepted) == 1


def test_a_journal_of_the_other_strategy_is_refused() -> None:
    store = fresh()
    run(BatchPlay(PIECE), store)
    limits = QALimits(target_count=1, max_consecutive_failures=1, max_attempts=1)
    agent = DocumentWork(COMBINATION, context_of(), limits, fingerprint="f" * 16)
    with pytest.raises(ResumeError, match="another strategy"):
        run_document(agent, BatchPlay(PIECE).models, DocumentJournal(store, KEY, "w"))


def test_of_a_long_document_what_was_shown_is_in_the_result() -> None:
    text = "\n".join(f"Line {number} speaks of pump {number % 97} and its valve." for number in range(6_000))
    play = BatchPlay([[("causal", Fate.HONEST)]], impossible=[("causal", "No reasons.")])
    result = run(play, limits=limits_of({WHY: 1}), text=text)
    lines = sum(span.end - span.start + 1 for span in result.shown)
    assert 1_000 < lines < 3_000
    assert (
        f"the generator was shown {lines} of 6000 lines, in {len(result.shown)} places" in result.end_detail
    )
    assert run(play, limits=limits_of({WHY: 1})).shown == ()


def test_a_judge_without_room_degrades_the_grade_and_one_that_is_not_heard_ends_the_work() -> None:
    def failing(error: Exception) -> BatchPlay:
        play = BatchPlay([[("multi_hop", Fate.FALSE)]], impossible=[("multi_hop", "None.")])
        play.models = replace(play.models, judge=FakeModel(lambda _: error, "judge"))
        return play

    limits = limits_of({HOP: 1}, answer_regenerations=0)
    broken = run(failing(ContextOverflowError("too long")), limits=limits)
    assert broken.end is DocumentEnd.EXHAUSTED_REPORTED
    (grade,) = broken.grades.values()
    assert "too long" in grade.judge_failure
    for error in (
        PermanentModelError("bad key"),
        TransientModelError("HTTP 503"),
        MalformedResponseError("no choices"),
    ):
        store = fresh()
        with pytest.raises(ModelError, match=str(error)):
            run(failing(error), store, limits)
        assert last_of(store) == "answered"
    store = fresh()
    ended = run(failing(BudgetExhaustedError("max_calls 3 (made 3)")), store, limits)
    assert ended.end is DocumentEnd.BUDGET_EXHAUSTED
    assert last_of(store) == "answered"


def last_of(store: Store) -> str:
    found = store.find(KEY, QuestionJournal)
    assert found is not None
    return found.events[-1].kind


NEAR = "What made the river rise at the old mill in 1986?"
NEARER = "What caused the river to rise at the old mill in 1986?"
YEAR = "What made the river rise at the old mill in 1987?"


def alike(texts: Sequence[str]) -> NDArray[np.float32]:
    """All texts are 0.9 alike."""
    rows = np.full((len(texts), len(texts) + 1), 0.0, dtype=np.float32)
    rows[:, 0] = np.sqrt(0.9)
    for number in range(len(texts)):
        rows[number, number + 1] = np.sqrt(0.1)
    return rows


def test_equal_words_and_high_similarity_are_repeats_other_numbers_are_none() -> None:
    found = find_duplicates(
        ["what made the river rise  at the old mill in 1986?", NEARER, YEAR], [NEAR], alike, 0.85
    )
    assert found == [DuplicateMatch(NEAR, 1.0, exact=True), DuplicateMatch(NEAR, 0.9, exact=False), None]
    assert [one.detail for one in found if one] == ["the same words", "similarity 0.90"]


def test_new_ones_are_compared_with_each_other_but_not_with_repeats() -> None:
    first, second, third = find_duplicates([NEAR, NEARER, YEAR], [], alike, 0.85)
    assert (first, third) == (None, None)
    assert second is not None
    assert second.of == NEAR


def test_questions_for_another_kind_of_answer_are_no_repeats() -> None:
    known = ["How many mills stood at the river before the flood?"]
    assert find_duplicates(["How did the mills at the river stand the flood?"], known, alike, 0.85) == [None]
    assert find_duplicates(["What is the number of mills at the river?"], known, alike, 0.85) != [None]


def test_the_threshold_is_the_scenarios() -> None:
    assert find_duplicates([NEARER], [NEAR], alike, 0.95) == [None]
    assert find_duplicates([], [NEAR], alike, 0.5) == []


CAUSAL = {QuestionType.CAUSAL: 8}


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("characters", [100_000, 900, 600, 400, 260])
def test_replies_that_are_cut_off_give_what_is_whole(characters: int, server: bool) -> None:
    play = BatchPlay([[("causal", Fate.GOOD)] * 8] * 12, characters=characters, server=server)
    result = run(play, limits=limits_of(CAUSAL))
    assert result.stats.accepted_count == 8
    assert not any(one.rejection_detail.startswith("output_limit") for one in result.rejected)
    assert len({request for _, request in play.log}) == len(play.log)


def test_replies_in_which_nothing_fits_say_what_to_raise() -> None:
    play = BatchPlay([[("causal", Fate.GOOD)] * 8] * 12, characters=40)
    with pytest.raises(MalformedResponseError, match="raise `max_output_tokens` of the generator"):
        run(play, limits=limits_of(CAUSAL))
    assert play.asked("generator") <= 6


@pytest.mark.parametrize("said", ["call", "words", "nothing"])
@pytest.mark.parametrize("role", ["generator", "answerer", "validator"])
def test_what_did_not_fit_is_not_asked_for_again_in_the_same_size(role: str, said: str) -> None:
    def long(request: Request) -> Response:
        name = next(tool.name for tool in request.tools if tool.name.startswith("submit"))
        parts: dict[str, tuple[AssistantPart, ...]] = {
            "call": (ToolCall(id="a", name=name, fault="cut off"),),
            "words": (Text(text="The pump"),),
            "nothing": (),
        }
        return answer(AssistantMessage(content=parts[said]), Stop.LENGTH)

    play, model = BatchPlay([[("causal", Fate.GOOD)] * 8] * 40, server=True), FakeModel(long, role, "openai")
    models = replace(play.models, **{role: model})
    work = DocumentWork(COMBINATION, context_of(), limits_of(CAUSAL), fingerprint="f" * 16)
    with pytest.raises(MalformedResponseError, match=f"raise `max_output_tokens` of the {role}"):
        run_document(work, models, DocumentJournal(fresh(), KEY, "w"))
    assert len(model.requests) <= 6


@pytest.mark.parametrize("room", [1, 2, 3])
def test_small_replies_give_the_whole_mix_in_more_rounds(room: int) -> None:
    play = BatchPlay([[("causal", Fate.GOOD)] * room] * 12)
    generator = play.models.generator
    assert isinstance(generator, FakeModel)
    generator._spec = generator.spec.model_copy(update={"max_output_tokens": 80 * room})
    assert run(play, limits=limits_of(CAUSAL)).stats.accepted_count == 8


def test_no_more_is_asked_for_than_a_model_may_write() -> None:
    play = BatchPlay([[("causal", Fate.GOOD)] * 5] * 12, server=True)
    for name in ("generator", "answerer", "validator"):
        model = getattr(play.models, name)
        model._spec = model.spec.model_copy(update={"max_output_tokens": 500})
    run(play, limits=limits_of(CAUSAL))
    asked = [json.loads(request)["messages"] for role, request in play.log if role == "generator"]
    assert "- causal: 6" in str(asked[0])
    answers = [request for role, request in play.log if role == "answerer"]
    assert all("3. [causal]" not in request for request in answers)
