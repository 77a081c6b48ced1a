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


WORKED_OUT = [
    ("How many years after 1998 did the 2025 survey begin?", "27"),
    ("How many probes are there per 3 boats?", "4"),
    ("What share of the 48 probes are these?", "25 percent"),
    ("How many things are named?", "the probes and the cell constant: 2 things"),
    ("How much is it for two metres?", "2,500"),
]
DERIVED = ["comparison", "multi_hop", "Multi hop", "calculation", " aggregation ", "numeric"]


@pytest.mark.parametrize("kind", DERIVED)
@pytest.mark.parametrize(("question", "answer"), WORKED_OUT)
def test_a_number_that_can_be_computed_passes_in_an_answer_that_is_worked_out(
    question: str, answer: str, kind: str
) -> None:
    assert unsupported(question, answer, EVIDENCE, kind) is None


@pytest.mark.parametrize("kind", DERIVED)
@pytest.mark.parametrize("graded", [True, False])
def test_no_type_turns_off_the_check_of_numbers(kind: str, *, graded: bool) -> None:
    for answer in ("9999 kg", "27", "9,999", "10:30", "1 probe of Ida Holm", "1" + "0" * 400):
        found = unsupported("How many does it weigh?", answer, EVIDENCE, kind, graded=graded)
        assert found is not None, answer
        assert "stands in no evidence quote" in found
    assert unsupported("How many years after 1998 was 2025?", "27", EVIDENCE, "temporal") is not None


@pytest.mark.parametrize("kind", DERIVED)
def test_the_words_of_a_derived_answer_are_checked_unless_grading_checks_them(kind: str) -> None:
    assert unsupported("Who?", "Nils Berg of Bergen", EVIDENCE, kind) is not None
    assert unsupported("Who?", "Nils Berg of Bergen", EVIDENCE, kind, graded=True) is None
