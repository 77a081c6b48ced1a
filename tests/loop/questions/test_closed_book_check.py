"""A question that the validator answers without the document is trivial; the generator may word it anew once."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

import pytest

from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import GenerationResult, RejectionReason
from qagen_dagster.store import Store
from tests.support.documents import MANUAL, context_of
from tests.support.models import CRITERIA, GUESS, FakeModel, Turn, call, told

LINE = MANUAL.split("\n")[2]
ANSWER = " ".join(LINE.split()[:3])
FIRST, SECOND = "Which words stand in the first place?", "Which words begin the third line of the manual?"


@dataclass
class Guessing:
    """`knows` has the questions that the validator answers without the document; `second` is the new wording."""

    knows: frozenset[str]
    second: str | None = None
    given: str = ANSWER
    asked: list[str] = field(default_factory=list[str])
    refusals: list[str] = field(default_factory=list[str])

    def models(self) -> QAModels:
        unique = call("submit_duplicate_verdict", verdict="unique")
        return QAModels(
            generator=FakeModel(self._generate, "generator"),
            validator=FakeModel(self._validate, "validator", plays_closed_book=True),
            deduplicator=FakeModel(lambda _: unique, "deduplicator"),
            overlap=False,
        )

    def _generate(self, request: Request) -> Turn:
        said = told(request)
        refused = "Not accepted: " in said
        if refused:
            self.refusals.append(said.partition("Not accepted: ")[2])
        question = self.second if refused and self.second else FIRST
        return call(
            "submit_qa", question=question, answer=ANSWER, evidence=[{"quote": LINE, "start_line": 3}]
        )

    def _validate(self, request: Request) -> AssistantMessage:
        offered = {tool.name for tool in request.tools}
        if GUESS in offered:
            assert LINE not in told(request)
            question = next(one for one in (FIRST, SECOND) if one in told(request))
            self.asked.append(question)
            given = self.given if question in self.knows else "unknown"
            return call(GUESS, answer=given, confidence=0.9)
        if "submit_mark" in offered:
            return call("submit_mark", right=False, explanation="Another thing.")
        if "submit_comparisons" in offered:
            return call("submit_comparisons", **dict.fromkeys(CRITERIA, True), explanation="all hold")
        return call("submit_answers", answerable=True, answer=ANSWER, unambiguous=True)


def run(play: Guessing, *, closed_book: bool = True, attempts: int = 1) -> GenerationResult:
    limits = QALimits(target_count=1, max_consecutive_failures=3, max_attempts=attempts)
    context = context_of()
    scenario = context.scenario.model_copy(update={"closed_book": closed_book})
    combination = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
    work = DocumentWork(combination, replace(context, scenario=scenario), limits, fingerprint="f" * 16)
    journal = DocumentJournal(Store(f"memory://{uuid.uuid4().hex}"), "journals/j.json", "w")
    return run_document(work, play.models(), journal)


def test_a_question_that_needs_its_document_says_so_on_its_verdict() -> None:
    play = Guessing(frozenset())
    (verdict,) = run(play).verdicts
    assert (verdict.passed, verdict.non_trivial) == (True, True)
    assert play.asked == [FIRST]


def test_a_right_guess_is_trivial_and_its_wording_is_told() -> None:
    play = Guessing(frozenset({FIRST}))
    result = run(play)
    assert [one.rejection_reason for one in result.rejected] == [RejectionReason.TRIVIAL]
    assert result.rejected[0].rejection_detail == f"without the document the validator answered {ANSWER!r}"
    assert not result.verdicts[0].passed
    assert ANSWER in play.refusals[0]
    assert "Word the question anew" in play.refusals[0]


def test_a_new_wording_passes_all_checks_again_and_is_accepted() -> None:
    play = Guessing(frozenset({FIRST}), SECOND)
    result = run(play)
    assert [one.question for one in result.accepted] == [SECOND]
    assert [(one.question, one.passed) for one in result.verdicts] == [(SECOND, True)]
    assert play.asked == [FIRST, SECOND]


def test_only_one_new_wording_is_allowed() -> None:
    play = Guessing(frozenset({FIRST, SECOND}), SECOND)
    result = run(play)
    assert [(one.question, one.rejection_reason) for one in result.rejected] == [
        (SECOND, RejectionReason.TRIVIAL)
    ]
    assert len(play.refusals) == 1


@pytest.mark.parametrize("given", ["unknown", "I don't know.", "some other words altogether"])
def test_another_answer_or_none_is_not_trivial(given: str) -> None:
    assert len(run(Guessing(frozenset({FIRST}), given=given)).accepted) == 1


def test_switched_off_nobody_is_asked_and_nothing_is_claimed() -> None:
    play = Guessing(frozenset({FIRST}))
    (verdict,) = run(play, closed_book=False).verdicts
    assert (play.asked, verdict.passed, verdict.non_trivial) == ([], True, None)
