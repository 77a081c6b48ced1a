from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from qagen_dagster.errors import PermanentModelError, StoreError, TransientModelError
from qagen_dagster.loop.evaluation.closed_book import check_closed_book
from qagen_dagster.loop.evaluation.kinds import is_evaluated
from qagen_dagster.loop.evaluation.run_questions import (
    earlier_reports,
    latest_report,
    open_evaluation,
    report_version,
)
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.messages import Request, Stop
from qagen_dagster.records.evaluation import Decided, Kind
from qagen_dagster.records.questions.results import Evidence, QAPair
from tests.loop.conftest import CORPUS, PROFILE, PlayedWorkspace
from tests.loop.evaluation.evaluation_set import (
    COMBINATION,
    FACTS,
    RUN,
    examined,
    facts,
    opened,
    pair,
    put_published,
)
from tests.support.models import FakeModel, Turn, call, say, told
from tests.support.models import answer as ended

playing = partial(FakeModel, plays_closed_book=True)
UNKNOWN = call("submit_closed_book_answer", answer="Unknown.", confidence=0)
RIGHT = call("submit_mark", right=True, explanation="the same fact")
WRONG = call("submit_mark", right=False, explanation="another fact")


def guess(answer: str) -> Turn:
    return call("submit_closed_book_answer", answer=answer, confidence=0.5)


def nobody(_: Request) -> Turn:
    raise AssertionError("nobody was to be asked")


def by_question(answers: dict[str, Turn]) -> FakeModel:
    """Answers by a word of the question; "unknown" to others."""
    return playing(
        lambda request: next((turn for word, turn in answers.items() if word in told(request)), UNKNOWN),
        "writer",
    )


@pytest.mark.parametrize(
    ("said", "marked", "leaked", "decided"),
    [
        ("Every 90 days.", None, True, Decided.MATCH),
        ("every 30 days", None, False, Decided.MATCH),
        ("unknown", None, False, Decided.UNKNOWN),
        ("I don't know", None, False, Decided.UNKNOWN),
        ("quarterly", RIGHT, True, Decided.MODEL),
        ("quarterly", WRONG, False, Decided.MODEL),
    ],
)
def test_a_right_answer_without_the_document_is_a_leak(
    workspace: PlayedWorkspace, said: str, marked: Turn | None, leaked: bool, decided: Decided
) -> None:
    examiner = playing(lambda _: marked if marked is not None else nobody(_), "reader")
    answerer = by_question({"How often": guess(said)})
    space = examined(workspace, writer=answerer, reader=examiner)
    put_published(space, facts("a.txt"))
    report = check_closed_book(opened(space))
    (first, *others) = report.questions
    assert (first.given, first.leaked, first.decided) == (said, leaked, decided)
    assert {one.leaked for one in others} == {False}
    tried = decided is not Decided.UNKNOWN
    assert report.metrics.get("leaked_share") == (0.3333 if leaked else 0.0 if tried else None)
    assert (report.metrics["leaked"], report.metrics["undecided"]) == (float(leaked), 0.0)
    assert (report.model, report.judge_model) == ("scripted:writer", "scripted:reader")
    assert [(one.role, one.attempt, one.document_id) for one in first.calls] == [
        ("answerer", 2, "a.txt"),
        *([("validator", 2, "a.txt")] if marked else []),
    ]


def test_the_model_sees_the_question_and_nothing_of_document_or_answer(workspace: PlayedWorkspace) -> None:
    answerer = by_question({})
    space = examined(workspace, writer=answerer, reader=playing(nobody))
    put_published(space, facts("a.txt"))
    check_closed_book(opened(space))
    for request, (question, (answer, _, quote)) in zip(
        sorted(answerer.requests, key=lambda one: list(FACTS).index(_question(one))),
        FACTS.items(),
        strict=True,
    ):
        assert question in told(request)
        assert "Manuals of conductivity probes." in told(request)
        assert answer not in told(request)
        assert quote not in told(request)
        assert "a.txt" not in told(request)
        assert [tool.name for tool in request.tools] == ["submit_closed_book_answer"]


def _question(request: Request) -> str:
    return next(question for question in FACTS if question in told(request))


def test_a_judge_marks_where_the_profile_has_one(workspace: PlayedWorkspace) -> None:
    assert workspace.settings.profiles is not None
    (workspace.settings.profiles / "mine.yaml").write_text(
        PROFILE.format(generator="writer") + "  judge: {provider: scripted, model: assessor}\n"
    )
    judge = playing(lambda _: RIGHT, "assessor")
    space = examined(workspace, writer=by_question({"How often": guess("quarterly")}), assessor=judge)
    put_published(space, facts("a.txt", 1))
    report = check_closed_book(opened(space))
    assert report.judge_model == "scripted:assessor"
    assert [one.leaked for one in report.questions] == [True]
    assert report.questions[0].calls[-1].role == "judge"


def test_each_run_keeps_its_report_and_nobody_is_asked_twice(workspace: PlayedWorkspace) -> None:
    answerer = by_question({"cable": guess("12 m")})
    space = examined(workspace, writer=answerer, reader=playing(nobody))
    put_published(space, [*facts("a.txt"), *facts("b.txt")])
    first = check_closed_book(opened(space))
    asked = len(answerer.requests)
    second = check_closed_book(opened(space, RunMark("run-2", "launch-2")))
    assert len(answerer.requests) == asked == 6
    assert report_version(first) == report_version(second)
    free = [one.model_copy(update={"calls": ()}) for one in second.questions]
    assert report_version(first) == report_version(second.model_copy(update={"questions": tuple(free)}))
    other = [one.model_copy(update={"leaked": True}) for one in second.questions]
    assert report_version(first) != report_version(second.model_copy(update={"questions": tuple(other)}))
    assert [one.question_id for one in first.questions] == [
        one.id for one in [*facts("a.txt"), *facts("b.txt")]
    ]
    kept = earlier_reports(space.store, COMBINATION, Kind.CLOSED_BOOK)
    assert {one.run_id for one in kept} == {"run-1", "run-2"}
    assert latest_report(space.store, COMBINATION, Kind.CLOSED_BOOK) == second


def test_runs_of_one_second_keep_their_order(workspace: PlayedWorkspace) -> None:
    space = examined(workspace, writer=by_question({}), reader=playing(nobody))
    put_published(space, facts("a.txt"))
    runs = ["run-2", "run-3", "run-1", "run-0"]
    for run in runs:
        check_closed_book(opened(space, RunMark(run, "launch")))
    kept = earlier_reports(space.store, COMBINATION, Kind.CLOSED_BOOK)
    assert [one.run_id for one in kept] == runs[::-1]


@pytest.mark.parametrize("change", ["question", "model", "context", "nothing"])
def test_what_decides_the_result_is_asked_anew(workspace: PlayedWorkspace, change: str) -> None:
    space = examined(workspace, writer=by_question({}), scribe=by_question({}), reader=playing(nobody))
    put_published(space, [*facts("a.txt", 2), *facts("b.txt", 2)])
    check_closed_book(opened(space))
    again = by_question({})
    space = examined(space, writer=again, scribe=again, reader=playing(nobody))
    if change == "question":
        put_published(space, [*facts("a.txt", 2), *facts("b.txt", 3)])
    elif change == "model":
        assert space.settings.profiles is not None
        (space.settings.profiles / "mine.yaml").write_text(PROFILE.format(generator="scribe"))
    elif change == "context":
        (space.settings.corpora / "probes" / "corpus.yaml").write_text(
            CORPUS.replace("conductivity", "acidity")
        )
    found = opened(space)
    assert is_evaluated(found, Kind.CLOSED_BOOK) is (change == "nothing")
    check_closed_book(found)
    assert len(again.requests) == {"question": 3, "model": 4, "context": 4, "nothing": 0}[change]
    assert is_evaluated(found, Kind.CLOSED_BOOK)


def test_the_budget_ends_asking_and_the_next_run_asks_only_the_rest(workspace: PlayedWorkspace) -> None:
    answerer = by_question({"calibrated": guess("every 90 days")})
    space = replace(
        examined(workspace, writer=answerer, reader=playing(nobody)),
        settings=replace(workspace.settings, document_workers=1),
    )
    put_published(space, [*facts("a.txt"), *facts("b.txt")])
    found = opened(space, budget=Allowance(max_calls=4))
    report = check_closed_book(found)
    assert [one.leaked for one in report.questions] == [True, False, False, True, None, None]
    assert (report.failed, report.unheard, report.metrics["undecided"]) == (2, 2, 2)
    assert "max_calls 4" in report.questions[4].failure
    shares = {name: value for name, value in report.metrics.items() if name.startswith("leaked_share")}
    assert shares == {"leaked_share": 0.5, "leaked_share_lower": 0.3333, "leaked_share_upper": 0.6667}
    assert not is_evaluated(found, Kind.CLOSED_BOOK)
    asked = [_question(one) for one in answerer.requests]
    again = check_closed_book(opened(space, RunMark("run-2", "launch-2")))
    assert again.failed == 0
    # b.txt was not finished; a paid model's answers would come from the ledger
    assert len(answerer.requests) - len(asked) == 3


def test_a_model_that_cannot_be_had_fails_the_run_after_a_few_questions(workspace: PlayedWorkspace) -> None:
    broken = playing(lambda _: PermanentModelError("no credit on this account"), "writer")
    space = replace(
        examined(workspace, writer=broken, reader=playing(nobody)),
        settings=replace(workspace.settings, document_workers=1),
    )
    put_published(space, [*facts("a.txt"), *facts("b.txt"), *facts("c.txt")])
    with pytest.raises(PermanentModelError, match=r"5 questions in a row .* no credit on this account"):
        check_closed_book(opened(space))
    assert len(broken.requests) == 5
    assert latest_report(space.store, COMBINATION, Kind.CLOSED_BOOK) is None


def test_failures_with_answers_between_them_do_not_end_the_run(workspace: PlayedWorkspace) -> None:
    moody = by_question({"cable": PermanentModelError("refused")})
    space = replace(
        examined(workspace, writer=moody, reader=playing(nobody)),
        settings=replace(workspace.settings, document_workers=1),
    )
    put_published(
        space,
        [
            one
            for letter in "abc"
            for one in (*facts(f"{letter}.txt"), _longer(letter, 1), _longer(letter, 2))
        ],
    )
    assert check_closed_book(opened(space)).failed == 9


def _longer(letter: str, number: int) -> QAPair:
    return pair(
        f"{letter}.txt",
        f"What is said of the cable, {number}?",
        "12 m",
        Evidence(quote="Its cable is 12 m long", start_line=7, end_line=7),
    )


def test_a_model_that_fails_now_and_then_leaves_the_others(workspace: PlayedWorkspace) -> None:
    moody = by_question({"cable": TransientModelError("overloaded"), "Who": say("I will not tell.")})
    space = examined(workspace, writer=moody, reader=playing(nobody))
    put_published(space, facts("a.txt"))
    report = check_closed_book(opened(space))
    assert [(bool(one.failure), one.unheard) for one in report.questions] == [
        (False, False),
        (True, True),
        (True, True),
    ]
    assert report.questions[1].failure == "TransientModel: overloaded"
    assert report.questions[2].failure.startswith("no_tool_call")


@pytest.mark.parametrize("marks", [None, call("submit_mark"), say("It is right, I think.")])
def test_empty_and_unreadable_replies_are_asked_for_again(
    workspace: PlayedWorkspace, marks: Turn | None
) -> None:
    writer = by_question({"How often": guess("quarterly" if marks else " ")})
    space = examined(workspace, writer=writer, reader=playing(lambda _: marks or nobody(_)))
    put_published(space, facts("a.txt"))
    report = check_closed_book(opened(space))
    assert (report.unheard, report.metrics["undecided"]) == (1, 1)
    assert not is_evaluated(opened(space), Kind.CLOSED_BOOK)


@pytest.mark.parametrize(("refused", "done"), [("", False), ("Who", True)])
def test_a_document_whose_questions_are_all_refused_is_asked_again(
    workspace: PlayedWorkspace, refused: str, done: bool
) -> None:
    no = ended(say("I cannot help with that."), Stop.REFUSAL)
    moody = by_question({refused: no}) if refused else playing(lambda _: no, "writer")
    space = examined(workspace, writer=moody, reader=playing(nobody))
    put_published(space, facts("a.txt"))
    report = check_closed_book(opened(space))
    assert report.unheard == (0 if done else 3)
    assert is_evaluated(opened(space), Kind.CLOSED_BOOK) is done


def test_nothing_published_says_what_makes_it(workspace: PlayedWorkspace) -> None:
    with pytest.raises(StoreError, match="has no published set: `qagen run`"):
        open_evaluation(workspace, COMBINATION, RUN)
