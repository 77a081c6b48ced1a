"""What is asked and what is refused: names of software, forms, vague sentences and labels."""

from __future__ import annotations

import re

import pytest

from tests.models.embedded.driver import Paper, possible_questions


@pytest.mark.parametrize(
    "sentence",
    [
        "MillBench exposes a familiar hierarchical file system interface leveraging SOAP.",
        "PUMPconv depends on a number of external Python libraries.",
    ],
)
def test_a_name_of_software_answers_no_question_for_who(sentence: str) -> None:
    found = possible_questions(Paper(f"# Notes of the Mill\n\n{sentence}\n"))
    assert not [asked for asked in found if re.search(r"\b(?:who|which person) ", asked.lower())]


@pytest.mark.parametrize("name", ["Martha Kellogg", "Jürgen Müller", "Ann McDonald"])
def test_a_name_of_a_person_answers_who(name: str) -> None:
    found = possible_questions(Paper(f"# Notes of the Mill\n\n{name} designed the tide pump of Selby.\n"))
    assert name in [item["answer"] for asked, item in found.items() if asked.startswith("Which person ")], (
        found
    )


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
    assert not possible_questions(Paper(f"# Notes of the Mill\n\n{text}")), text


def test_a_label_is_asked_for_only_in_a_document_with_a_name() -> None:
    text = "The pump of the quay stands here in March 1987.\n\nSUPPLY VOLTAGE: 400 V\n"
    assert "What is the SUPPLY VOLTAGE?" not in possible_questions(Paper(text, title="", name="scan0001.txt"))


def test_a_conjunction_at_the_begin_of_a_sentence_is_left_out() -> None:
    found = possible_questions(
        Paper("# Notes\n\nBut Martha Kellogg designed the tide pump of Selby in March 1987.\n")
    )
    assert found
    assert not [question for question in found if re.search(r"\bbut\b", question)], found


def asked(text: str, title: str = "Notes of the Mill", name: str = "paper.md") -> dict[str, str]:
    found = possible_questions(Paper(f"# {title}\n\n{text}\n" if title else text, name=name))
    return {question: item["answer"] for question, item in found.items()}


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("AquaKest is a small pump that lifts sea water.", "What is AquaKest?", "a small pump that lifts sea water"),
        (
            "A sluice is a small wooden gate in a channel.",
            'According to "Notes of the Mill", what is a sluice?',
            "a small wooden gate in a channel",
        ),
        (
            "3.2 After the flood, Martha Kellogg received the tide pump of Selby.",
            "What did Martha Kellogg receive after the flood?",
            "the tide pump of Selby",
        ),
        ("The mill of Selby still grinds the winter wheat for bakers.", "What does the mill of Selby grind for bakers?", "the winter wheat"),
        (
            "The Finance Committee of the harbour reviews the old tolls. A committee is a part of finance.",
            'According to "Notes of the Mill", what does the Finance Committee of the harbour review?',
            "the old tolls",
        ),
    ],
)  # fmt: skip
def test_a_question_says_what_it_is_about(text: str, question: str, answer: str) -> None:
    assert asked(text).get(question) == answer, asked(text)


@pytest.mark.parametrize(
    "text",
    [
        "22.11 Holding Tax No holding tax shall be charged for new tourism units.",
        "In the case of a vacancy throughout the current session of the Student Senate,\nthe Student Senate Chair shall serve as the facilitator of the election.",
        "Phone: 0123 456789",
        "Sass adds a number of features like variables and inheritance thus making CSS more powerful.",
        "Redemption Request means a request from the Borrower to the Lender to repay the Mortgage.",
        "Its univariate Gauss-norm layer uses the old library of Selby.",
        "The section TD →TC of Selby induces a section on second exterior powers.",
        "2023, the Federal Council decided to ban Hamas in Switzerland.",
        "USER INTERFACE Kellogg designed the tide pump of Selby in March 1987.",
        "Strongly Type: If you are using Strongly Type classes in your razor templates, usually denoted by",
        "By D = 1,536, Pthreads and OpenMP both reach approximately 3.7x speedup.",
        "The miller of Selby opens the relevant gates.",
        "The millers of Selby opens the wooden gates.",
    ],
)
def test_torn_sentences_and_labels_of_forms_give_no_question(text: str) -> None:
    assert not asked(text), text


def test_a_cell_is_asked_for_only_in_a_document_with_a_name() -> None:
    table = "| Gate | Width |\n|---|---|\n| North | 4 m |\n| South | 5 m |\n"
    assert asked(table)
    assert not asked(table, title="", name="scan0001.md")
    assert not [one for one in asked(table.replace("North", "North and sou-")) if "sou-" in one]
