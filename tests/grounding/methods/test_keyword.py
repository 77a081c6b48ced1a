from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.methods import keyword
from qagen_dagster.grounding.methods.keyword import key_phrases
from qagen_dagster.grounding.source import Source
from qagen_dagster.records.grading import SentenceStatus

TEXT = """The Ardmore pumping station opened in 1931.
It supplies drinking water to twelve villages.

Peter Keane was the chief
engineer until 1950. 北京是中国的首都。
"""


SOURCE = Source(TEXT)


def test_key_phrases_hold_no_stop_words() -> None:
    assert key_phrases("The old pumping station of Ardmore opened") == [
        "old pumping station",
        "old pumping",
        "pumping station",
        "ardmore opened",
    ]


def test_one_phrase_shows_the_topic_and_its_line_is_kept() -> None:
    graded = keyword.grade("In Ardmore the PUMPING  Station was built of brick.", SOURCE)
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
    (one,) = keyword.grade(answer, SOURCE).sentences
    assert one.evidence is not None
    assert (one.evidence.start_line, one.evidence.end_line) == lines
    assert one.evidence.quote == quote


def test_no_phrase_is_ungrounded() -> None:
    graded = keyword.grade("The pumping station opened. Solar panels cover roofs.", SOURCE)
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
    (one,) = keyword.grade(answer, SOURCE).sentences
    assert one.status is status


def test_owning_up_raises_confidence_but_grounds_nothing() -> None:
    graded = keyword.grade("I don't know. Solar panels cover roofs. The pumping station opened.", SOURCE)
    assert graded.confidence == pytest.approx(2 / 3 + keyword.BOOST)
    assert graded.is_grounded is False
    assert keyword.grade("Insufficient information in the document.", SOURCE).confidence == 1


@pytest.mark.parametrize("answer", ["", " \n", "...", "It was."])
def test_nothing_to_measure_is_said(answer: str) -> None:
    graded = keyword.grade(answer, SOURCE)
    assert graded.is_grounded is None
    assert graded.confidence is None


def test_an_empty_document_supports_nothing() -> None:
    assert keyword.grade("The pumping station opened.", Source("")).is_grounded is False


@given(st.text(max_size=200), st.text(max_size=300))
def test_any_answer_to_any_document(answer: str, text: str) -> None:
    source = Source(text)
    graded = keyword.grade(answer, source)
    for one in graded.sentences:
        if one.status is SentenceStatus.SUPPORTED:
            assert one.evidence is not None
        if one.evidence is not None:
            assert one.evidence.quote in text
    assert (graded.confidence is None) == (graded.is_grounded is None)


@given(st.sampled_from([" ".join(TEXT.split()[a:b]) for a in range(12) for b in range(a + 3, 16)]))
def test_what_is_copied_is_found(part: str) -> None:
    assert not keyword.grade(part, SOURCE).ungrounded_sentences
