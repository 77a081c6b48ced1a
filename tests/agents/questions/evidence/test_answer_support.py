from __future__ import annotations

import pytest

from qagen_dagster.agents.questions.evidence.answer_support import unsupported

EVIDENCE = "In 1998 Ida Holm built twelve probes; the cell constant is 1,250 per metre at 25.0 °C."


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("1,250 per metre", "What is the cell constant?"),
        ("1250 per metre", "What is the cell constant?"),
        ("12 probes", "How many probes were built?"),
        ("twelve", "How many probes were built?"),
        ("Ida Holm", "Who built the probes?"),
        ("It was Ida Holm who built the first probe.", "Who built them?"),
        ("25.0 °C", "At what temperature?"),
        ("1998.", "When were they built?"),
        ("the 70 mS/cm probe of Ida Holm", "Who built the 70 mS/cm probe?"),  # the question says it
        ("building of the probes", "What happened in 1998?"),  # another form of a word
        ("Yes", "Was it built in 1998?"),
        ("no", "Is it sold?"),
        ("\u2014", "Which sign stands there?"),
        ("Ida Holm, and this one built the probes; no one else.", "Who built them?"),
    ],
)
def test_an_answer_in_the_words_of_its_evidence_passes(answer: str, question: str) -> None:
    assert unsupported(question, answer, EVIDENCE, "factual") is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("1,350 per metre", "1350 stands in no evidence quote"),
        ("in 1999", "1999"),
        ("13 probes", "13"),
        ("thirteen", "thirteen"),
        ("25 °C", "25"),
        ("2,4 and 6", "6"),
        ("Nils Berg of Bergen", "most words of the answer stand in no evidence quote (nils, berg, bergen)"),
        ("125", "125"),
        ("one probe of Ida Holm", "1 stands in no evidence quote"),
    ],
)
def test_a_number_or_most_words_from_nowhere_are_refused(answer: str, said: str) -> None:
    why = unsupported("What is it?", answer, EVIDENCE, "factual")
    assert why is not None
    assert said in why


@pytest.mark.parametrize("kind", ["comparison", "multi_hop", "Multi hop", "calculation", " aggregation "])
def test_answers_that_must_be_worked_out_are_left_to_the_validator(kind: str) -> None:
    assert unsupported("How many years ago?", "27", EVIDENCE, kind) is None
    assert unsupported("How many years ago?", "27", EVIDENCE, "temporal") is not None
