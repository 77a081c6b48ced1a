from __future__ import annotations

import pytest

from qagen_dagster.agents.questions.evidence.answer_support import unhedged, unsupported

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
        ("Ida Holm, the only one that built probes.", "Who built them?"),
        ("One has to know the cell constant.", "What must be known?"),
    ],
)
def test_an_answer_in_the_words_of_its_evidence_passes(answer: str, question: str) -> None:
    assert unsupported(question, answer, EVIDENCE, "factual") is None


@pytest.mark.parametrize(
    ("answer", "quote", "passes"),
    [
        ("0 or 1", "Labels are in {0,1}.", True),
        ("{0,1}", "Labels are in {0, 1}.", True),
        ("0,1", "Labels are in {0,1}.", True),
        ("2 and 8", "The sizes (2,4,8) were tried.", True),
        ("3.5 or 4", "Ratios of {3.5,4} were tried.", True),
        ("0 or 2", "Labels are in {0,1}.", False),
        ("1234", "It has 1,234 rows.", True),
        ("234", "It has 1,234 rows.", False),
        ("1234567", "It has 12,34,567 rows.", True),
    ],
)
def test_a_comma_separates_numbers_unless_it_groups_thousands(answer: str, quote: str, passes: bool) -> None:
    assert (unsupported("Which values?", answer, quote, "factual") is None) is passes


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
        ("Ida Holm has one to sell", "1 stands in no evidence quote"),
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


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Which force drove the probe?", "the tidal force", "(tidal)"),  # a word of the question is no evidence
        ("Who built the probes?", "Ida Holm and her colleague Berg built twelve", "Berg stand in no evidence quote"),
    ],
    ids=["words of the question", "a name"],
)  # fmt: skip
def test_new_words_and_names_must_be_quoted(question: str, answer: str, said: str) -> None:
    why = unsupported(question, answer, EVIDENCE, "factual")
    assert why is not None
    assert said in why
    assert unsupported(question, answer, f"{EVIDENCE} Berg helped with the tidal drive.", "factual") is None


@pytest.mark.parametrize("kind", ["factual", "multi_hop"])
def test_every_part_of_a_list_must_be_quoted(kind: str) -> None:
    why = unsupported("Who built what?", "Ida Holm; a harbour crane", EVIDENCE, kind)
    assert why == "most words of 'a harbour crane' stand in no evidence quote (harbour, crane)"
    assert unsupported("Who built what?", "Ida Holm; twelve probes", EVIDENCE, kind) is None


def test_what_stands_above_the_evidence_supports_it() -> None:
    row, head = "| Ida Holm | 12 |", "| built by | probes of 1998 |"
    assert unsupported("How many?", "12 in 1998", row, "factual") is not None
    assert unsupported("How many?", "12 in 1998", row, "factual", beside=head) is None


def test_marks_of_footnotes_and_signs_do_not_change_a_number() -> None:
    text = "It was built in 2003.2 He left; the share was 3.76% by arXiv6 counts."
    for answer in ("2003", "3.76 %", "arXiv"):
        assert unsupported("What?", answer, text, "factual") is None, answer
    assert unsupported("What?", "2003.5", text, "factual") is not None


def test_a_language_that_capitalises_nouns_is_not_checked_for_names() -> None:
    text = "Die Messung der Temperatur im Hafen und die Lage der Boje ergab im Winter eine Abnahme."
    assert (
        unsupported(
            "Was ergab die Messung?", "eine Abnahme, kein Anstieg, im Winter im Hafen", text, "factual"
        )
        is None
    )


@pytest.mark.parametrize(
    ("answer", "holds"),
    [("2019", True), ("2019.7", True), ("2018", False), ("3.76%", True), ("3.67%", False)],
)
def test_a_footnote_mark_at_the_end_of_a_quote_belongs_to_no_number(answer: str, holds: bool) -> None:
    quote = "The error was 3.76%, and it was published in 2019.7"
    assert (unsupported("When, and how large was the error?", answer, quote, "factual") is None) is holds


WAITED = "The wait had an estimated average of 5 minutes. About 1,500 people came, nearly 40 % by boat."


@pytest.mark.parametrize(
    ("question", "answer", "only_as"),
    [
        ("How long was the wait?", "5 minutes", "an estimate"),
        ("How long was the wait, as estimated?", "5 minutes", "an average"),
        ("How long was the estimated wait on average?", "5 minutes", ""),
        ("How long was the wait?", "about 5 minutes on average", ""),
        ("How many people came?", "1,500", ""),
        ("Roughly how many people came?", "1,500", ""),
        ("Which share came by boat?", "40 %", ""),
    ],
)
def test_an_estimate_or_an_average_is_called_one(question: str, answer: str, only_as: str) -> None:
    found = unsupported(question, answer, WAITED, "factual") or ""
    assert found == "" if not only_as else f"only as {only_as}" in found
    counted = f"{WAITED} In all, 1,500 people, 40 % of them by boat, waited 5 minutes."
    assert unsupported(question, answer, counted, "factual") is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [("1,600", "1500 only as a rounded value"), ("about 1,600", ""), ("roughly 1,600", "")],
)
def test_a_result_of_rounded_values_is_called_rounded(answer: str, said: str) -> None:
    found = unhedged("How many people were there?", answer, ["1500", "100"], WAITED, computed=True)
    assert said in (found or "") if said else found is None
