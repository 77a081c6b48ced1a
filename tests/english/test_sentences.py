from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.sentences import Sentence, claims, split
from tests.english.hard_sentences import HARD

_PIECES = st.sampled_from(
    ["Dr.", "U.S.", "e.g.", "1.", "2)", "3.5", "...", ". . .", "?!", "(", ")", "[1]", '"', "\u201c", "\u201d", "p.m.", "No.",
     "the", "The", "Fig.", "x", "A", ".", "!", "?", ";", ":", ",", "-", "- ", "| a |", "## ", "\n", "\n\n", "\r\n", " ", "\t",
     "\u3002", "\u061f", "\u0964", "\u2028", "\x1c", "\u00a0", "etc.", "et al.", "and", "5", "$1.2M", "*"]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(), st.lists(_PIECES, max_size=40).map("".join), st.lists(_PIECES, max_size=40).map(" ".join)
)


def restored(text: str, sentences: list[Sentence]) -> str:
    """The sentences with the gaps of `text` between them."""
    position, out = 0, ""
    for sentence in sentences:
        out += text[position : sentence.start] + sentence.text
        position = sentence.end
    return out + text[position:]


@pytest.mark.parametrize("case", HARD)
def test_hard_cases(case: str) -> None:
    found = [sentence.text for sentence in split(case.replace("‖", ""))]
    assert found == [piece.strip() for piece in case.split("‖")]


def test_the_table_is_large() -> None:
    assert len(HARD) >= 60


@given(TEXTS)
def test_nothing_is_lost_and_the_order_is_kept(text: str) -> None:
    sentences = split(text)
    assert all(text[one.start : one.end] == one.text for one in sentences)
    assert all(one.text and one.text == one.text.strip() for one in sentences)
    assert all(a.end <= b.start for a, b in pairwise(sentences))
    ends = [0, *(one.end for one in sentences)]
    starts = [*(one.start for one in sentences), len(text)]
    assert not "".join(text[a:b] for a, b in zip(ends, starts, strict=True)).strip()
    assert restored(text, sentences) == text


@given(TEXTS)
def test_claims_are_parts_of_the_sentences_and_no_fragments(text: str) -> None:
    sentences = split(text)
    for claim in claims(text):
        assert text[claim.start : claim.end] == claim.text
        assert claim.text == text.strip() or len(claim.text) >= 3
        assert any(map(str.isalnum, claim.text))
        assert any(one.start <= claim.start for one in sentences)
        assert claim.text == text.strip() or claim.end in {one.end for one in sentences}


@given(
    st.lists(
        st.sampled_from(["The pump failed.", "It was old!", "Who knew?", "Nobody had checked it."]),
        max_size=12,
    )
)
def test_plain_sentences_are_told_apart(sentences: list[str]) -> None:
    assert [one.text for one in split(" ".join(sentences))] == sentences


@pytest.mark.parametrize(
    "unit",
    [
        ".",
        ". ",
        "...",
        "(",
        "( ",
        "[1]",
        ".\n",
        "x\n",
        "1. ",
        "A. ",
        '."',
        "\u3002",
        "-",
        "- ",
        "\n",
        " ",
        "U.S. ",
        ").",
        "a",
    ],
)
def test_long_odd_texts_come_back_whole(unit: str) -> None:
    text = "It began" + unit * (50_000 // len(unit)) + "The end."
    assert restored(text, split(text)) == text


def test_list_marks_are_no_part_of_a_claim() -> None:
    text = "There are two:\n1. The pump failed.\n- It was old.\n(2) a\n***\n5"
    assert [claim.text for claim in claims(text)] == ["There are two:", "The pump failed.", "It was old."]


def test_a_decimal_at_the_start_is_no_list_mark() -> None:
    assert [claim.text for claim in claims("3.5 million were sold.")] == ["3.5 million were sold."]


def test_no_sentences_in_nothing() -> None:
    assert split("") == split(" \n\t ") == claims("...") == []


@pytest.mark.parametrize("answer", ["5", "UK", "1.", " \n7\n"])
def test_a_short_answer_is_a_claim(answer: str) -> None:
    assert [claim.text for claim in claims(answer)] == [answer.strip()]


def test_sentences_in_small_letters_are_found_when_the_text_is_written_so() -> None:
    assert len(split("the pump failed. the valve was old.")) == 2
    assert len(split("The company sold approx. half. of it")) == 1
