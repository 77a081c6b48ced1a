from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.words import word_set
from qagen_dagster.loop.questions.duplicates.word_rules import Known, Ruling, examine

QUESTIONS_ALONE = {
    "year": ("What was the revenue in 2022?", "What was the revenue in 2023?"),
    "number": ("How long is the 12 m cable?", "How long is the 15 m cable?"),
    "decimal": ("What holds at 0.5 bar?", "What holds at 0.05 bar?"),
    "number word": ("Who cast the two bells?", "Who cast the three bells?"),
    "rank": ("Who won the second heat?", "Who won the third heat?"),
    "person": ("Where was Ida Holm born?", "Where was Nils Berg born?"),
    "place": ("When did the mill at Selby burn?", "When did the mill at Ripon burn?"),
    "model": ("What does the CT-15 weigh?", "What does the TG-40 weigh?"),
    "unit": ("What is its length in metres?", "What is its length in feet?"),
    "not": ("Which valves are closed?", "Which valves are not closed?"),
    "without": ("What is the range with the float?", "What is the range without the float?"),
    "contraction": ("Which valve does close in frost?", "Which valve doesn't close in frost?"),
    "curly contraction": ("Which valve can close?", "Which valve can\u2019t close?"),
    "prefix": ("Which islands are inhabited?", "Which islands are uninhabited?"),
    "minimum": ("What is the minimum load?", "What is the maximum load?"),
    "lowest and maximum": ("What is the lowest load?", "What is the maximum load?"),
    "min": ("What is the min load?", "What is the max load?"),
    "upper": ("Which limit is the upper one?", "Which limit is the lower one?"),
    "stop": ("How do you start the pump?", "How do you stop the pump?"),
    "direction": ("What happens before the rinse?", "What happens after the rinse?"),
    "superlative": ("Which is the oldest bell?", "Which is the youngest bell?"),
    "rank at the end": ("First alarm: what does it mean?", "Last alarm: what does it mean?"),
    "roles": ("When did Arlen Ltd sue Bexley AG?", "When did Bexley AG sue Arlen Ltd?"),
    "roles in voices": ("When did Dorn defeat Hale?", "When was Dorn defeated by Hale?"),
    "from and to": ("How do you get from the mill to the quay?", "How do you get from the quay to the mill?"),
    "object in voices": ("Who sued Hale?", "Who was sued by Hale?"),
    "subject and object": ("Who replaced Omar Haddad?", "Whom did Omar Haddad replace?"),
    "parties": ("What must the lessor provide to the lessee?", "What must the lessee provide to the lessor?"),
    "who and when": ("Who built the probe?", "When was the probe built?"),
    "where and why": ("Where was the fair held?", "Why was the fair held?"),
    "how many and when": ("How many bells were cast?", "In what year were the bells cast?"),
    "buyer and seller": (
        "When did Arlen buy the mill from Bexley?",
        "When did Arlen sell the mill to Bexley?",
    ),
    "lender and borrower": (
        "When did Arlen lend the cart to Bexley?",
        "When did Arlen borrow the cart from Bexley?",
    ),
    "limits": ("Which rods are over 5 m?", "Which rods are over 10 m?"),
    "a limit and a year": ("Which mills opened before 1967?", "Which mills opened in 1966?"),
    "how and when": ("How must notice be given?", "When must notice be given?"),
}
WITH_ANSWERS = {
    "another thing": (("What does the spleen filter?", "blood"), ("What does the kidney filter?", "urine")),
    "another property": (("What is the mass of it?", "3 kg"), ("What is the charge of it?", "2 C")),
    "another kind": (("Which club did she leave?", "Tarn"), ("Which post did she leave?", "goalkeeper")),
    "a number more": (("Which alarm sounds?", "the bell"), ("Which alarm sounds at 90 °C?", "the horn")),
    "a name more": (("When was the mill built?", "1850"), ("When was the Selby mill built?", "1800")),
    "a flag": (("What does -v print?", "the version"), ("What does --v print?", "every step")),
}
MAYBE_SAME = {
    "voice": ("Who built the probe?", "By whom was the probe built?"),
    "synonym": ("How heavy is the CT-15?", "What does the CT-15 weigh?"),
    "same number": ("How long is the 1,200 mm rod?", "What length has the rod of 1,200 mm?"),
    "thousands": ("How long is the 1,200 mm rod?", "How long is the 1200 mm rod?"),
    "units": ("How thick is a pipe of 1 m?", "How thick is a pipe of 100 cm?"),
    "number word": ("Who cast the 3 bells?", "Who cast the three bells?"),
    "the word one": ("Which one is closed?", "Which is closed?"),
    "two words for least": ("What is the lowest load?", "What is the minimum load?"),
    "name told once": ("When was the Selby mill built?", "When was the mill built?"),
    "number told once": ("How many of the 200 patients left?", "How many patients left?"),
    "both opposites": ("What are the minimum and maximum load?", "What is the maximum and minimum load?"),
    "both negated": ("Which valves are not closed?", "Which valves never close?"),
    "opening name": ("Ida Holm built what?", "What did Ida Holm build?"),
    "initials": ("When did the UN admit Ghana?", "When did the United Nations admit Ghana?"),
    "small initials": ("What is the CEO's name?", "What is the chief executive officer's name?"),
    "phrases moved": ("In 2021, who audited Arlen Ltd?", "Who audited Arlen Ltd in 2021?"),
    "voices": ("When did Dorn sue Hale?", "When was Hale sued by Dorn?"),
    "order of adjectives": ("What is the maximum daily dose?", "What is the daily maximum dose?"),
    "year": ("When was it built?", "In which year was it built?"),
    "place": ("Where was it held?", "In which city was it held?"),
    "possessive": ("What is tin's melting point?", "What is the melting point of tin?"),
    "reason": ("Why was it moved?", "What was the reason for moving it?"),
}
SAME = {
    "case": ("what is the range?", "What is the RANGE?"),
    "space": ("What  is the range ?", "What is the range ?"),
    "articles": ("What is the range?", "What is range?"),
    "number word": ("Who cast the 3 bells?", "Who cast the three bells?"),
    "which": ("Which force acts?", "What force acts?"),
    "spelling": ("Who recognised it?", "Who recognized it?"),
    "short is": ("What's the range?", "What is the range?"),
}


def ruling(one: tuple[str, str], other: tuple[str, str]) -> Ruling:
    found, turned = examine(Known(*one), Known(*other)), examine(Known(*other), Known(*one))
    assert found.ruling is turned.ruling
    assert found.reason
    return found.ruling


@pytest.mark.parametrize(("one", "other"), QUESTIONS_ALONE.values(), ids=QUESTIONS_ALONE)
@pytest.mark.parametrize("answer", ["", "a bell"])
def test_what_tells_questions_apart_even_with_equal_answers(one: str, other: str, answer: str) -> None:
    assert ruling((one, answer), (other, answer)) is Ruling.DIFFERENT


@pytest.mark.parametrize(("one", "other"), WITH_ANSWERS.values(), ids=WITH_ANSWERS)
def test_what_tells_questions_apart_with_other_answers(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert ruling(one, other) is Ruling.DIFFERENT
    assert ruling((one[0], "a bell"), (other[0], "a bell")) is Ruling.DOUBT


@pytest.mark.parametrize(("one", "other"), MAYBE_SAME.values(), ids=MAYBE_SAME)
@pytest.mark.parametrize("answer", ["", "a bell"])
def test_what_may_be_the_same_question(one: str, other: str, answer: str) -> None:
    assert ruling((one, answer), (other, answer)) is not Ruling.DIFFERENT


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_what_is_the_same_question(one: str, other: str) -> None:
    assert ruling((one, "a bell"), (other, "bell")) is Ruling.SAME


def test_answers_that_contradict_each_other_have_other_questions() -> None:
    one, other = "How heavy is the bell?", "What does the bell weigh?"
    assert ruling((one, "3 kg"), (other, "3,000 g")) is Ruling.DOUBT
    assert ruling((one, "3 kg"), (other, "5 kg")) is Ruling.DIFFERENT


def test_equal_words_are_one_question_whatever_the_answers() -> None:
    assert ruling(("What is the range?", "3 m"), ("What is the  range?", "5 m")) is Ruling.SAME
    assert ruling(("What is the range?", "3 m"), ("What's the range?", "5 m")) is Ruling.DIFFERENT


def test_two_sides_of_one_fact() -> None:
    one = ("Which company owns Halden Trust?", "Corvid Bank")
    assert ruling(one, ("What trust is owned by Corvid Bank?", "Halden Trust")) is Ruling.CROSSED
    assert ruling(one, ("What trust is owned by Merle AG?", "Vesta")) is Ruling.DIFFERENT
    assert ruling(one, ("What trust is not owned by Corvid Bank?", "Halden Trust")) is Ruling.DIFFERENT


words = st.lists(
    st.sampled_from(
        sorted(
            word_set(
                "what who when is was the a of in by bell mill Ida Holm Selby 3 three 1998 kg not first last cast built owns to from"
            )
        )
    ),
    min_size=1,
    max_size=9,
).map(" ".join)
texts = st.one_of(st.text(max_size=60), words)


@given(texts, texts, texts, texts)
def test_the_guard_takes_no_side(one: str, answer: str, other: str, its_answer: str) -> None:
    ruling((one, answer), (other, its_answer))


@given(texts, texts, texts)
def test_a_question_is_itself(question: str, answer: str, its_answer: str) -> None:
    assert ruling((question, answer), (f" {question.upper().lower()}", its_answer)) is not None
    assert ruling((question, answer), (question, its_answer)) is Ruling.SAME


@pytest.mark.parametrize(
    "opening",
    [
        "I'm not sure: ",
        "Hello, could you tell me ",
        "Sorry, I don't know this. ",
        "Quick question for you, please: ",
    ],
)
def test_a_chatty_opening_makes_no_other_question(opening: str) -> None:
    found = examine(
        Known(f"{opening}what does the red lamp mean?", "low oil"),
        Known("What does the red lamp mean?", "low oil"),
    )
    assert found.ruling is Ruling.SAME


@pytest.mark.parametrize(
    "opening", ["If you open the valve, ", "On the CT-15 I own, ", "When I press start, ", "In my flat, "]
)
def test_an_opening_with_a_condition_belongs_to_the_question(opening: str) -> None:
    found = examine(
        Known(f"{opening}what does the red lamp mean?", "low oil"),
        Known("What does the red lamp mean?", "low oil"),
    )
    assert found.ruling is not Ruling.SAME


@pytest.mark.parametrize(
    ("one", "other", "ruling_"),
    [
        (
            "How does the network learn its features without labelled examples?",
            "How does the network come to its features by itself?",
            Ruling.DOUBT,
        ),
        ("What is the range without the float?", "What is the range with the float?", Ruling.DIFFERENT),
        ("Which valves are not closed?", "Which valves are closed?", Ruling.DIFFERENT),
    ],
)
def test_a_denial_of_what_the_other_leaves_out_is_left_to_a_model_if_the_answers_agree(
    one: str, other: str, ruling_: Ruling
) -> None:
    answer = "by predicting the next frame"
    assert ruling((one, answer), (other, answer)) is ruling_
    assert ruling((one, answer), (other, "a bell")) is Ruling.DIFFERENT
