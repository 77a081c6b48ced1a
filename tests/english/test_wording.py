from __future__ import annotations

import pytest

from qagen_dagster.english.wording import pointer


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("According to the table, what was the rainfall of Kestwick in May?", "the table"),
        ("In this study, how many beams were tested?", "this study"),
        ("Which pump is named in the passage above?", "the passage"),
        ("In the document, who signed the lease?", "the document"),
        ("What do the authors conclude about salt marshes?", "the authors"),
        ("How long is the pier as stated in the report?", "the report"),
        ("What does the present article say of Kestwick's mills?", "the present article"),
    ],
)
def test_a_question_that_points_at_an_unnamed_text(question: str, words: str) -> None:
    assert pointer(question) == words


@pytest.mark.parametrize(
    "question",
    [
        "According to Table 3 of the Kestwick rainfall report, what fell in May?",
        "What did the authors of the Kestwick tide survey conclude?",
        "According to the report of the harbour master, how long is the pier?",
        'In the article "Mills of Kestwick", who owned the upper mill?',
        'Which word fills the gap in this line of the document: "The mill has ____ the stream since 1811."?',
        "How thick is the paper of the printed maps?",
        "Which figure of the council stands on the market square?",
        "What was the text that the ferryman carved into the door?",
        "Which pump of the waterworks failed in 2021?",
    ],
)
def test_its_good_twin_names_the_text_or_means_a_thing(question: str) -> None:
    assert pointer(question) == ""
