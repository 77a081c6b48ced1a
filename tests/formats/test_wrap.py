"""Breaking paragraphs into lines: at sentence ends, never inside words, numbers or abbreviations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.formats.wrap import LIMIT, TARGET, sentences, wrap

WORDS = st.text(alphabet=st.sampled_from("abcXYZ019.,;:()!?\u2019 "), max_size=30)


def test_short_paragraphs_stay_on_one_line() -> None:
    assert wrap("One. Two.\n Three.") == ["One. Two. Three."]
    assert wrap("  \n ") == []


def test_lines_take_whole_sentences() -> None:
    sentence = "This sentence has exactly so many characters that three of them fill a line up. "
    lines = wrap(sentence * 7)
    assert all(line.endswith("line up.") for line in lines)
    assert all(len(line) <= TARGET for line in lines)
    assert [line.count("This") for line in lines] == [2, 2, 2, 1]


def test_long_sentences_break_after_clauses() -> None:
    lines = wrap(("a clause of some length that goes on and on" + ", ") * 20)
    assert all(len(line) <= LIMIT for line in lines)
    assert all(line.endswith(",") for line in lines)


def test_a_label_takes_its_sentence_along() -> None:
    text = "Figure 1. " + "a word or two " * 18 + "end."
    assert wrap(text) == [text.strip()]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("See Smith et al. (2020). Next.", ["See Smith et al. (2020).", "Next."]),
        ("As in Fig. 2 and Eq. 3. Then 5 more.", ["As in Fig. 2 and Eq. 3.", "Then 5 more."]),
        ("By J. R. Smith, e.g. Drosophila. It", ["By J. R. Smith, e.g. Drosophila.", "It"]),
        ("It cost 3.5 million. Why? Nobody knows!", ["It cost 3.5 million.", "Why?", "Nobody knows!"]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("the genus sp. nov. was found", ["the genus sp. nov. was found"]),
    ],
)
def test_sentences_end_where_they_end(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_numbers_are_not_torn() -> None:
    text = "x" * 280 + " about 12 345 678 " + "y" * 100
    assert any("12 345 678" in line for line in wrap(text))


@given(st.lists(WORDS, max_size=80))
def test_nothing_is_lost_and_lines_are_bounded(words: list[str]) -> None:
    text = " ".join(words)
    lines = wrap(text)
    assert " ".join(lines) == " ".join(text.split())
    for line in lines:
        assert line == line.strip()
        assert line
        # Longer only where no break is allowed: one word, or digits and abbreviations all the way.
        assert len(line) <= LIMIT or not any(
            before.isalpha() and after.isalpha() and at < LIMIT
            for at, (before, space, after) in enumerate(zip(line, line[1:], line[2:], strict=False))
            if space == " "
        )
