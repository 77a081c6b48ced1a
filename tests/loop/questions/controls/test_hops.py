"""A question that says it needs several passages is rejected if the validator answers it without them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from qagen_dagster.loop.questions.controls import hops
from qagen_dagster.loop.questions.events import Controlled, Judged
from qagen_dagster.loop.questions.inputs import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import QALimits, Validate
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.document import Section
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason, VerdictRecord
from tests.support.documents import context_of, view_of, visual_context
from tests.support.models import FakeModel, Turn, call, say, told

QUESTION = "How many days after the CT-15 probe is calibrated must its cable be replaced?"
ANSWER = "30 days"
QUOTES = ("Calibrate the probe every 90 days.", "Replace the cable after 120 days.", "Keep the probe dry.")
BOTH_SIDES = "Calibrate the probe every 90 days and replace its cable after 120 days."
LIMITS = QALimits(target_count=1, max_consecutive_failures=9, max_attempts=1)
PASSED = VerdictRecord(
    attempt=1,
    question=QUESTION,
    proposed_answer=ANSWER,
    blind_answer=ANSWER,
    answerable=True,
    matches=True,
    non_trivial=True,
    unambiguous=True,
    relevant=True,
    explanation="All hold.",
)


def answer(text: str, *, answerable: bool = True) -> AssistantMessage:
    return call("submit_document_answer", answer=text, answerable=answerable, confidence=0.9)


class Reader:
    """A validator that answers from passages; `without` gives its reply for each passage that is hidden, by number."""

    def __init__(self, without: Mapping[int, Turn], quotes: tuple[str, ...] = QUOTES) -> None:
        self.without, self.quotes = without, quotes
        self.hidden: list[int] = []
        self.model = FakeModel(self._reply, "validator")

    def _reply(self, request: Request) -> Turn:
        if request.tools[0].name == "submit_mark":
            return call("submit_mark", right=True, explanation="The same.")
        (hidden,) = (number for number, quote in enumerate(self.quotes, 1) if quote not in told(request))
        shown = [int(number) for number in re.findall(r"Excerpt (\d+)", told(request))]
        assert shown == [*range(1, len(self.quotes))], "a gap would tell that one is left out"
        self.hidden.append(hidden)
        return self.without[hidden]


def control(
    reader: Reader,
    kind: str = "multi_hop",
    quotes: tuple[str, ...] = QUOTES,
    mode: Mode = Mode.TEXTUAL,
    verdict: VerdictRecord = PASSED,
    *,
    computation: str = "",
    lines: tuple[int, ...] = (4, 4, 4),
) -> Judged | Controlled:
    places = tuple(
        Evidence(quote=quote, start_line=line, end_line=line)
        for line, quote in zip(lines, quotes, strict=False)
    )
    candidate = Candidate(
        question=QUESTION, answer=ANSWER, evidence=places, question_type=kind, computation=computation
    )
    context = context_of() if mode is Mode.TEXTUAL else visual_context()
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=mode), context, LIMITS, "f" * 16
    )
    models = QAModels(FakeModel([]), reader.model, FakeModel([]))
    return hops.control(Validate(candidate=candidate, attempt=1), work, models, Judged(verdict=verdict))


def fault(found: Judged | Controlled) -> RejectionReason | None:
    return found.reason if isinstance(found, Controlled) else None


NOT = answer("The excerpts do not say.", answerable=False)


def test_not_multi_hop_when_one_passage_is_enough() -> None:
    reader = Reader({1: NOT, 2: answer(ANSWER), 3: answer(ANSWER)})
    found = control(reader)
    assert fault(found) is RejectionReason.NOT_MULTI_HOP
    assert isinstance(found, Controlled)
    assert "1 of the quoted passages is needed" in found.detail
    assert reader.hidden == [1, 2, 3]
    assert [one.role for one in found.calls] == ["validator"] * 3


def test_a_good_twin_needs_two_passages_and_the_third_is_not_hidden() -> None:
    reader = Reader({1: NOT, 2: answer("60 days")})
    assert fault(control(reader)) is None
    assert reader.hidden == [1, 2]


def test_passages_that_repeat_each_other_are_not_several() -> None:
    found = control(Reader(dict.fromkeys((1, 2, 3), answer(ANSWER))))
    assert isinstance(found, Controlled)
    assert "each of the quoted passages alone is enough" in found.detail


def test_a_model_compares_answers_in_other_words() -> None:
    reader = Reader(dict.fromkeys((1, 2, 3), answer("one month, which is thirty days or so")))
    assert fault(control(reader)) is RejectionReason.NOT_MULTI_HOP


@pytest.mark.parametrize("kind", ["comparison", "aggregation", "synthesis"])
def test_other_types_that_need_several_passages_are_checked_too(kind: str) -> None:
    assert (
        fault(control(Reader(dict.fromkeys((1, 2, 3), answer(ANSWER))), kind))
        is RejectionReason.NOT_MULTI_HOP
    )


@pytest.mark.parametrize(
    ("kind", "quote", "reason"),
    [
        ("comparison", BOTH_SIDES, None),
        ("aggregation", BOTH_SIDES, None),
        ("multi_hop", BOTH_SIDES, RejectionReason.NOT_MULTI_HOP),
        ("synthesis", BOTH_SIDES, RejectionReason.NOT_MULTI_HOP),
        (
            "comparison",
            "The cable of the CT-15 probe is replaced 30 days after it is calibrated.",
            RejectionReason.NOT_MULTI_HOP,
        ),
    ],
)
def test_a_needless_quote_beside_one_with_both_sides_does_not_count(
    kind: str, quote: str, reason: RejectionReason | None
) -> None:
    quotes = ("The probe has a cable.", quote)
    found = control(Reader({1: answer(ANSWER), 2: NOT}, quotes), kind, quotes)
    assert fault(found) is reason


COUNT = "count of Benin; Niger; Mali = 30"
STATED = ("Benin failed.", "Niger and Mali failed.", "In total 30 failed.")


@pytest.mark.parametrize(
    ("kind", "computation", "quotes", "reason"),
    [
        ("aggregation", COUNT, ("Benin failed.", "Niger and Mali failed.", "All failed."), None),
        ("comparison", "difference of 120; 90 = 30", QUOTES, None),
        ("aggregation", COUNT, STATED, RejectionReason.NOT_MULTI_HOP),
        ("aggregation", "count of Benin = 30", QUOTES, RejectionReason.NOT_MULTI_HOP),
        ("multi_hop", "difference of 120; 90 = 30", QUOTES, RejectionReason.NOT_MULTI_HOP),
    ],
)
def test_a_result_that_code_computed_and_no_quote_states_needs_no_control(
    kind: str, computation: str, quotes: tuple[str, ...], reason: RejectionReason | None
) -> None:
    """A right count is not refused because the document names its items twice. A total that a quote states is looked up."""
    reader = Reader(dict.fromkeys((1, 2, 3), answer(ANSWER)), quotes)
    assert fault(control(reader, kind, quotes, computation=computation)) is reason
    assert bool(reader.hidden) is (reason is not None)


def test_sentences_that_follow_each_other_are_passages_of_their_own() -> None:
    """In a document with one paragraph a line, all sentences of a paragraph stand on one line."""
    reader = Reader({1: answer(ANSWER), 2: NOT}, QUOTES[:2])
    assert fault(control(reader, quotes=QUOTES[:2], lines=(4, 4))) is RejectionReason.NOT_MULTI_HOP
    assert reader.hidden == [1, 2]


def test_no_call_is_made_where_nothing_is_claimed_or_nothing_can_be_hidden() -> None:
    reader = Reader({})
    rejected = PASSED.model_copy(update={"relevant": False})
    for found in (
        control(reader, "factual"),
        control(reader, quotes=QUOTES[:1]),
        control(reader, mode=Mode.VISUAL),
        control(reader, verdict=rejected),
    ):
        assert fault(found) is None
    assert reader.hidden == []


def test_a_validator_without_an_answer_proves_nothing() -> None:
    assert fault(control(Reader(dict.fromkeys((1, 2, 3), say("Hm."))))) is None


def test_the_rows_of_a_table_and_its_head_are_one_passage() -> None:
    """The month of the highest drift is still found without the row of another month, so nothing is hidden."""
    quotes = ("| Month | Drift |", "| May | 0.3 % |", "| June | 0.8 % |")
    places = tuple(Evidence(quote=one, start_line=at, end_line=at) for at, one in enumerate(quotes, 9))
    candidate = Candidate(question=QUESTION, answer=ANSWER, evidence=places, question_type="comparison")
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL), context_of(), LIMITS, "f" * 16
    )
    reader = Reader({})
    models = QAModels(FakeModel([]), reader.model, FakeModel([]))
    step = Validate(candidate=candidate, attempt=1)
    assert fault(hops.control(step, work, models, Judged(verdict=PASSED))) is None
    assert reader.hidden == []


def test_a_passage_is_shown_with_the_title_of_its_section() -> None:
    view = view_of(sections=(Section(title="Care of the CT-15", level=1, start_line=3),))
    places = tuple(Evidence(quote=one, start_line=at, end_line=at) for at, one in ((1, "A."), (4, "B.")))
    candidate = Candidate(question=QUESTION, answer=ANSWER, evidence=places, question_type="multi_hop")
    work = DocumentWork(
        Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL),
        context_of(view),
        LIMITS,
        "f" * 16,
    )
    seen: list[str] = []

    def read(request: Request) -> Turn:
        seen.append(told(request))
        return NOT

    models = QAModels(FakeModel([]), FakeModel(read, "validator"), FakeModel([]))
    hops.control(Validate(candidate=candidate, attempt=1), work, models, Judged(verdict=PASSED))
    assert "section: Care of the CT-15\n4| B." in seen[0]
    assert "section:" not in seen[1]
