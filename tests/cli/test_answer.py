"""`qagen answer` as a person runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.support.paper_server import paper
from tests.support.wire_server import Call, Fault, Reply, Step, WireServer

NOTE = (
    "# The Harbour Pump\n\nMartha Kellogg designed the pump in March 1987. The pump holds twelve filters.\n"
)


def test_a_file_is_answered_from_with_the_lines(qagen: Command, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text(NOTE)
    shown = qagen("answer", str(note), "How many filters does the pump hold?", "--profile", "embedded")
    assert shown.code == 0
    assert shown.out.startswith("twelve\n")
    assert "confidence" in shown.out
    assert "lines 1-3" in shown.out
    told = qagen("answer", str(note), "Who designed the pump?", "--profile", "embedded", "--json")
    assert (told.code, told.value["answer"], told.value["success"]) == (0, "Martha Kellogg", True)
    assert told.value["chunks_used"][0]["start_line"] == 1
    assert qagen.project.stored("documents") == {}


def test_what_cannot_be_answered_is_one_line(qagen: Command, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text(NOTE)
    for words, code, told in (
        (("nobody", "Who?"), 2, "no parsed corpus has"),
        ((str(note), "  "), 1, "configuration_error"),
        ((str(note), "Who?", "--abstract"), 1, "no_text_available"),
        (("nobody", "Who?", "--corpus", "nowhere"), 2, "there is no corpus"),
        ((str(note), "Who?", "--fulltext", str(note)), 2, "does not begin as a PDF"),
        ((str(note), "Who?", "--max-chunks", "0"), 2, "max-chunks"),
        ((str(note),), 2, "QUESTION"),
    ):
        ended = qagen("answer", *words, *(("--profile", "embedded") if len(words) > 1 else ()))
        assert ended.code == code, ended
        assert told in ended.err
        assert len(ended.errors) == 1


@pytest.mark.parametrize(
    ("text", "question", "candidate"),
    [
        ("The farm has two dogs and a barn.", "How many cows does the farm have?", "two"),
        ("The station has four valves.", "How many pumps does the station have?", "four"),
        ("The hall has 60 seats and 4 doors.", "How many windows does the hall have?", ""),
        ("Martha Kellogg sang in the choir.", "When was the harbour dredged?", ""),
    ],
)
def test_that_there_is_no_answer_comes_first(
    qagen: Command, tmp_path: Path, text: str, question: str, candidate: str
) -> None:
    note = tmp_path / "note.md"
    note.write_text(f"# Notes\n\n{text}\n")
    shown = qagen("answer", str(note), question, "--profile", "embedded")
    assert shown.code == 1
    first, second = shown.out.splitlines()[:2]
    assert first == "No answer: the document does not answer the question."
    assert second.startswith("What the model said is not an answer: ")
    assert candidate in second


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("The farm has two dogs and nine cows.", "How many cows does the farm have?", "nine"),
        ("Two of the cows on the farm are black.", "How many cows on the farm are black?", "Two"),
        ("The number of cows on the farm is 12.", "How many cows are on the farm?", "12"),
        ("The village has 1,200 inhabitants.", "How many people live in the village?", "1,200"),
    ],
)
def test_a_number_that_counts_what_was_asked_is_an_answer(
    qagen: Command, tmp_path: Path, text: str, question: str, answer: str
) -> None:
    note = tmp_path / "note.md"
    note.write_text(f"# Notes\n\n{text}\n")
    assert answer in qagen("answer", str(note), question, "--profile", "embedded").out.splitlines()[0]


def test_rows_of_a_file_are_named(qagen: Command, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"id": "a", "text": "The mast is nine metres high."}\n{"id": "b", "text": "The keel is oak."}\n'
    )
    ask = ("answer", str(rows), "How high is the mast?", "--profile", "embedded", "--json")
    assert "--row" in qagen(*ask).err
    assert "nine" in qagen(*ask, "--row", "a").value["answer"]


def test_a_pdf_that_is_supplied_is_kept_with_its_document(qagen: Command, tmp_path: Path) -> None:
    corpus = "name: Bells\ncorpus_context: Bells.\nscenarios:\n  facts: {name: Facts, description: F., modes: [textual]}\n"
    abstract = '{"id": "b", "title": "The Bell", "abstract": "A bell is described at length."}\n'
    qagen.project.corpus("bells", corpus, {"papers.jsonl": abstract})
    pdf = tmp_path / "bell.pdf"
    pdf.write_bytes(paper("The bell of the rock weighs 412 kilograms."))
    qagen("run", "--corpus", "bells")
    ask = (
        "answer",
        "papers.jsonl--b",
        "How many kilograms does the bell weigh?",
        "--profile",
        "embedded",
        "--json",
    )
    assert qagen(*ask).value["source"] == "abstract"
    given = qagen(*ask, "--fulltext", str(pdf), "--corpus", "bells").value
    assert (given["source"], given["fulltext_error"]) == ("fulltext_semantic", None)
    assert "412" in given["answer"]
    assert qagen(*ask).value["used_fulltext"]


HALF: dict[str, Any] = {"finish_reason": "error", "error": {"code": 502, "message": "Upstream error"}}
ROLES = ("generator", "validator", "deduplicator", "answerer")


def profile(server: WireServer) -> str:
    rest = f'base_url: "{server.url("openai_compatible")}", max_attempts: 1'
    roles = [f"  {role}: {{provider: openai_compatible, model: {role}, {rest}}}\n" for role in ROLES]
    return "roles:\n" + "".join(roles)


FAULTS: dict[str, tuple[Step, str]] = {
    "half": (Fault(200, {"choices": [HALF | {"message": {"content": "I will read"}}]}), "Upstream error"),
    "words": (Reply(text="I will read the"), "no_tool_call: I will read the"),
    "form": (Reply(calls=(Call("submit_document_answer", {"answer": [1]}),)), "faulty_calls: "),
    "too long": (
        Fault(400, {"error": {"message": "maximum context length is 20 tokens"}}),
        "maximum context length is 20 tokens",
    ),
    "refused": (Fault(422, {"error": {"message": "not like this"}}), "HTTP 422: not like this"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_server_without_a_usable_reply_is_an_error_and_is_asked_again(
    qagen: Command, tmp_path: Path, kind: str
) -> None:
    fault, said = FAULTS[kind]
    note = tmp_path / "note.md"
    note.write_text(NOTE)
    good = {"answer": "twelve", "answerable": True, "confidence": 0.9, "chunks": [1]}
    with WireServer(then=fault) as server:
        qagen.project.profile("remote", profile(server))
        ask = ("answer", str(note), "How many filters does the pump hold?", "--profile", "remote")
        for _ in range(2):
            before = len(server.requests)
            ended = qagen(*ask)
            assert (ended.code, ended.out, len(ended.errors)) == (1, "", 1)
            assert ended.err.startswith("qagen: error: llm_error: ")
            assert said in ended.err
            assert before < len(server.requests) <= before + 10
        server.follow(lambda _seen, _number: Reply(calls=(Call("submit_document_answer", good),)))
        assert qagen(*ask, "--json").value["answer"] == "twelve"


def test_a_refusal_of_the_model_is_an_error_and_asked_again(qagen: Command, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text(NOTE)
    with WireServer(then=Reply(text="I will not.", stop="refusal")) as server:
        qagen.project.profile("remote", profile(server))
        for calls in (1, 2):
            ended = qagen("answer", str(note), "Who?", "--profile", "remote")
            assert (ended.code, len(server.requests)) == (1, calls)
            assert "refused: I will not." in ended.err
