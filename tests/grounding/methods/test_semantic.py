from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.grounding.methods.semantic import grade
from qagen_dagster.grounding.source import Source
from qagen_dagster.grounding.verdicts import BAND, NOT_TOGETHER
from qagen_dagster.records.grading import SentenceStatus

TEXT = (
    "The pumping station was built in 1990 by Anna Berg.\n"
    "It uses 2,500 W at full load. The tank holds 40 litres of oil.\n"
    "\n"
    "The town lies in the north of Norway. Prices increased in May 2004."
)
COPIES = (
    "The pumping station was built in 1990 by Anna Berg.",
    "It uses 2,500 W at full load.",
    "The tank holds 40 litres of oil.",
    "The town lies in the north of Norway.",
    "Prices increased in May 2004.",
)


def source(text: str = TEXT) -> Source:
    return Source(text)


@pytest.mark.parametrize("sentence", COPIES)
def test_an_exact_copy_is_supported_where_it_stands(sentence: str) -> None:
    (graded,) = grade(sentence, source()).sentences
    assert graded.status is SentenceStatus.SUPPORTED
    assert graded.reason == ""
    assert graded.evidence is not None
    assert sentence in graded.evidence.quote
    lines = TEXT.split("\n")[graded.evidence.start_line - 1 : graded.evidence.end_line]
    assert sentence in "\n".join(lines)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("It uses 2,400 W at full load.", 'says "2,400 W" where line 2 says "2,500 W"'),
        ("The pumping station was built in 1991 by Anna Berg.", 'says "1991" where line 1 says "1990"'),
        ("The tank holds 40 gallons of oil.", 'says "40 gallons" where line 2 says "40 litres"'),
        ("The town does not lie in the north of Norway.", 'denies "lie north norway", line 4 does not'),
        ("Prices increased in June 2004.", 'says "June 2004" where line 4 says "May 2004"'),
    ],
)
def test_a_copy_with_one_changed_fact_is_contradicted(sentence: str, reason: str) -> None:
    (graded,) = grade(sentence, source()).sentences
    assert graded.status is SentenceStatus.CONTRADICTED
    assert graded.reason == reason
    assert graded.score is not None
    assert graded.score < BAND


def test_a_denial_left_out_is_a_contradiction_however_alike_the_rest_is() -> None:
    text = "The town does not lie in the north of Norway.\n" + TEXT.split("\n")[0]
    (graded,) = grade("The town does lie in the north of Norway.", source(text)).sentences
    assert graded.status is SentenceStatus.CONTRADICTED
    assert graded.reason == 'does not deny "lie north norway" as line 1 does'


def test_a_value_that_stands_elsewhere_contradicts_nothing_but_a_sentence_that_is_else_the_same() -> None:
    text = "The first trial began on May 5.\nLeaves were cut again.\nOdours were measured on May 21."
    (loose,) = grade(
        "Odours of a trial were measured on May 21, its leaves were weighed.", source(text)
    ).sentences
    assert loose.status is not SentenceStatus.CONTRADICTED
    assert "May" not in loose.reason
    (near,) = grade("The first trial began on May 21.", source(text)).sentences
    assert near.status is SentenceStatus.CONTRADICTED
    assert near.reason == 'says "May 21" where line 1 says "May 5"'


def test_what_stands_apart_is_told_so() -> None:
    text = "Otto measured leaves.\nIda sold odours to towns.\nNobody paid for the trial.\nPrices fell."
    (graded,) = grade("Otto sold prices to nobody.", source(text)).sentences
    assert graded.status is SentenceStatus.NOT_MEASURED
    assert graded.reason == NOT_TOGETHER


def test_something_else_is_undecided_and_the_missing_words_are_named() -> None:
    graded = grade("The moon is made of cheese.", source())
    assert [one.status for one in graded.sentences] == [SentenceStatus.NOT_MEASURED]
    assert graded.sentences[0].reason == "the document does not have moon, cheese"
    assert (graded.is_grounded, graded.confidence, graded.decided_by) == (None, None, None)


def test_a_short_answer_is_read_with_its_question() -> None:
    question = "When was the pumping station built?"
    assert grade("1990", source(), question=question).is_grounded is True
    assert grade("1995", source(), question=question).is_grounded is False
    assert grade("7", source(), question="How many litres?").is_grounded is False


def test_confidence_is_the_share_of_grounded_sentences_in_their_order() -> None:
    answer = f"{COPIES[0]} It uses 2,400 W at full load. {COPIES[3]} {COPIES[2]}"
    graded = grade(answer, source())
    assert [one.sentence for one in graded.sentences] == [
        COPIES[0],
        "It uses 2,400 W at full load.",
        COPIES[3],
        COPIES[2],
    ]
    assert graded.confidence == 0.75
    assert graded.is_grounded is False  # one sentence is not


def test_what_claims_nothing_is_generic() -> None:
    (graded,) = grade("Insufficient information in the document.", source()).sentences
    assert graded.status is SentenceStatus.GENERIC


def test_a_claim_at_the_end_of_a_long_document_is_found() -> None:
    text = "\n".join(f"The barrel number {n} holds {n * 7} litres of oil." for n in range(1, 3001))
    (graded,) = grade("The barrel number 2998 holds 20986 litres of oil.", source(text)).sentences
    assert graded.status is SentenceStatus.SUPPORTED
    assert graded.evidence is not None
    assert graded.evidence.end_line >= 2998 >= graded.evidence.start_line


@settings(max_examples=60)
@given(st.text(max_size=120), st.text(max_size=120), st.text(max_size=40))
def test_no_input_gives_nan_or_raises(answer: str, text: str, question: str) -> None:
    graded = grade(answer, source(text), question=question)
    for one in graded.sentences:
        assert one.score is None or (math.isfinite(one.score) and 0 <= one.score <= 1)
    assert graded.confidence is None or 0 <= graded.confidence <= 1


@pytest.mark.parametrize(("answer", "text"), [("", TEXT), ("???", TEXT), ("   \n", "")])
def test_nothing_to_grade_is_not_measured(answer: str, text: str) -> None:
    graded = grade(answer, source(text))
    assert (graded.is_grounded, graded.confidence, graded.sentences) == (None, None, ())


def test_one_undecided_sentence_leaves_the_answer_undecided() -> None:
    graded = grade(f"{COPIES[0]} The moon is made of cheese.", source())
    assert (graded.is_grounded, graded.confidence) == (None, None)
    assert graded.grounded_sentences == (COPIES[0],)
    assert graded.issues[0].startswith("Undecided (")


def test_nothing_to_check_against_supports_nothing() -> None:
    assert grade("The town lies in Norway.", source("")).is_grounded is None


def test_a_contradiction_names_the_line_that_says_otherwise() -> None:
    text = "The new pump opened in the old harbour.\nGulls nest on the old harbour wall.\nThe new pump holds 40 boxes nearby."
    (graded,) = grade("The new pump holds 3,100 boxes nearby.", source(text)).sentences
    assert graded.status is SentenceStatus.CONTRADICTED
    assert graded.reason == 'says "3,100" where line 3 says "40"'
