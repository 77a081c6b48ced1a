from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.claim_rules import BAND, NOT_TOGETHER
from qagen_dagster.grounding.grade_by_code import BOOST, grade_by_code, grade_by_keywords, key_phrases
from qagen_dagster.grounding.source import Source
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
    (graded,) = grade_by_code(sentence, source()).sentences
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
    (graded,) = grade_by_code(sentence, source()).sentences
    assert graded.status is SentenceStatus.CONTRADICTED
    assert graded.reason == reason
    assert graded.score is not None
    assert graded.score < BAND


def test_a_denial_left_out_is_a_contradiction_however_alike_the_rest_is() -> None:
    text = "The town does not lie in the north of Norway.\n" + TEXT.split("\n")[0]
    (graded,) = grade_by_code("The town does lie in the north of Norway.", source(text)).sentences
    assert graded.status is SentenceStatus.CONTRADICTED
    assert graded.reason == 'does not deny "lie north norway" as line 1 does'


def test_a_value_that_stands_elsewhere_contradicts_nothing_but_a_sentence_that_is_else_the_same() -> None:
    text = "The first trial began on May 5.\nLeaves were cut again.\nOdours were measured on May 21."
    (loose,) = grade_by_code(
        "Odours of a trial were measured on May 21, its leaves were weighed.", source(text)
    ).sentences
    assert loose.status is not SentenceStatus.CONTRADICTED
    assert "May" not in loose.reason
    (near,) = grade_by_code("The first trial began on May 21.", source(text)).sentences
    assert near.status is SentenceStatus.CONTRADICTED
    assert near.reason == 'says "May 21" where line 1 says "May 5"'


def test_what_stands_apart_is_told_so() -> None:
    text = "Otto measured leaves.\nIda sold odours to towns.\nNobody paid for the trial.\nPrices fell."
    (graded,) = grade_by_code("Otto sold prices to nobody.", source(text)).sentences
    assert graded.status is SentenceStatus.NOT_MEASURED
    assert graded.reason == NOT_TOGETHER


def test_something_else_is_undecided_and_the_missing_words_are_named() -> None:
    graded = grade_by_code("The moon is made of cheese.", source())
    assert [one.status for one in graded.sentences] == [SentenceStatus.NOT_MEASURED]
    assert graded.sentences[0].reason == "the document does not have moon, cheese"
    assert (graded.is_grounded, graded.confidence, graded.decided_by) == (None, None, None)


def test_a_short_answer_is_read_with_its_question() -> None:
    question = "When was the pumping station built?"
    assert grade_by_code("1990", source(), question=question).is_grounded is True
    assert grade_by_code("1995", source(), question=question).is_grounded is False
    assert grade_by_code("7", source(), question="How many litres?").is_grounded is False


def test_confidence_is_the_share_of_grounded_sentences_in_their_order() -> None:
    answer = f"{COPIES[0]} It uses 2,400 W at full load. {COPIES[3]} {COPIES[2]}"
    graded = grade_by_code(answer, source())
    assert [one.sentence for one in graded.sentences] == [
        COPIES[0],
        "It uses 2,400 W at full load.",
        COPIES[3],
        COPIES[2],
    ]
    assert graded.confidence == 0.75
    assert graded.is_grounded is False  # one sentence is not


def test_what_claims_nothing_is_generic() -> None:
    (graded,) = grade_by_code("Insufficient information in the document.", source()).sentences
    assert graded.status is SentenceStatus.GENERIC


def test_a_claim_at_the_end_of_a_long_document_is_found() -> None:
    text = "\n".join(f"The barrel number {n} holds {n * 7} litres of oil." for n in range(1, 3001))
    (graded,) = grade_by_code("The barrel number 2998 holds 20986 litres of oil.", source(text)).sentences
    assert graded.status is SentenceStatus.SUPPORTED
    assert graded.evidence is not None
    assert graded.evidence.end_line >= 2998 >= graded.evidence.start_line


@given(st.text(max_size=120), st.text(max_size=120), st.text(max_size=40))
def test_no_input_gives_nan_or_raises(answer: str, text: str, question: str) -> None:
    graded = grade_by_code(answer, source(text), question=question)
    for one in graded.sentences:
        assert one.score is None or (math.isfinite(one.score) and 0 <= one.score <= 1)
    assert graded.confidence is None or 0 <= graded.confidence <= 1


@pytest.mark.parametrize(("answer", "text"), [("", TEXT), ("???", TEXT), ("   \n", "")])
def test_nothing_to_grade_is_not_measured(answer: str, text: str) -> None:
    graded = grade_by_code(answer, source(text))
    assert (graded.is_grounded, graded.confidence, graded.sentences) == (None, None, ())


def test_one_undecided_sentence_leaves_the_answer_undecided() -> None:
    graded = grade_by_code(f"{COPIES[0]} The moon is made of cheese.", source())
    assert (graded.is_grounded, graded.confidence) == (None, None)
    assert graded.grounded_sentences == (COPIES[0],)
    assert graded.issues[0].startswith("Undecided (")


def test_nothing_to_check_against_supports_nothing() -> None:
    assert grade_by_code("The town lies in Norway.", source("")).is_grounded is None


def test_a_contradiction_names_the_line_that_says_otherwise() -> None:
    text = "The new pump opened in the old harbour.\nGulls nest on the old harbour wall.\nThe new pump holds 40 boxes nearby."
    (graded,) = grade_by_code("The new pump holds 3,100 boxes nearby.", source(text)).sentences
    assert graded.status is SentenceStatus.CONTRADICTED
    assert graded.reason == 'says "3,100" where line 3 says "40"'


TANK_TEXT = """The Ardmore pumping station opened in 1931.
It supplies drinking water to twelve villages.

Peter Keane was the chief
engineer until 1950. 北京是中国的首都。
"""


SOURCE = Source(TANK_TEXT)


def test_key_phrases_hold_no_stop_words() -> None:
    assert key_phrases("The old pumping station of Ardmore opened") == [
        "old pumping station",
        "old pumping",
        "pumping station",
        "ardmore opened",
    ]


def test_one_phrase_shows_the_topic_and_its_line_is_kept() -> None:
    graded = grade_by_keywords("In Ardmore the PUMPING  Station was built of brick.", SOURCE)
    (one,) = graded.sentences
    assert (graded.is_grounded, graded.confidence) == (None, None)
    assert graded.method == "keyword"
    assert one.status is SentenceStatus.NOT_MEASURED
    assert one.reason == "the document has 1 of its 1 phrases"
    assert one.evidence is not None
    assert (one.evidence.start_line, one.evidence.end_line) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "lines", "quote"),
    [
        ("The chief engineer retired.", (4, 5), "Peter Keane was the chief\nengineer until 1950."),
        ("Peter Keane sang.", (4, 5), "Peter Keane was the chief\nengineer until 1950."),
        ("It supplied drinking water.", (2, 2), "It supplies drinking water to twelve villages."),
        ("The twelve villages: Peter sang.", (2, 5), SOURCE.text.split("\n", 1)[1].partition(" 北")[0]),
    ],
)
def test_evidence_is_what_holds_the_phrase(answer: str, lines: tuple[int, int], quote: str) -> None:
    (one,) = grade_by_keywords(answer, SOURCE).sentences
    assert one.evidence is not None
    assert (one.evidence.start_line, one.evidence.end_line) == lines
    assert one.evidence.quote == quote


def test_no_phrase_is_ungrounded() -> None:
    graded = grade_by_keywords("The pumping station opened. Solar panels cover roofs.", SOURCE)
    assert graded.is_grounded is False
    assert graded.confidence == 0.5
    assert graded.ungrounded_sentences == ("Solar panels cover roofs.",)
    assert graded.issues == (
        "Low similarity (0.00): 'Solar panels cover roofs.' - no phrase of it is in the document",
    )


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("Ardmore", SentenceStatus.NOT_MEASURED),
        ("1931", SentenceStatus.NOT_MEASURED),
        ("193", SentenceStatus.NOT_FOUND),
        ("The Ardmore pumping station opened.", SentenceStatus.SUPPORTED),
        ("The Ardmore pumping station never opened.", SentenceStatus.CONTRADICTED),
        ("Ardmore and Keane", SentenceStatus.NOT_MEASURED),
        ("Ardmore and Smith", SentenceStatus.NOT_MEASURED),
        ("北京", SentenceStatus.NOT_MEASURED),
        ("东京", SentenceStatus.NOT_FOUND),
        ("It was.", SentenceStatus.NOT_MEASURED),
        ("The document describes this.", SentenceStatus.GENERIC),
        ("According to the document, solar panels cover roofs.", SentenceStatus.NOT_FOUND),
        ("The document does not mention solar panels.", SentenceStatus.GENERIC),
        ("Insufficient information in the document.", SentenceStatus.GENERIC),
    ],
)
def test_statuses(answer: str, status: SentenceStatus) -> None:
    (one,) = grade_by_keywords(answer, SOURCE).sentences
    assert one.status is status


def test_owning_up_raises_confidence_but_grounds_nothing() -> None:
    graded = grade_by_keywords("I don't know. Solar panels cover roofs. The pumping station opened.", SOURCE)
    assert graded.confidence == pytest.approx(2 / 3 + BOOST)
    assert graded.is_grounded is False
    assert grade_by_keywords("Insufficient information in the document.", SOURCE).confidence == 1


@pytest.mark.parametrize("answer", ["", " \n", "...", "It was."])
def test_nothing_to_measure_is_said(answer: str) -> None:
    graded = grade_by_keywords(answer, SOURCE)
    assert graded.is_grounded is None
    assert graded.confidence is None


def test_an_empty_document_supports_nothing() -> None:
    assert grade_by_keywords("The pumping station opened.", Source("")).is_grounded is False


@given(st.text(max_size=200), st.text(max_size=300))
def test_any_answer_to_any_document(answer: str, text: str) -> None:
    source = Source(text)
    graded = grade_by_keywords(answer, source)
    for one in graded.sentences:
        if one.status is SentenceStatus.SUPPORTED:
            assert one.evidence is not None
        if one.evidence is not None:
            assert one.evidence.quote in text
    assert (graded.confidence is None) == (graded.is_grounded is None)


@given(st.sampled_from([" ".join(TANK_TEXT.split()[a:b]) for a in range(12) for b in range(a + 3, 16)]))
def test_what_is_copied_is_found(part: str) -> None:
    assert not grade_by_keywords(part, SOURCE).ungrounded_sentences
