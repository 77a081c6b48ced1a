from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.question import grade_question
from qagen_dagster.records.grading import AnswerGrade
from tests.grounding.judging import source

TEXT = """Report of the Orrin Bay ferry
In 1992 the Skua replaced the Plover. She carries 140 passengers and needs 2.5 m of water; the Plover took 60.
The harbour master called the old landing place "a bank of mud with a bell on it"."""


def graded(question: str, **more: bool) -> AnswerGrade:
    return grade_question(question, source(TEXT), metadata="ferries/orrin.txt Ada Quell", **more)


@pytest.mark.parametrize(
    "question",
    [
        "How did the Skua differ from the Plover in what she needed to land?",
        "What follows from the harbour master's judgement about the old landing place before 1992?",
        "Counting both, how many passengers could the Skua and the Plover carry in Orrin Bay?",
        'What did the harbour master call "a bank of mud"?',
        "In the report of Ada Quell, which of the two ferries took 60 passengers?",
        "How many of the ferries in Orrin Bay carry 100 passengers or more?",
        "Which ferry of Orrin Bay carries more than 90 passengers?",
        "Which of the ferries carries between 50 and 80 passengers?",
    ],
)
def test_questions_may_use_words_of_their_own(question: str) -> None:
    found = graded(question)
    assert (found.is_grounded, found.confidence, found.issues) == (True, 1.0, ())


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("When did the Gannet replace the Plover?", "Gannet"),
        ("Why did the Skua replace the Plover in 1997?", "1997"),
        ("Why can the Skua carry 180 passengers?", "180"),
        ("Why can the Skua carry 180 passengers more?", "180"),
        ('Who called the landing place "a heap of stones"?', '"a heap of stones"'),
    ],
)
def test_what_the_document_does_not_name_is_told(question: str, missing: str) -> None:
    found = graded(question)
    assert found.is_grounded is False
    assert found.confidence is not None
    assert found.confidence <= 0.5
    assert found.issues[0].startswith("the document does not have ")
    assert missing in found.issues[0]


def test_a_supposition_may_bring_numbers_but_no_names() -> None:
    question = "If the Skua carried 180 passengers, how many more than the Plover would she take?"
    assert graded(question).is_grounded is False
    assert graded(question, hypothetical=True).is_grounded is True
    assert (
        graded("If the Gannet carried 180 passengers, would she land?", hypothetical=True).is_grounded
        is False
    )


def test_another_subject_is_noticed_without_names() -> None:
    found = graded("how does photosynthesis convert sunlight into chemical energy")
    assert (found.is_grounded, found.issues) == (False, ("few of its words are in the document",))


@given(st.text(max_size=200))
def test_odd_questions_get_a_grade(question: str) -> None:
    found = graded(question)
    assert found.confidence is not None
    assert 0 <= found.confidence <= 1
    assert found.is_grounded == (found.confidence == 1.0)


@pytest.mark.parametrize(
    ("text", "grounded"),
    [("The quartz tube was baked at 600\u00b0C.", True), ("The quartz tube was baked at 600 K.", False)],
)
def test_a_question_may_name_the_scale_whose_sign_the_document_has(text: str, grounded: bool) -> None:
    assert (
        grade_question("To how many degrees Celsius was the quartz tube baked?", source(text)).is_grounded
        is grounded
    )
