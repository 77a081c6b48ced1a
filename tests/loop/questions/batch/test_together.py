"""The validator answers the questions of a batch in one request, and none of them helps another."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from qagen_dagster.loop.questions.batch.state import AnswerBlind, BatchState, BlindAnswered, Draft
from qagen_dagster.loop.questions.batch.state_machine import (
    for_comparison,
    for_validator,
    next_step,
    rule_of,
    transition,
)
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.state import Carried, Recheck, Validate
from qagen_dagster.models.messages import Request
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason, RetiredQA
from qagen_dagster.records.questions.submissions import EvidenceQuote, JudgingAnswer
from tests.support.batches.play import LINES, BatchPlay, Fate, question
from tests.support.batches.run import KEY, fresh, limits_of, run
from tests.support.models import GUESS, told

FIRST = 21  # number of a question; smaller ones are numbers of the document
HOP = QuestionType.MULTI_HOP
FATES = [Fate.GOOD, Fate.UNHEARD, Fate.NOWHERE, Fate.GOOD, Fate.GOOD]


def played(fates: list[Fate], wanted: int) -> tuple[BatchPlay, list[Request]]:
    seen: list[Request] = []

    def before(role: str, request: Request) -> None:
        if role == "validator":
            seen.append(request)

    return BatchPlay([[("multi_hop", fate) for fate in fates]], before, first=FIRST, server=True), seen


def test_the_document_is_shown_once_for_all_blind_answers() -> None:
    """A question without an answer there is asked alone."""
    play, seen = played(FATES, 5)
    result = run(play, limits=limits_of({HOP: 5}))
    assert {
        one.rejection_reason for one in result.rejected if one.question == question(Fate.NOWHERE, 23)
    } == {RejectionReason.UNANSWERABLE}
    assert len(result.accepted) == 4
    shown = [one for one in seen if f"| {LINES[3]}" in told(one)]
    tools = [[tool.name for tool in one.tools] for one in shown]
    assert tools == [["submit_answers"]] * 2, "nothing is left that a tool could find"
    assert question(Fate.UNHEARD, 22) in told(shown[1])
    alike = [(one.system, one.tools, one.messages[0].content[0]) for one in shown]
    assert alike[0] == alike[1], "the second request begins with what a provider has cached"


def test_only_questions_are_shown_and_not_in_the_order_in_which_they_were_written() -> None:
    play, seen = played([Fate.GOOD] * 8, 8)
    run(play, limits=limits_of({HOP: 8}))
    text = told(seen[0])
    numbers = [int(number) for number in re.findall(r"Which words hold good (\d+)", text)]
    assert sorted(numbers) == list(range(FIRST, FIRST + 8))
    assert numbers != sorted(numbers)
    assert "multi_hop" not in text
    assert "Proposed" not in text
    again, repeated = played([Fate.GOOD] * 8, 8)
    run(again, limits=limits_of({HOP: 8}))
    assert repeated[0].canonical() == seen[0].canonical()


HEARD = [Fate.KNOWN, Fate.OVERLOOKED, Fate.UNHEARD, Fate.WRONG, Fate.NOWHERE, Fate.LOOKUP, Fate.GOOD]


@pytest.mark.parametrize(
    ("fates", "sizes"),
    [
        ([Fate.GOOD] * 5, [5]),
        ([Fate.GOOD, Fate.LOOKUP, Fate.OVERLOOKED, Fate.GOOD], [4, 1]),
        ([Fate.GOOD, Fate.OVERLOOKED, Fate.OVERLOOKED, Fate.GOOD], [4, 2, 1, 1]),
        ([Fate.OVERLOOKED] * 3, [3, 1, 1, 1]),
        ([Fate.GOOD, Fate.NOWHERE, Fate.UNHEARD, Fate.GOOD], [2, 1]),
        ([Fate.GOOD], [1]),
    ],
)
def test_answers_are_compared_in_one_request_and_what_it_lacks_again(
    fates: list[Fate], sizes: list[int]
) -> None:
    play, seen = played(fates, len(fates))
    result = run(play, limits=limits_of({HOP: len(fates)}))
    compared = [told(one).count("\nProposed answer:") for one in seen if is_comparison(one)]
    assert compared == sizes
    assert len(result.accepted) == sum(fate not in (Fate.LOOKUP, Fate.NOWHERE) for fate in fates)


def test_a_corrected_answer_is_compared_anew() -> None:
    play, seen = played([Fate.GOOD, Fate.MENDED, Fate.GOOD], 3)
    assert len(run(play, limits=limits_of({HOP: 3})).accepted) == 3
    compared = [told(one).count("\nProposed answer:") for one in seen if is_comparison(one)]
    assert compared == [2, 1], "code finds that the first answer of one contradicts the blind one"


def test_the_questions_of_a_round_are_asked_without_the_document_in_one_request() -> None:
    play, seen = played([Fate.GOOD, Fate.KNOWN, Fate.NOWHERE, Fate.UNHEARD, Fate.GOOD], 5)
    result = run(play, limits=limits_of({HOP: 5}), closed_book=True)
    guess, alone = (one for one in seen if one.tools[0].name.startswith(GUESS))
    asked = [question(Fate.GOOD, FIRST), question(Fate.KNOWN, FIRST + 1), question(Fate.GOOD, FIRST + 4)]
    assert all(one in told(guess) for one in asked)
    assert question(Fate.NOWHERE, FIRST + 2) not in told(guess)
    assert question(Fate.UNHEARD, FIRST + 3) in told(alone), "it was asked alone before, too"
    assert not any(line in told(guess) for line in LINES[1:] if line)
    trivial = [one.question for one in result.rejected if one.rejection_reason is RejectionReason.TRIVIAL]
    assert trivial == [question(Fate.KNOWN, FIRST + 1)]
    assert [one.non_trivial for one in result.verdicts if one.passed] == [True] * 3
    again, repeated = played([Fate.GOOD, Fate.KNOWN], 2)
    run(again, limits=limits_of({HOP: 2}))
    assert not any(one.tools[0].name.startswith(GUESS) for one in repeated), "the scenario does not want it"


def is_comparison(request: Request) -> bool:
    return request.tools[-1].name == "submit_comparisons"


class Killed(Exception):
    pass


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_killed_at_any_call_no_call_is_paid_twice(step: int) -> None:
    limits, kinds = limits_of({HOP: 7}), [("multi_hop", fate) for fate in HEARD]
    whole = BatchPlay([kinds], first=FIRST, server=True)
    expected = run(whole, limits=limits, closed_book=True)
    for at in range(0, len(whole.log), step):
        left, store = iter(range(at)), fresh()

        def before(_role: str, _request: Request, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Killed

        dying = BatchPlay([kinds], before, first=FIRST, server=True)
        with pytest.raises(Killed):
            run(dying, store, limits, closed_book=True)
        resumed = BatchPlay([kinds], first=FIRST, server=True)
        assert run(resumed, store, limits, closed_book=True) == expected
        paid = [*dying.log, *resumed.log]
        assert len({*paid}) == len({*whole.log})
        assert len(paid) - len(whole.log) <= 2, "only the calls of the step that was broken"


def test_a_journal_without_comparisons_in_common_goes_on() -> None:
    """The journals of earlier releases have none."""
    limits, kinds = limits_of({HOP: 5}), [("multi_hop", fate) for fate in FATES]
    store = fresh()
    expected = run(BatchPlay([kinds], first=FIRST, server=True), store, limits)
    events = [one for one in DocumentJournal(store, KEY, "w").events if not getattr(one, "comparisons", None)]
    for kept in range(len(events)):
        store = fresh()
        journal = DocumentJournal(store, KEY, "w")
        for one in events[:kept]:
            journal.append(one)
        resumed = run(BatchPlay([kinds], first=FIRST, server=True), store, limits)
        assert (resumed.accepted, resumed.rejected) == (expected.accepted, expected.rejected)


def candidate(asked: str, answer: str, kind: str = "factual") -> Candidate:
    return Candidate(question=asked, answer=answer, evidence=(), question_type=kind)


FROST = candidate("Where was the frost trial of 1987 held?", "The frost trial of 1987 was held in Norway.")


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (candidate("How many plots did the trial in Norway have?", "It had 12."), False),
        (candidate("Which trial was held with 12 plots?", "The frost trial, in Norway, in 1987."), False),
        (candidate("Which crop failed in the frost trial of 1987?", "Barley failed in the trial."), True),
        (candidate("Which crops were lost?", "Rye of 1981, 1983, 1985 and 1987 were lost."), True),
        (candidate("Who led the trial of 1987?", "Ida Holm led the frost trial of 1987."), True),
    ],
)
def test_a_question_that_names_the_answer_of_another_one_is_asked_apart(
    other: Candidate, together: bool
) -> None:
    for first, second in ((FROST, other), (other, FROST)):
        assert (
            for_validator(waiting(second), first, {QuestionType.FACTUAL: 2}) == asked(first, second)
        ) is together


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("12 plots were used.", "Why were 12 plots of the barley trial ploughed in?"),
        ("It was begun on 3 May.", "Who came to the barley trial on 3 May?"),
        ("A frozen valve put it off.", "Who mended the frozen valve?"),
    ],
)
def test_numbers_dates_and_words_tell_an_answer_too(answer: str, named: str) -> None:
    first, second = candidate("What is known of the barley trial?", answer), candidate(named, "Nobody knows.")
    assert for_validator(waiting(second), first, {QuestionType.FACTUAL: 2}) == (first.question,)


def test_no_more_questions_are_answered_than_are_missing_and_a_reserve() -> None:
    others = [
        candidate(f"Which crop grew on plot {name}?", "Rye.") for name in ("Oslo", "Turin", "Cadiz", "Kiel")
    ]
    state = waiting(*others)
    assert len(for_validator(state, FROST, {QuestionType.FACTUAL: 3})) == 4
    gone = others[0].model_copy(update={"gate": RejectionReason.UNANSWERABLE})
    found = for_validator(waiting(gone, *others[1:]), FROST, {QuestionType.FACTUAL: 4})
    assert found == asked(FROST, *others[1:])


def test_a_single_fact_that_both_read_from_the_same_passage_is_not_compared() -> None:
    """Whether a question is of another type is the validator's opinion, but a proven answer states the fact."""
    (quote,) = (Evidence(quote="The frost trial of 1987 was held in Norway.", start_line=1, end_line=1),)
    found = JudgingAnswer(
        answerable=True, answer="Norway", unambiguous=True, self_contained=True, relevant=True,
        evidence=(EvidenceQuote(quote=quote.quote, start_line=1),),
    )  # fmt: skip
    for kind, compared in ((QuestionType.FACTUAL, False), (HOP, True)):
        fact = Candidate(
            question=FROST.question, answer="Norway", evidence=(quote,), question_type=kind.value
        )
        state = BatchState(blind={fact.question: found})
        assert bool(for_comparison(state, fact)) is compared
        assert bool(rule_of(fact)) is compared


def test_questions_that_are_checked_again_after_a_change_are_answered_in_one_request() -> None:
    crop = candidate("Which crop failed in the frost trial of 1987?", "Barley failed in the trial.")
    names_it = candidate("How many plots did the trial in Norway have?", "It had 12.")
    carried = Carried(recheck=tuple(map(again, (FROST, names_it, crop))))
    state, limits, wanted = (
        transition(BatchState(), carried),
        limits_of({HOP: 3}),
        ((QuestionType.FACTUAL, 3),),
    )
    assert next_step(state, limits, wanted) == AnswerBlind(questions=asked(FROST, crop), attempt=1)
    answers = dict.fromkeys(asked(FROST, crop))
    state = transition(state, BlindAnswered(answers=answers))
    assert next_step(state, limits, wanted) == Validate(candidate=FROST, attempt=1)


def again(one: Candidate) -> Recheck:
    lost = RetiredQA(
        id=one.question, question=one.question, answer=one.answer, question_type=one.question_type, source_document="d",
        document_id="d", reason=RejectionReason.EVIDENCE_NOT_FOUND, detail="", evidence=(),
    )  # fmt: skip
    return Recheck(id=one.question, candidate=one, otherwise=lost)


def asked(*candidates: Candidate) -> tuple[str, ...]:
    return tuple(one.question for one in candidates)


def waiting(*candidates: Candidate) -> BatchState:
    drafts = tuple(
        Draft(number=number, question=one.question, question_type=QuestionType.FACTUAL)
        for number, one in enumerate(candidates, 1)
    )
    return BatchState(drafts=drafts, prepared=dict(enumerate(candidates, 1)))
