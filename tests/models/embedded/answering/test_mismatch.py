from __future__ import annotations

import pytest

from qagen_dagster.models.embedded.answering.mismatch import MISMATCHES, mismatches
from qagen_dagster.models.embedded.answering.question import read_question
from qagen_dagster.models.embedded.answering.sentence import ready, word_vectors

TEXT = (
    "The northern bridge was built by Ida Holm in 1811.",
    "It has three arches.",
    "Divers inspected the piers.",
    "Nils Berg sold the old mill to the town in 1902.",
)
ANSWERED = ("Who built the northern bridge in 1811?", "Ida Holm")


def signs(question: str, answer: str) -> dict[str, float]:
    asked = read_question(question)
    sentences = [ready(text) for text in TEXT]
    place = next(number for number, text in enumerate(TEXT) if answer in text)
    doc = sentences[place].doc
    begin = TEXT[place].index(answer)
    tokens = [token.i for token in doc if begin <= token.idx < begin + len(answer)]
    found = mismatches(asked, word_vectors(asked.doc), sentences, place, tokens[0], tokens[-1] + 1)
    return dict(zip(MISMATCHES, found, strict=True))


def test_an_answered_question_has_no_mismatch() -> None:
    found = signs(*ANSWERED)
    assert {
        name: value for name, value in found.items() if name.startswith(("elsewhere", "absent", "far"))
    } == dict.fromkeys([name for name in MISMATCHES if name.startswith(("elsewhere", "absent", "far"))], 0.0)
    assert (found["least"], found["mean"], found["better_sentence"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("question", "answer", "name"),
    [
        ("Who built the northern bridge in 1902?", "Ida Holm", "elsewhere_number"),
        ("Who built the northern bridge in 1955?", "Ida Holm", "absent_number"),
        ("What did Ida Holm sell to the town in 1902?", "the old mill", "elsewhere_name"),
        ("What did Otto sell to the town in 1902?", "the old mill", "absent_name"),
        ("Who built the southern bridge in 1811?", "Ida Holm", "absent_quality"),
        ("Who built the southern bridge in 1811?", "Ida Holm", "other_modifier"),
        ("Who burned the northern bridge in 1811?", "Ida Holm", "absent_verb"),
        ("Who never built the northern bridge?", "Ida Holm", "denial_added"),
    ],
)
def test_a_changed_word_is_a_mismatch_of_its_kind(question: str, answer: str, name: str) -> None:
    assert signs(question, answer)[name] > signs(*ANSWERED)[name]
