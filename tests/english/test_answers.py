from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.answers import Match, clearly_different, contradiction, equal, informative, match

SAME = [
    ("£85", "85 pounds"),
    ("the sixties", "the 1960s"),
    ("4 million", "4,000,000"),
    ("£4.2 million", "4.2 million pounds"),
    ("$1,250,000", "1.25 million dollars"),
    ("12 months", "one year"),
    ("7 weeks", "49 days"),
    ("1.5 km", "1500 metres"),
    ("0.5", "0.5 kg"),
    ("37", "37 branches"),
    ("three months", "3"),
    ("USD 2,400,000", "$2.4 million"),
    ("18%", "18 per cent"),
    ("12 July 1444", "July 12, 1444"),
    ("the Coulomb force", "Coulomb force"),
    ("nausea and headache", "headache and nausea"),
    ("Lena Morath", "Dr Lena Morath"),
    ("about 22 months", "22 months"),
    ("YES", "yes."),
    ("25 May 2018", "2018"),
    ("x", "X"),
    ("minus 5 °C", "-5 °C"),
    ("-£5", "£-5.00"),
    ("31.03.2023", "31 March 2023"),
]
CLOSE = [
    ("prior to 1967", "1966"),
    ("more than 80 km", "85 km"),
    ("air resistance", "air drag"),
    ("1.33", "1.3"),
    ("Henry II", "Henry the Second"),
    ("the UN", "United Nations"),
    ("", "anything"),
    ("", ""),
    ("-5 °C", "5 °C"),  # or a fall of 5 °C
    ("minus 5", "5"),
]
APART = [("quiet mode", "-q"), ("nectar", "blossom sap"), ("lawyer", "1998"), ("nectar", "at least 3 km")]
CONFLICT = [
    ("£4.2 million", "£4.9 million"),
    ("31%", "58%"),
    ("March 2019", "April 2019"),
    ("12 July 1444", "12 July 1445"),
    ("1998", "5 kg"),
    ("before 1967", "1967"),
    ("Ida Holm", "Nils Berg"),
    ("yes", "no"),
    ("yes, always", "No"),
    ("12 m", "12 kg"),
    ("with consent", "not with consent"),
    ("the maximum load", "the minimum load"),
]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (one, other, found)
        for found, pairs in (
            (Match.SAME, SAME),
            (Match.CLOSE, CLOSE),
            (Match.APART, APART),
            (Match.CONFLICT, CONFLICT),
        )
        for one, other in pairs
    ],
)
def test_how_two_answers_relate(one: str, other: str, found: Match) -> None:
    assert match(one, other) is found
    assert match(other, one) is found


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_order_does_not_matter(one: str, other: str) -> None:
    assert match(one, other) is match(other, one)


@given(st.integers(min_value=0, max_value=10**9))
def test_a_number_has_one_value_however_it_is_written(value: int) -> None:
    assert match(f"{value:,}", str(value)) is Match.SAME


@given(st.text(min_size=1, max_size=60).filter(lambda text: any(char.isalnum() for char in text)))
def test_an_answer_is_itself(answer: str) -> None:
    assert match(answer, answer) in (Match.SAME, Match.CLOSE)
    assert not clearly_different(answer, answer)


@pytest.mark.parametrize(
    ("one", "other", "other_fact"),
    [
        ("the liver", "the spleen", True),
        ("3 m", "4 m", True),
        ("it removes old cells from blood", "filtering out what is worn and broken", False),
        ("the liver", "the liver", False),
        ("", "the liver", False),
    ],
)
def test_long_answers_in_other_words_may_still_be_one(one: str, other: str, other_fact: bool) -> None:
    assert clearly_different(one, other) is other_fact


@pytest.mark.parametrize(
    ("answer", "tells"),
    [
        ("yes", False),
        ("no, never", False),
        ("3", False),
        ("", False),
        ("3 kg", True),
        ("1998", True),
        ("a bell", True),
    ],
)
def test_which_answers_hardly_any_other_question_has(answer: str, tells: bool) -> None:
    assert informative(answer) is tells


EQUAL = [
    ("4.2 mm", "4.2 mm"),
    ("4.2 million", "4,200,000"),
    ("12 months", "one year"),
    ("in 1987", "1987"),
    ("because the valve had frozen", "The valve had frozen."),
    ("the Coulomb force", "Coulomb force"),
    ("from 3 to 5 bar", "from 3 to 5 bar"),
    ("12 July 1444", "July 12, 1444"),
    ("yes", "Yes."),
]
NOT_SURELY_EQUAL = [
    ("4.2 mm", "4.2"),
    ("25 May 2018", "2018"),
    ("37", "37 branches"),
    ("about 22 months", "22 months"),
    ("at least 5 bar", "5 bar"),
    ("by 1987", "in 1987"),
    ("from 3 to 5 bar", "from 5 to 3 bar"),
    ("rose to 5 percent", "rose by 5 percent"),
    ("Ida Holm paid Nils Berg", "Nils Berg paid Ida Holm"),
    ("north gate", "gate"),
    ("before the start", "after the start"),
    ("not frozen", "frozen"),
    ("1,234,567", "1.2 million"),
    ("C++", "C"),
    ("C++", "C#"),
    ("Na+", "Na-"),
    ("p < 0.05", "p > 0.05"),
    ("≥ 5 bar", "5 bar"),
    ("±2", "2"),
    ("-v", "v"),
    ("foo_bar", "foo bar"),
    ("vitamin A", "vitamin"),
    ("A→B", "B→A"),
    ("version 1.20", "version 1.2"),
    ("007", "7"),
    ("it is", "are"),
    ("5 mW", "5 MW"),
    ("5 Mg", "5 mg"),
    ("CO", "Co"),
    ("2 K", "2 k"),
    ("", ""),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_answers_that_are_certainly_the_same(one: str, other: str) -> None:
    assert equal(one, other)
    assert equal(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_SURELY_EQUAL)
def test_what_code_alone_does_not_call_equal(one: str, other: str) -> None:
    assert not equal(one, other)
    assert not equal(other, one)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("£4.2 million", "£4.9 million", "their numbers or dates differ"),
        ("12 pumps were replaced", "11 pumps", "their numbers or dates differ"),
        ("12 July 1444", "12 July 1445", "their numbers or dates differ"),
        ("Yes, in May", "no", "one says yes, the other no"),
        (
            "the pump may be opened while it runs",
            "the pump may not be opened while it runs",
            "one denies what the other states",
        ),
    ],
)
def test_answers_that_cannot_both_be_right(one: str, other: str, why: str) -> None:
    assert contradiction(one, other) == contradiction(other, one) == why


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *SAME,
        *CLOSE,
        *APART,
        ("12,843", "12.843 million"),
        ("$12.8 million", "12,843"),
        ("0.25", "25%"),
        ("Ida Holm", "the first director"),
        ("Britain", "United Kingdom"),
        ("because it was not paid", "for lack of money"),
        ("1811, with three arches", "1811"),
        (
            "In rainy years the pumps stand idle in spring and run through autumn; in dry years they are mostly absent from both yards and kept in the store.",
            "In rainy years the pumps run through autumn (none in spring); in dry years they are mostly absent from the yards too and kept in the store.",
        ),
    ],
)
def test_answers_that_can_both_be_right(one: str, other: str) -> None:
    assert contradiction(one, other) == contradiction(other, one) == ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("10 \u03bcg", "10 g", Match.CONFLICT),  # the Greek letter
        ("5 \u03bcg", "0.005 mg", Match.SAME),
        ("5 \u00b5g", "5 \u03bcg", Match.SAME),  # the sign and the letter
        ("10 \u03bcL", "10 L", Match.CONFLICT),
        ("10 \u00b5s", "10 ms", Match.CONFLICT),
        ("10 \u03bcA", "10 A", Match.CLOSE),
        ("5 M\u03a9", "5 m\u2126", Match.CLOSE),
        ("5 mW", "5 MW", Match.CLOSE),
        ("10 uA", "10 \u00b5A", Match.CLOSE),
        ("10 m", "10 metres", Match.SAME),
        ("5 k\u03a9 and 3 A", "5 k\u03a9 and 3 A", Match.SAME),
    ],
)  # fmt: skip
def test_a_prefix_of_a_unit_is_never_ignored(one: str, other: str, expected: Match) -> None:
    assert match(one, other) is expected
