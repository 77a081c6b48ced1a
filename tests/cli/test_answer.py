"""`qagen answer` as a person runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.paper_server import paper

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
    assert shown.code == 0
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
