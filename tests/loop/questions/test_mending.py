"""A candidate that failed only in its answer or its evidence may be mended once, in the same conversation."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from qagen_dagster.loop.questions.document_journal import DocumentJournal, QuestionJournal
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import GenerationResult, RejectionReason
from qagen_dagster.store import Store
from tests.support.documents import MANUAL, context_of
from tests.support.models import CRITERIA, FakeModel, Turn, call, told

LINES = MANUAL.split("\n")
RIGHT, WRONG = " ".join(LINES[2].split()[:3]), " ".join(LINES[2].split()[1:4])
REFUSED = "Not accepted: "
KEY = "journals/j.json"
PLACES = ("", "the first place", "some garden", "no other house", "a far town")


class Killed(Exception):
    """The process died here."""


@dataclass
class Mending:
    """Every first answer is refused by `criterion`; `second` says what the generator does then."""

    second: dict[str, object] | None
    criterion: str = "matches"
    paid: dict[str, Turn] = field(default_factory=dict[str, Turn])
    dies_at: int = 10_000
    log: list[tuple[str, Request]] = field(default_factory=list[tuple[str, Request]])

    @property
    def models(self) -> QAModels:
        return QAModels(
            generator=self._model("generator", self._generate),
            validator=self._model("validator", self._validate),
            deduplicator=self._model(
                "deduplicator", lambda _: call("submit_duplicate_verdict", verdict="unique")
            ),
        )

    def _model(self, role: str, play: Callable[[Request], AssistantMessage]) -> FakeModel:
        def respond(request: Request) -> Turn:
            key = request.canonical()
            if key not in self.paid:
                if len(self.log) >= self.dies_at:
                    raise Killed
                self.log.append((role, request))
                self.paid[key] = play(request)
            return self.paid[key]

        return FakeModel(respond, name=role)

    def _generate(self, request: Request) -> AssistantMessage:
        number = request.sample
        first = {
            "question": f"Which words stand in {PLACES[number]}?",
            "answer": WRONG,
            "evidence": [{"quote": LINES[2], "start_line": 3}],
            "also_seen": [f"Line {number} has more."],
        }
        if REFUSED not in told(request):
            return call("submit_qa", **first)
        changed = self.second
        return (
            call("report_exhausted", reason="no") if changed is None else call("submit_qa", **first | changed)
        )

    def _validate(self, request: Request) -> AssistantMessage:
        if "submit_comparisons" in {tool.name for tool in request.tools}:
            fits = f"Proposed answer:\n{RIGHT}\n" in told(request)
            checks = dict.fromkeys(CRITERIA, True) | {self.criterion: fits}
            return call("submit_comparisons", **checks, explanation=f"The right words are {RIGHT}.")
        return call("submit_answers", answerable=True, answer="as I read it", unambiguous=True)

    def count(self, role: str) -> int:
        return sum(one == role for one, _ in self.log)


def run(play: Mending, store: Store | None = None, target: int = 2) -> GenerationResult:
    limits = QALimits(target_count=target, max_consecutive_failures=3, max_attempts=4)
    combination = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
    work = DocumentWork(combination, context_of(), limits, fingerprint="f" * 16)
    return run_document(
        work, play.models, DocumentJournal(store or Store(f"memory://{uuid.uuid4().hex}"), KEY, "w")
    )


CORRECTED: dict[str, object] = {"answer": RIGHT}


@pytest.mark.parametrize("criterion", ["matches", "supported"])
def test_a_corrected_answer_is_judged_again_and_accepted(criterion: str) -> None:
    play = Mending(CORRECTED, criterion)
    result = run(play)
    assert [(pair.answer, pair.generation_metadata.attempt_number) for pair in result.accepted] == [
        (RIGHT, 1),
        (RIGHT, 2),
    ]
    assert result.rejected == ()
    assert [(one.attempt, one.passed) for one in result.verdicts] == [(1, True), (2, True)]
    assert result.stats.validation_pass_rate == 1.0
    assert play.count("generator") == 4, "one call more for each, and no new exploration"
    blind = [
        one
        for role, one in play.log
        if role == "validator" and "submit_answers" in {t.name for t in one.tools}
    ]
    assert len(blind) == 2, "the validator's own answer holds for the corrected candidate too"
    assert Counter(one.role for one in result.calls) == {"generator": 4, "validator": 6, "deduplicator": 1}


def test_a_condition_in_the_question_may_be_corrected() -> None:
    result = run(Mending(CORRECTED | {"question": "Which words stand in the second place?"}), target=1)
    assert [one.question for one in result.accepted] == ["Which words stand in the second place?"]


def test_what_failed_is_told_and_not_the_right_answer() -> None:
    play = Mending(CORRECTED)
    run(play, target=1)
    (mended,) = (one for role, one in play.log if role == "generator" and REFUSED in told(one))
    said = told(mended).partition(REFUSED)[2]
    assert "another reader of the document came to another answer" in said
    assert RIGHT not in said
    assert "as I read it" not in said


@pytest.mark.parametrize(
    "second",
    [{}, None, {"answer": RIGHT, "question": "Which other words stand there instead?"}],
    ids=["the same again", "gives up", "another question"],
)
def test_without_a_correction_the_candidate_is_rejected_for_its_first_fault(
    second: dict[str, object] | None,
) -> None:
    play = Mending(second)
    result = run(play, target=1)
    assert {one.rejection_reason for one in result.rejected} == {RejectionReason.WRONG_ANSWER}
    assert {one.answer for one in result.rejected} == {WRONG}
    assert play.count("generator") == 2 * len(result.rejected)


def test_a_candidate_is_mended_once() -> None:
    play = Mending({"answer": " ".join(LINES[2].split()[2:5])})
    result = run(play, target=1)
    assert len(result.rejected) == 4
    assert play.count("generator") == 8
    assert {one.answer for one in result.rejected} == {" ".join(LINES[2].split()[2:5])}


@pytest.mark.parametrize("criterion", ["unambiguous", "relevant", "premise_holds", "self_contained"])
def test_a_fault_of_the_question_is_not_mended(criterion: str) -> None:
    play = Mending(CORRECTED, criterion)
    run(play, target=1)
    assert [one for role, one in play.log if role == "generator" and REFUSED in told(one)] == []


def test_killed_anywhere_it_goes_on_the_same_and_pays_nothing_twice() -> None:
    """The generator that ran ahead saw the candidate before it was mended; so does the one of a run that goes on."""
    whole = Mending(CORRECTED)
    expected = run(whole, target=3)
    for at in range(len(whole.log)):
        store, paid = Store(f"memory://{uuid.uuid4().hex}"), dict[str, Turn]()
        with pytest.raises(Killed):
            run(Mending(CORRECTED, paid=paid, dies_at=at), store, target=3)
        assert run(Mending(CORRECTED, paid=paid), store, target=3).accepted == expected.accepted
        assert len(paid) == len(whole.paid)
        found = store.find(KEY, QuestionJournal)
        assert found is not None
        assert [one.kind for one in found.events].count("mended") == 3


def test_the_next_attempt_sees_what_was_noted() -> None:
    play = Mending(CORRECTED)
    run(play, target=3)
    firsts = [told(one) for role, one in play.log if role == "generator" and REFUSED not in told(one)]
    assert [("Line 1 has more." in text, "Line 2 has more." in text) for text in firsts] == [
        (False, False),
        (True, False),
        (True, True),
    ]
