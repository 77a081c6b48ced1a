"""What is asked and what is refused: names of software, forms, vague sentences and labels."""

from __future__ import annotations

import re

import pytest

from tests.models.embedded.driver import Paper, all_questions


@pytest.mark.parametrize(
    ("sentence", "verb", "answer"),
    [
        ("MillBench exposes a familiar hierarchical file system interface leveraging SOAP.", "exposes", "MillBench"),
        ("PUMPconv depends on a number of external Python libraries.", "depends", "PUMPconv"),
    ],
)  # fmt: skip
def test_a_name_of_software_answers_what_and_not_who(sentence: str, verb: str, answer: str) -> None:
    found = all_questions(Paper(f"# Notes of the Mill\n\n{sentence}\n"))
    assert [item["answer"] for asked, item in found.items() if asked.startswith(f"What {verb}")] == [answer]


@pytest.mark.parametrize("name", ["Martha Kellogg", "Jürgen Müller", "Ann McDonald"])
def test_a_name_of_a_person_answers_who(name: str) -> None:
    found = all_questions(Paper(f"# Notes of the Mill\n\nThe tide pump of Selby was designed by {name}.\n"))
    assert name in [item["answer"] for asked, item in found.items() if asked.startswith("Who ")], found


@pytest.mark.parametrize(
    "text",
    [
        "Notes of the mill.\n\nDate of birth: ______ Health card: ______\n",
        "Weekly fee: ____________ Deposit paid: ____________\n\nOrdinary words of the mill stand here.\n",
        "The mill of the quay stands here.\n\nThe larger gates yield better results.\n",
        "But the pump yields larger gates and better walls.\n",
        "The Court of Appeal considered that pumps are rivalrous in Selby Trading at [24].\n",
    ],
)
def test_blanks_of_forms_and_vague_sentences_give_no_question(text: str) -> None:
    assert not all_questions(Paper(f"# Notes of the Mill\n\n{text}")), text


def test_a_label_is_asked_for_only_in_a_document_with_a_name() -> None:
    text = "The pump of the quay stands here in March 1987.\n\nSUPPLY VOLTAGE: 400 V\n"
    assert "What is the SUPPLY VOLTAGE?" not in all_questions(Paper(text, title="", name="scan0001.txt"))


def test_a_conjunction_at_the_begin_of_a_sentence_is_left_out() -> None:
    found = all_questions(
        Paper("# Notes\n\nBut Martha Kellogg designed the tide pump of Selby in March 1987.\n")
    )
    assert found
    assert not [question for question in found if re.search(r"\bbut\b", question)], found
