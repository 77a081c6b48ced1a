from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions.publication.publish import broken_evidence
from qagen_dagster.loop.questions.validated_set import deduplicate
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.batch_records import JobBook
from qagen_dagster.models.batcher import Batchers
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.messages import Request
from qagen_dagster.models.providers import build_model
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import Mode, normalise
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata, QAPair, RejectionReason
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store
from tests.support.batches.server import BatchServer
from tests.support.models import FakeModel, Turn, call, told
from tests.support.wire_server import Call, Reply

# Questions of one group ask the same in other words.
GROUPS = {
    "what opens the gate": 0,
    "by what is the gate opened": 0,
    "which thing opens the gate": 0,
    "how is the bell cast": 1,
    "in which way is the bell cast": 1,
    "why does the lamp flicker": 2,
}


def pair(question: str, document: str = "a", *evidence: Evidence) -> QAPair:
    return QAPair(
        id=f"q-{document}-{question}",
        question=question,
        answer="x",
        source_document=document,
        document_id=document,
        category=Mode.TEXTUAL,
        evidence=evidence,
        generation_metadata=GenerationMetadata(generator_model="g", validator_model="v", attempt_number=7),
    )


def encode(questions: Sequence[str]) -> NDArray[np.float32]:
    return np.stack([np.eye(4, dtype=np.float32)[GROUPS.get(normalise(one), 3)] for one in questions])


def judge(request: Request) -> Turn:
    """Says duplicate of the first listed question of the same group."""
    words = told(request)
    new = words.rpartition("New question: ")[2].split("\n")[0]
    listed = [
        line.partition(". ")[2].partition(" [answer")[0] for line in words.split("\n") if "[answer" in line
    ]
    for number, one in enumerate(listed, 1):
        if GROUPS[one.casefold()] == GROUPS[new.casefold()]:
            return call(
                "submit_duplicate_verdict", verdict="duplicate", duplicate_of=number, explanation="same"
            )
    return call("submit_duplicate_verdict", verdict="unique")


def test_the_first_of_each_group_stays_and_the_others_say_what_they_repeat() -> None:
    pairs = [
        pair("what opens the gate", "a"),
        pair("how is the bell cast", "a"),
        pair("by what is the gate opened", "b"),
        pair("why does the lamp flicker", "b"),
        pair("in which way is the bell cast", "c"),
        pair("which thing opens the gate", "c"),
    ]
    kept, removed, calls = deduplicate(pairs, FakeModel(judge), encode)
    assert kept == [pairs[0], pairs[1], pairs[3]]
    assert [(one.question, one.duplicate_of) for one in removed] == [
        ("by what is the gate opened", "what opens the gate"),
        ("in which way is the bell cast", "how is the bell cast"),
        ("which thing opens the gate", "what opens the gate"),
    ]
    assert {one.rejection_reason for one in removed} == {RejectionReason.DUPLICATE}
    assert removed[0].rejection_detail == "repeats a question on a: same"
    assert {(one.duplicate_score, one.duplicate_step) for one in removed} == {(1.0, "model")}
    assert (removed[0].document_id, removed[0].attempt_number) == ("b", 7)
    assert [one.document_id for one in calls] == ["b", "c", "c"]


def test_a_removed_question_is_no_longer_compared_with() -> None:
    pairs = [pair(question, str(n)) for n, question in enumerate(list(GROUPS)[:3])]
    model = FakeModel(judge)
    deduplicate(pairs, model, encode)
    assert "by what is the gate opened" not in told(model.requests[-1])


def test_inside_one_document_only_equal_words_count() -> None:
    pairs = [
        pair("what opens the gate", "a"),
        pair("by what is the gate opened", "a"),
        pair("What opens  THE gate", "a"),
    ]
    model = FakeModel(judge)
    kept, removed, _ = deduplicate(pairs, model, encode)
    assert kept == pairs[:2]
    assert [one.rejection_detail for one in removed] == ["repeats a question on a: the same words"]
    assert (removed[0].duplicate_score, removed[0].duplicate_step) == (1.0, "exact")
    assert model.requests == []


def test_equal_answers_of_questions_in_the_same_words_need_no_model() -> None:
    first, second = pair("Who opens the gate?", "a"), pair("By whom is the gate opened?", "b")
    named = [one.model_copy(update={"answer": "Ida Holm"}) for one in (first, second)]
    model = FakeModel(judge)
    kept, removed, calls = deduplicate(named, model, encode)
    assert (kept, calls, model.requests) == (named[:1], [], [])
    why = "repeats a question on a: the same content words and the same answer, similarity 1.00"
    assert (removed[0].rejection_detail, removed[0].duplicate_of) == (why, first.question)
    assert (removed[0].duplicate_score, removed[0].duplicate_step) == (1.0, "similarity")


def test_nothing_to_compare_costs_nothing() -> None:
    model = FakeModel(judge)
    assert deduplicate([], model, encode) == ([], [], [])
    lone = [pair("what opens the gate", "a"), pair("why does the lamp flicker", "b")]
    assert deduplicate(lone, model, encode)[0] == lone
    assert model.requests == []


@given(
    st.lists(st.tuples(st.sampled_from(sorted(GROUPS)), st.sampled_from("abc")), max_size=12),
    st.integers(0, 10_000),
)
def test_what_stays_is_in_order_one_of_each_group_and_the_same_every_time(
    chosen: list[tuple[str, str]], seed: int
) -> None:
    pairs = [pair(question, document) for question, document in chosen]
    kept, removed, _ = deduplicate(pairs, FakeModel(judge), encode)
    assert deduplicate(pairs, FakeModel(judge), encode)[:2] == (kept, removed)
    assert len(kept) + len(removed) == len(pairs)
    places = [next(n for n, one in enumerate(pairs) if one is chosen_one) for chosen_one in kept]
    assert places == sorted(places)
    across = {(GROUPS[one.question], one.document_id) for one in kept}
    first_documents = {GROUPS[one.question]: one.document_id for one in reversed(pairs)}
    assert all(document == first_documents[group] for group, document in across)
    shuffled = pairs.copy()
    random.Random(seed).shuffle(shuffled)
    groups = {GROUPS[one.question] for one in deduplicate(shuffled, FakeModel(judge), encode)[0]}
    assert groups == {GROUPS[one.question] for one in kept}


@given(
    st.lists(st.tuples(st.sampled_from(sorted(GROUPS)), st.sampled_from("abcdef")), max_size=16),
    st.integers(2, 8),
)
def test_asking_side_by_side_gives_what_asking_in_order_gives(
    chosen: list[tuple[str, str]], workers: int
) -> None:
    pairs = [pair(question, document) for question, document in chosen]
    one, many = FakeModel(judge), FakeModel(judge)
    in_order = deduplicate(pairs, one, encode)
    assert deduplicate(pairs, many, encode, workers=workers) == in_order
    assert sorted(map(told, many.requests)) == sorted(map(told, one.requests))


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_by_batch_they_go_together(wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qagen_dagster.models.batcher.MOST_REQUESTS", 2)
    verdict = {"verdict": "duplicate", "duplicate_of": 1, "explanation": "same"}
    store = Store(tmp_path)
    pairs = [pair(question, str(n)) for n, question in enumerate(GROUPS) if n != 2]
    with BatchServer(lambda _: Reply(calls=(Call("submit_duplicate_verdict", verdict),))) as server:
        spec = ModelSpec(
            provider=wire,
            model="m-1",
            base_url=server.url(wire),
            execution="batch",
            batch_poll_seconds=0.01,
            batch_window_seconds=60,
            usd_per_million_input=1,
            usd_per_million_output=2,
        )
        batchers = Batchers(JobBook(store.blobs("batches")))
        model = build_model(
            spec, Ledger(store.blobs("ledger")), lambda _: "key", tmp_path / "state", batchers
        )
        kept, _, calls = deduplicate(pairs, model, encode, workers=9)
        assert [len(sent) for sent in server.batches] == [2]
        assert server.direct == []
    assert [one.question for one in kept] == [
        "what opens the gate",
        "how is the bell cast",
        "why does the lamp flicker",
    ]
    assert [one.usd for one in calls] == [pytest.approx(70e-6)] * 2  # half of 100 and 20 tokens


def test_comparisons_that_do_not_depend_on_each_other_are_asked_at_once() -> None:
    meeting = threading.Barrier(2, timeout=30)

    def both(request: Request) -> Turn:
        meeting.wait()  # who is alone here waits for nobody
        return judge(request)

    pairs = [
        pair("what opens the gate", "a"),
        pair("how is the bell cast", "b"),
        pair("by what is the gate opened", "c"),
        pair("in which way is the bell cast", "d"),
    ]
    assert deduplicate(pairs, FakeModel(both), encode, workers=2)[0] == pairs[:2]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    space = Workspace(Settings(corpora=tmp_path / "corpora", assets=str(tmp_path / "assets")))
    text = "one\ntwo words\nthree more words\n"
    space.store.write_bytes(Document.text_key("c", "a"), text.encode())
    return space


def at(quote: str, start: int | None, end: int | None) -> Evidence:
    return Evidence(quote=quote, start_line=start, end_line=end)


@pytest.mark.parametrize(
    ("evidence", "stands"),
    [
        (at("two words", 2, 2), True),
        (at("words\nthree", 2, 3), True),
        (at("three", 3, 3), True),
        (at("two words", 3, 3), False),
        (at("two  words", 2, 2), False),
        (at("words\nthree", 2, 2), False),
        (at("words three", 2, 3), False),
        (at("three", 9, 9), False),
        (at("one", 0, 1), False),
        (at("", 2, 2), False),
        (at("two words", None, None), False),
    ],
)
def test_evidence_must_stand_on_the_lines_it_claims(
    workspace: Workspace, evidence: Evidence, stands: bool
) -> None:
    questions = [pair("what", "a", at("one", 1, 1), evidence)]
    assert broken_evidence(workspace, "c", questions) == ([] if stands else ["q-a-what"])


def test_a_picture_without_text_needs_no_lines(workspace: Workspace) -> None:
    seen = pair("what", "picture", at("a red bell", None, None))
    read = pair("which", "picture", at("a red bell", 1, 1))
    assert broken_evidence(workspace, "c", [seen, read]) == ["q-picture-which"]


def test_a_question_without_evidence_is_broken(workspace: Workspace) -> None:
    assert broken_evidence(workspace, "c", [pair("what", "a")]) == ["q-a-what"]


def test_what_a_spent_budget_left_uncompared_is_not_published() -> None:
    pairs = [pair("what opens the gate", "a"), pair("what lifts the gate", "b"), pair("why flicker", "c")]

    def spent(request: Request) -> Turn:
        raise BudgetExhaustedError("the run's max_calls 3 is used up")

    def near(questions: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([np.eye(2, dtype=np.float32)[int(one.startswith("why"))] for one in questions])

    kept, removed, calls = deduplicate(pairs, FakeModel(spent), near)
    assert [one.document_id for one in kept] == ["a", "c"]
    assert [(one.document_id, one.rejection_reason) for one in removed] == [
        ("b", RejectionReason.VALIDATION_FAILED)
    ]
    assert "max_calls 3" in removed[0].rejection_detail
    assert calls == []
