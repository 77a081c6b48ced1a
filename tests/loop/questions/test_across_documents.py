"""Questions across documents: each document of the evidence is needed, which the validator shows by its answers without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from qagen_dagster.agents.questions.mix import hops
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.questions.across_documents import AcrossStage, groups_of
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages
from qagen_dagster.loop.questions.no_answer.stage import StageJournal, without_stages
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult, RejectionReason
from tests.loop.conftest import PlayedWorkspace, put_documents
from tests.loop.questions.no_answer import harbour
from tests.support.documents import CORPUS, SCENARIO, view_of
from tests.support.models import GUESS, FakeModel, call, told

FILLER = "\n".join(
    f"Filler line {number} tells nothing of lamps or of towers or of tides." for number in range(90)
)
BAR = "The lighthouses\nThe lighthouse of Bar was built by Ida Holm.\nThe lighthouse of Cor is 31 m high."
LIFE = "Lives of builders\nThe engineer Ida Holm was born in Selby in 1921.\nShe had two sisters."
TIDES = "Tide tables\nThe tide at Dorn is high at noon."
TEXTS = {"bar.txt": BAR, "life.txt": LIFE, "tides.txt": TIDES}
QUESTION, ANSWER = "In which year was the builder of the lighthouse of Bar born?", "1921"
BUILT, BORN = (
    "The lighthouse of Bar was built by Ida Holm.",
    "The engineer Ida Holm was born in Selby in 1921.",
)
DRAFT: dict[str, Any] = {
    "kind": "bridge",
    "question": QUESTION,
    "answer": ANSWER,
    "evidence": [{"document": 1, "quote": BUILT}, {"document": 2, "quote": BORN}],
}
COMBINATION = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)


@dataclass
class Reader:
    """Answers if every quote in `needs` is shown to it."""

    draft: Mapping[str, Any]
    needs: tuple[str, ...] = (BUILT, BORN)
    guess: str = "unknown"
    shown: list[str] = field(default_factory=list[str])

    def models(self) -> QAModels:
        unique = call("submit_duplicate_verdict", verdict="unique")
        return QAModels(
            generator=FakeModel(self._propose, "generator"),
            validator=FakeModel(self._answer, "validator", plays_closed_book=True),
            deduplicator=FakeModel(lambda _: unique, "deduplicator"),
        )

    def _propose(self, request: Request) -> AssistantMessage:
        self.shown.append(told(request))
        return call("submit_across", questions=[dict(self.draft)])

    def _answer(self, request: Request) -> AssistantMessage:
        if GUESS in {tool.name for tool in request.tools}:
            return call(GUESS, answer=self.guess, confidence=0.9)
        found = all(one in told(request) for one in self.needs)
        given = ANSWER if found else "The excerpts do not say."
        return call("submit_document_answer", answer=given, answerable=found, confidence=0.9)


@pytest.fixture
def space(workspace: PlayedWorkspace) -> PlayedWorkspace:
    put_documents(workspace, TEXTS)
    return workspace


def run(space: PlayedWorkspace, reader: Reader, *, closed_book: bool = False) -> GenerationResult:
    scenario = SCENARIO.model_copy(update={"closed_book": closed_book})
    context = QAContext(CORPUS, scenario, Mode.TEXTUAL, view_of(BAR, name="bar.txt"))
    limits = QALimits(target_count=1, max_consecutive_failures=3, max_attempts=9)
    work = DocumentWork(COMBINATION, context, limits, "f" * 16)
    journal = JournalFile(space.store, "journals/a.json", "w", StageJournal)
    return AcrossStage(work, reader.models(), CorpusPassages(space, "probes", "mine"), journal).run()


def test_documents_that_share_a_name_are_a_group_of_the_first(space: PlayedWorkspace) -> None:
    corpus = CorpusPassages(space, "probes", "mine")
    assert [(one.documents, one.shared) for one in groups_of(corpus, "bar.txt")] == [
        (("bar.txt", "life.txt"), ("Ida Holm",))
    ]
    assert groups_of(corpus, "life.txt") == groups_of(corpus, "tides.txt") == []


def test_the_groups_of_a_document_are_bounded(space: PlayedWorkspace) -> None:
    put_documents(
        space, {f"{name}.txt": f"About {name}\nIda {name * 3} met Nils Berg{name}." for name in "abcdefgh"}
    )
    corpus = CorpusPassages(space, "probes", "mine")
    assert all(len(groups_of(corpus, f"{name}.txt")) <= 4 for name in "abcdefgh")


def test_a_question_whose_documents_are_all_needed_is_accepted(space: PlayedWorkspace) -> None:
    reader = Reader(DRAFT)
    result = run(space, reader)
    (pair,) = result.accepted
    assert (pair.question_type, pair.document_id) == ("bridge", "bar.txt")
    assert [(one.document_id, one.start_line) for one in pair.evidence] == [(None, 2), ("life.txt", 2)]
    assert hops(pair.evidence) == 2
    assert result.end is DocumentEnd.TARGET_REACHED
    assert [one.passed for one in result.verdicts] == [True]
    assert "What the documents have in common: Ida Holm" in reader.shown[0]


@pytest.mark.parametrize("needs", [(BUILT,), (BORN,)])
def test_a_question_that_one_document_answers_is_refused(
    space: PlayedWorkspace, needs: tuple[str, ...]
) -> None:
    result = run(space, Reader(DRAFT, needs))
    (lost,) = result.rejected
    assert lost.rejection_reason is RejectionReason.NOT_MULTI_HOP
    assert "without " in lost.rejection_detail
    assert result.end is DocumentEnd.EXHAUSTED_REPORTED


def test_the_documents_together_must_give_the_answer(space: PlayedWorkspace) -> None:
    result = run(space, Reader(DRAFT, ("a line that is nowhere",)))
    assert result.rejected[0].rejection_reason is RejectionReason.UNANSWERABLE


def test_a_question_that_needs_no_document_is_trivial(space: PlayedWorkspace) -> None:
    result = run(space, Reader(DRAFT, guess=ANSWER), closed_book=True)
    assert result.rejected[0].rejection_reason is RejectionReason.TRIVIAL


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"evidence": [{"document": 1, "quote": BUILT}, {"document": 1, "quote": BUILT}]}, "not_multi_hop"),
        (
            {"evidence": [{"document": 1, "quote": BUILT}, {"document": 1, "quote": BORN}]},
            "evidence_not_found",
        ),
        (
            {"evidence": [{"document": 1, "quote": BUILT}, {"document": 9, "quote": BORN}]},
            "evidence_not_found",
        ),
        ({"answer": "1922"}, "answer_not_supported"),
        ({"question": "In which year was the engineer Ida Holm born in Selby?"}, "not_multi_hop"),
        ({"question": "According to this document, when was the builder born?"}, "not_self_contained"),
    ],
)
def test_evidence_is_looked_up_in_its_document(
    space: PlayedWorkspace, changed: dict[str, Any], reason: str
) -> None:
    result = run(space, Reader(DRAFT | changed))
    assert [one.rejection_reason.value for one in result.rejected] == [reason]


def test_a_second_run_asks_nothing_again(space: PlayedWorkspace) -> None:
    first = run(space, Reader(DRAFT))
    assert run(space, Reader(DRAFT, ())) == first


def test_what_is_left_out_and_what_was_refused_is_shown_to_the_generator(space: PlayedWorkspace) -> None:
    put_documents(space, TEXTS | {"life.txt": f"{LIFE}\n{FILLER}", "more.txt": f"More\n{BORN}"})
    reader = Reader(DRAFT, ())
    run(space, reader)
    first, *_, last = reader.shown
    assert "\n[...]\n" in first
    assert "(none yet)" in first.partition("Rejected questions and why")[2]
    assert QUESTION in last.partition("Rejected questions and why")[2]


def test_excerpts_of_several_documents_are_called_that(space: PlayedWorkspace) -> None:
    asked: list[str] = []

    class Listening(Reader):
        def _answer(self, request: Request) -> AssistantMessage:
            asked.append(told(request))
            return super()._answer(request)

    run(space, Listening(DRAFT))
    together, *alone = asked
    assert "The excerpts are of several documents" in together
    assert "title of the document: life.txt" in together
    assert len(alone) == 2
    assert not any("of several documents" in one for one in alone)


def staged(space: PlayedWorkspace, reader: Reader, target: int, journal: str = "b") -> GenerationResult:
    """The result of a document with two questions of its own, after the stage for the share of a mix."""
    context = QAContext(CORPUS, SCENARIO, Mode.TEXTUAL, view_of(BAR, name="bar.txt"))
    limits = QALimits(target_count=2, max_consecutive_failures=3, max_attempts=9)
    work = DocumentWork(COMBINATION, context, limits, "f" * 16)
    kept = JournalFile(space.store, f"journals/{journal}.json", "w", StageJournal)
    stage = AcrossStage(work, reader.models(), CorpusPassages(space, "probes", "mine"), kept)
    return stage.add(harbour.result(), target)


def test_a_share_of_a_mix_is_added_to_the_questions_of_the_document(space: PlayedWorkspace) -> None:
    found = staged(space, Reader(DRAFT), 1)
    *own, pair = found.accepted
    assert (tuple(own), pair.question, hops(pair.evidence)) == (harbour.KNOWN, QUESTION, 2)
    assert (found.stats.target_count, found.planned, found.shortfalls) == (3, {"across": 1}, ())
    assert [one.question for one in without_stages(found).accepted] == [one.question for one in own]
    assert without_stages(found).planned == {}
    assert len(found.verdicts) == 1
    assert without_stages(found).verdicts == (), (
        "the stage adds its verdicts again after a change of the corpus"
    )


def test_what_is_missing_of_a_share_is_told_with_the_reason(space: PlayedWorkspace) -> None:
    (short,) = staged(space, Reader(DRAFT, (BUILT,)), 2).shortfalls
    assert (short.question_type, short.wanted, short.accepted) == ("across", 2, 0)
    assert short.reason.endswith("; 1 groups of documents share something")
    assert (
        without_stages(
            staged(space, Reader(DRAFT | {"evidence": [{"document": 9, "quote": BORN}] * 2}), 1, "c")
        ).rejected
        == ()
    )


def test_a_larger_share_goes_on_where_the_journal_ends(space: PlayedWorkspace) -> None:
    staged(space, Reader(DRAFT), 1)
    again = Reader(DRAFT, ())
    found = staged(space, again, 2)
    assert ([one.question for one in found.accepted[2:]], again.shown) == ([QUESTION], [])
