from __future__ import annotations

import json

import pytest

from qagen_dagster.cli.questions.run import distinct_questions, report
from qagen_dagster.cli.questions.show import ListedQuestion, Outcome, spread
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, question_id
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    DocumentEnd,
    Evidence,
    GenerationMetadata,
    GenerationResult,
    GenerationStats,
    QAPair,
    RejectedQA,
    RejectionReason,
    ValidatedSet,
)
from tests.cli.conftest import Command
from tests.support import waterworks

WHERE = Combination.from_key("water/facts/textual")
KEPT, TWIN, LOST = (
    "When does the ridge gate open?",
    "When is the ridge gate opened?",
    "Who keeps the ridge gate?",
)


@pytest.fixture
def stored(qagen: Command) -> Command:
    """A set of one accepted question, one that a document rejected, and one that the comparison removed."""
    qagen.project.corpus("water", waterworks.corpus(), {})
    store = Workspace(qagen.project.settings()).store
    place = Evidence(quote="The gate opens at 6.", start_line=4, end_line=4)
    kept = QAPair(
        id=question_id(WHERE, "ridge.txt", KEPT, "6:00"),
        question=KEPT,
        answer="6:00",
        source_document="documents/ridge.txt",
        document_id="ridge.txt",
        category=WHERE.mode,
        evidence=(place,),
        generation_metadata=GenerationMetadata(generator_model="a", validator_model="b", attempt_number=1),
    )
    name = question_id(WHERE, "ridge.txt", TWIN, "the keeper")
    metadata = kept.generation_metadata.model_copy(update={"attempt_number": 2})
    twin = kept.model_copy(
        update={"id": name, "question": TWIN, "answer": "the keeper", "generation_metadata": metadata}
    )
    lost = _rejected(LOST, RejectionReason.UNANSWERABLE, "the blind answer is \x1b[31mnothing")
    stats = GenerationStats(
        document_path="documents/ridge.txt", mode=WHERE.mode, target_count=2, accepted_count=1, rejected_count=1,
        total_attempts=2, validation_pass_rate=0.5, dedup_rejection_rate=0, exhausted=False, rejection_reasons={},
    )  # fmt: skip
    key = GenerationResult.key(WHERE, "ridge.txt", "f")
    store.write(
        key, GenerationResult(document_id="ridge.txt", accepted=(kept, twin), rejected=(lost,), stats=stats)
    )
    document = CandidateDocument(
        document_id="ridge.txt", document_version="1", result_key=key, end=DocumentEnd.TARGET_REACHED
    )
    store.write(
        CandidateSet.key(WHERE),
        CandidateSet(
            corpus="water", scenario="facts", mode=WHERE.mode, run_id="r", profile="embedded", models={}, prompts={},
            fingerprint="f", configuration="f", target_count=2, started="", ended="", documents=(document,),
        ),
    )  # fmt: skip
    removed = (_rejected(TWIN, RejectionReason.DUPLICATE, "asks the same"),)
    store.write(
        ValidatedSet.key(WHERE),
        ValidatedSet(
            corpus="water", scenario="facts", mode=WHERE.mode, fingerprint="f", run_id="r", questions=(kept,),
            removed=removed,
        ),
    )  # fmt: skip
    return qagen


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], [KEPT, LOST, TWIN]),
        (["--outcome", "accepted"], [KEPT]),
        (["--reason", "duplicate"], [TWIN]),
        (["--type", "factual"], [KEPT]),
        (["--document", "quay.txt"], []),
        (["ridge  GATE open"], [KEPT, TWIN]),
        (["6:00", "--outcome", "rejected"], []),
        ([question_id(WHERE, "ridge.txt", LOST, "the keeper")[:9]], [LOST]),
        (["--limit", "1"], [KEPT]),
    ],
)
def test_questions_are_filtered_and_found(stored: Command, words: list[str], expected: list[str]) -> None:
    ended = stored("questions", "--json", *words)
    assert ended.code == 0
    assert [one["question"] for one in json.loads(ended.out)] == expected


def test_a_rejection_is_told_with_its_place_reason_and_detail(stored: Command) -> None:
    out = stored("questions", "--limit", "2").out
    assert "accepted\nwater/facts/textual  ridge.txt:4\n" in out
    assert "rejected: unanswerable" in out
    assert "the blind answer is" in out
    assert "\x1b[31m" not in out
    assert out.endswith("3 questions, 1 not listed (--limit)\n")


def test_a_corpus_that_does_not_exist_is_an_error(stored: Command) -> None:
    ended = stored("questions", "--corpus", "watr")
    assert (ended.code, ended.out) == (2, "")
    assert "there is no corpus 'watr'" in ended.errors[0]


def test_a_rejected_question_is_shown_by_its_id(stored: Command) -> None:
    for question, reason in ((LOST, "unanswerable"), (TWIN, "duplicate")):
        name = question_id(WHERE, "ridge.txt", question, "the keeper")
        found = stored("show", name[:12], "--json").value
        assert (found["question_id"], found["outcome"], found["reason"]) == (name, "rejected", reason)
        shown = stored("show", name)
        assert (shown.code, shown.err) == (0, "")
        assert question in shown.out
        assert f"rejected: {reason}" in shown.out
    assert (
        "more than one question begins with 'q-'" in stored("show", "q-").err
        or stored("show", "q-").code == 0
    )
    assert "there is no question 'q-none'" in stored("show", "q-none").err


def test_commands_agree_after_a_run_without_the_catalog(stored: Command) -> None:
    """As after a run of the assets in the Dagster UI."""
    accepted = stored("questions", "--outcome", "accepted", "--json").value[0]["id"]
    found = stored("show", accepted, "--json").value
    assert (found["question_id"], found["outcome"]) == (accepted, "accepted")
    (one,) = stored("status", "--json").value["combinations"]
    (other,) = stored("stats", "--json").value
    assert [(each["accepted"], each["rejected"]) for each in (one, other)] == [(1, 2)] * 2
    built = stored("status", "--json").value["built_at"]
    assert stored("status", "--json").value["built_at"] == built, (
        "a catalog that is current is not made again"
    )
    store = Workspace(stored.project.settings()).store
    validated = store.read(ValidatedSet.key(WHERE), ValidatedSet)
    store.write(ValidatedSet.key(WHERE), validated.model_copy(update={"questions": (), "run_id": "newer"}))
    made = store.read(CandidateSet.key(WHERE), CandidateSet)
    store.write(CandidateSet.key(WHERE), made.model_copy(update={"run_id": "newer"}))
    assert stored("questions", "--outcome", "accepted", "--json").value == []
    (one,) = stored("status", "--json").value["combinations"]
    assert one["accepted"] == 0
    assert "there is no question" in stored("show", accepted).err


def test_runs_are_listed(stored: Command) -> None:
    (run,) = stored("runs", "--json").value
    assert (run["run_id"], run["combination"], run["accepted"]) == ("r", WHERE.key, 1)
    assert "per question" in stored("runs", "--corpus", "water").out
    for words in (("--mode", "visual"), ("--corpus", "nowhere"), ("--scenario", "exam", "--json")):
        ended = stored("runs", *words)
        assert (ended.code, "no combination of the catalog matches (there are: water/" in ended.err) == (
            2,
            True,
        )


def test_a_catalog_that_cannot_be_made_anew_is_told(stored: Command) -> None:
    assert stored("stats").err == ""
    store = Workspace(stored.project.settings()).store
    made = store.read(CandidateSet.key(WHERE), CandidateSet)
    store.write(CandidateSet.key(WHERE), made.model_copy(update={"run_id": "newer"}))
    lock = stored.project.assets / ".catalog.duckdb.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    ended = stored("stats")
    assert ended.code == 0
    assert "the catalog is older than the store and cannot be rebuilt" in ended.err


def _rejected(question: str, reason: RejectionReason, detail: str) -> RejectedQA:
    return RejectedQA(
        question=question,
        answer="the keeper",
        rejection_reason=reason,
        rejection_detail=detail,
        document_id="ridge.txt",
    )


def test_a_question_of_two_sets_is_one_distinct_question(stored: Command) -> None:
    space = Workspace(stored.project.settings())
    validated = space.store.read(ValidatedSet.key(WHERE), ValidatedSet)
    (kept,) = validated.questions
    again = kept.model_copy(update={"id": "q-2", "question": f" {KEPT.upper()}"})
    space.store.write(ValidatedSet.key(WHERE), validated.model_copy(update={"questions": (kept, again)}))
    other = Combination.from_key("water/other/textual")
    made = space.store.read(CandidateSet.key(WHERE), CandidateSet).model_copy(update={"scenario": "other"})
    space.store.write(CandidateSet.key(other), made)
    third = {"scenario": "other", "questions": (kept.model_copy(update={"id": "q-3"}),)}
    space.store.write(ValidatedSet.key(other), validated.model_copy(update=third))
    reports = [report(space, one) for one in (WHERE, other)]
    assert [(one.accepted, one.distinct) for one in reports] == [(2, 1), (1, 1)]
    assert distinct_questions(space, reports) == 1
    found = stored("status", "--json").value
    assert (found["questions"], found["distinct_questions"]) == (3, 1)
    assert "3 accepted questions, 1 of them distinct" in " ".join(stored("status").out.split())


def test_few_questions_are_different_ones_of_many_documents() -> None:
    def one(document: str, question: str) -> ListedQuestion:
        return ListedQuestion(
            id=f"q-{document}-{question}", combination=WHERE.key, document_id=document, outcome=Outcome.ACCEPTED,
            question=question, answer="6:00",
        )  # fmt: skip

    listed = [
        one("a", "Why?"),
        one("a", "Who?"),
        one("a", "When?"),
        one("b", "why?"),
        one("b", "How?"),
        one("c", "Where?"),
    ]
    for limit, expected in (
        (1, ["Why?"]),
        (3, ["Why?", "How?", "Where?"]),
        (4, ["Why?", "Who?", "How?", "Where?"]),
        (5, ["Why?", "Who?", "When?", "How?", "Where?"]),
        (9, ["Why?", "Who?", "When?", "why?", "How?", "Where?"]),
    ):
        assert [found.question for found in spread(listed, limit)] == expected
