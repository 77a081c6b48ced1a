from __future__ import annotations

import pytest

from qagen_dagster.grounding.claim_rules import BAND, Rule, decide, supporting
from qagen_dagster.grounding.source import Source

ASKED_TEXT = """The harbour office was opened on 3 May 1931 by Ida Berg.

The ferry has 64 seats and 12 cabins.

Table 1: Boats of the harbour

| Boat | Length (m) | Home port | Crew | Port fee |
|------|-----------|-----------|------|------|
| Alma | 12.5 | Lunde | 3 | 40 |
| Brise | 17.0 | Ostrand | 5 | 55 |
"""
SOURCE = Source(ASKED_TEXT)
LENGTH = 'According to Table 1 of "Boats", what is the length in m for the boat "Alma"?'


@pytest.mark.parametrize(
    ("question", "answer", "line"),
    [
        ("When was the harbour office opened?", "3 May 1931", 1),
        ('According to "A long title, with a comma", when was the harbour office opened?', "3 May 1931", 1),
        ("Who opened the harbour office?", "Ida Berg", 1),
        (LENGTH, "12.5", 9),
        ("What is the home port of the boat Brise?", "Ostrand", 10),
        ("What is the port fee for the boat Alma?", "40", 9),
    ],
)
def test_a_short_answer_is_supported_where_its_question_is(question: str, answer: str, line: int) -> None:
    window = supporting(answer, question, SOURCE)
    assert window is not None
    assert SOURCE.evidence(window).start_line == line


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the harbour office opened?", "Ida Berg"),  # no date
        ("Who opened the harbour office?", "3 May 1931"),
        ("How many seats has the ferry?", "12"),  # two numbers: which one is asked for is not known
        ("When was the ferry sold?", "3 May 1931"),  # another subject
        (LENGTH, "17.0"),  # another row
        (LENGTH, "Lunde"),  # another column
        (LENGTH, "3"),
        ("What is the port of the boat Alma?", "Lunde"),  # two columns fit
        ("Who is Ida Berg?", "Ida Berg"),  # says nothing new
        ("", "3 May 1931"),
        ("When was the harbour office opened?", ""),
    ],
)
def test_another_value_is_not_supported(question: str, answer: str) -> None:
    assert supporting(answer, question, SOURCE) is None


TEXT = (
    "The canteen of the town museum opens at nine. Filter coffee costs 2 euros and is free for elderly visitors on Mondays. "
    "The beans are roasted by the Moreno family behind the church. Visitors may bring their own cups. Cakes are baked in the "
    "kitchen every morning since 1987. The canteen does not sell alcohol. On Sundays the number of guests increases by 40 percent."
)


def rule(claim: str, question: str = "", text: str = TEXT) -> Rule | None:
    return decide(claim, Source(text), question).rule


@pytest.mark.parametrize(
    "claim",
    [
        "Cakes are baked in the kitchen every morning.",
        "The canteen opens at nine.",
        "The beans are roasted by the Moreno family.",
        "the canteen does not sell alcohol",
        "The number of guests increases by 40 percent.",
    ],
)
def test_words_of_one_sentence_in_its_order_are_supported(claim: str) -> None:
    assert rule(claim) is Rule.SAME_WORDS


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Cakes are baked in the kitchen every morning since 1988.", Rule.CHANGED_DATE),
        ("On Sundays the number of guests increases by 45 percent.", Rule.CHANGED_NUMBER),
        ("The beans are roasted by the Miller family behind the church.", Rule.CHANGED_NAME),
        ("Visitors may not bring their own cups.", Rule.CHANGED_NEGATION),
        ("On Sundays the number of guests decreases by 40 percent.", Rule.CHANGED_DIRECTION),
        ("Alcohol has been served since 1971 to all guests.", Rule.ABSENT_VALUE),
        ("The singer Anna Lindholm drank there with Ole Bergman.", Rule.ABSENT_NAME),
    ],
)
def test_another_fact_is_unsupported(claim: str, expected: Rule) -> None:
    found = decide(claim, Source(TEXT))
    assert (found.rule, found.supported) == (expected, False)
    assert found.reason


@pytest.mark.parametrize(
    ("claim", "question", "refuted"),
    [
        ("The method inefficiently removes noise.", "", True),
        ("The method inefficiently removes noise.", "Does it work inefficiently?", False),
        ("The method efficiently, not inefficiently, removes noise.", "", False),  # has both words
        ("The new method adds old noise before the recording.", "", False),  # not by form
        ("Inefficiently made pancakes burn.", "", False),  # nothing beside it is in the document
    ],
)
def test_an_opposite_by_form_beside_the_same_words_is_unsupported(
    claim: str, question: str, refuted: bool
) -> None:
    text = "The new method efficiently removes old noise before the recording of each neuron."
    assert (decide(claim, Source(text), question).rule is Rule.OPPOSITE) == refuted


@pytest.mark.parametrize(
    "claim",
    [
        "Filter coffee damages the liver of elderly visitors in the canteen.",  # words that the document lacks
        "The church roasts the beans behind the Moreno family.",  # another order
        "Only visitors bring their own cups.",  # a bound that the sentence lacks
        "Visitors bring their own cups.",  # the sentence says "may"
        "Guests of the museum are served alcohol on Sundays.",  # words of several sentences
        "More than 3,000 cups are sold in a year.",  # a limit need not be in the document
        "A Moreno met Lindholm.",  # one name may follow from what the document says
        "On Mondays two of them sing.",
        "It is.",
    ],
)
def test_what_words_cannot_prove_is_undecided(claim: str) -> None:
    found = decide(claim, Source(TEXT))
    assert (found.supported, found.rule) == (None, None)
    assert found.reason


@pytest.mark.parametrize(
    "claim",
    [
        "It is 1987, not 1994: Cakes are baked in the kitchen every morning since 1987.",
        "Cakes have been baked in the kitchen since 1987 rather than 4 May 1994.",
        "The price is 2 euros instead of $3,500.",
        "Not Anna Lindholm but the Moreno family roasts the beans.",
    ],
)
def test_what_the_claim_denies_need_not_be_in_the_document(claim: str) -> None:
    assert decide(claim, Source(TEXT)).supported is None
    stated = claim.replace("not", "and").replace("rather than", "or").replace("instead of", "and")
    assert decide(stated.replace("Not", "Both"), Source(TEXT)).supported is False
    affirmed = (
        claim.replace("1987", "1988").replace("2 euros", "7 euros").replace("the Moreno", "Ole Miller of the")
    )
    assert decide(affirmed, Source(TEXT)).supported is False


def test_a_second_negation_is_not_overlooked() -> None:
    text = "The cost that is not yet known was about 3 million euros."
    assert rule("The cost that is not yet known was about 3 million euros", text=text) is Rule.SAME_WORDS
    assert rule("The cost that is not yet known was not about 3 million euros", text=text) is None


def test_a_question_about_something_affirms_nothing() -> None:
    aim = "We studied whether coffee harms the liver of elderly visitors."
    assert rule("Coffee harms the liver of elderly visitors.", text=aim) is None
    assert rule("Coffee does not harm the liver of elderly visitors.", text=aim) is None


def test_the_score_orders_the_verdicts() -> None:
    source = Source(TEXT)
    claims = (
        "Visitors may not bring their own cups.",
        "Visitors bring own cups of tea.",
        "Visitors may bring own cups.",
    )
    scores = [decide(claim, source).score for claim in claims]
    assert 0 <= scores[0] <= BAND <= scores[1] <= 2 * BAND <= scores[2] <= 1


def test_nothing_to_compare_with_is_undecided() -> None:
    assert decide("Cakes are baked.", Source("")).supported is None
    assert decide("???", Source(TEXT)).supported is None


def test_in_a_long_document_absence_decides_nothing() -> None:
    text = "\n".join(f"Barrel {number} holds oil." for number in range(500))
    assert rule("Wine was sold for 9,999 euros.", text=text) is None


SALES = "Sales rose to 1,000 in the first year. In the second year there were 11,843 of them."


@pytest.mark.parametrize(
    "claim", ["Sales rose to 12,843 in the first two years.", "Sales rose to 12,843 in the first year."]
)
def test_a_computed_number_contradicts_no_number_of_the_document(claim: str) -> None:
    """The sum is right and nowhere in the text; without its computation it counts as another number."""
    source = Source(SALES)
    assert decide(claim, source).supported is False
    assert decide(claim, source.deriving("sum of 1,000; 11,843 = 12,843")).supported is None
    assert (
        decide(claim.replace("12,843", "12,943"), source.deriving("sum of 1,000; 11,843 = 12,843")).supported
        is False
    )


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("Preprints are on arXiv since 2019.", None),
        ("Preprints are on bioRxiv since 2019.", False),
        ("The loss fell to 3.76% with the second method.", True),
        ("The loss fell to 3.67% with the second method.", False),
    ],
)
def test_a_footnote_mark_makes_no_other_token(claim: str, supported: bool | None) -> None:
    source = Source("Preprints are on arXiv6 since 2019. The loss fell to 3.76%7 with the second method.")
    assert decide(claim, source).supported is supported


TRIALS = "The probe is calibrated every 90 days. The north plot gave 500 kg. The south plot gave 300 kg."
INTERVALS = "How many days pass in three calibration intervals of the probe?"
EXCEED = "By how much did the north plot exceed the south plot?"


@pytest.mark.parametrize(
    ("question", "answer", "computation", "supported"),
    [
        (INTERVALS, "270 days", "product of 90; 3 = 270", True),
        (INTERVALS, "271 days", "product of 90; 3 = 270", False),
        (EXCEED, "200 kg", "difference of 500 kg; 300 kg = 200", True),
        (EXCEED, "200 kg more: 500 kg against 300 kg", "difference of 500 kg; 300 kg = 200", True),
        (EXCEED, "200 sacks", "difference of 500 kg; 300 kg = 200", None),
        (EXCEED, "200 kg in the drought", "difference of 500 kg; 300 kg = 200", None),
        ("How many plots gave more than 200 kg?", "two", "count of north plot; south plot = 2", True),
        (EXCEED, "200 kg", "", False),
    ],
)
def test_a_number_that_code_has_computed_is_supported_with_its_computation(
    question: str, answer: str, computation: str, supported: bool | None
) -> None:
    found = decide(answer, Source(TRIALS).deriving(computation), question)
    assert found.supported is supported
    assert (found.rule is Rule.COMPUTED) is (supported is True)
