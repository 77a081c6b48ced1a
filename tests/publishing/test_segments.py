from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.publishing.segments import Segment, split, xml_text

PIECES = st.lists(st.sampled_from(["$", "$$", "\\$", "\\(", "\\)", "\\[", "\\]", "x", " ", "\\", "\n"]))


def test_formulas_are_taken_out_of_prose() -> None:
    assert split("Let $a$ be \\(b\\): $$c$$ or \\[ d \\].") == [
        Segment("prose", "Let "), Segment("inline", "a"), Segment("prose", " be "), Segment("inline", "b"),
        Segment("prose", ": "), Segment("display", "c"), Segment("prose", " or "), Segment("display", "d"),
        Segment("prose", "."),
    ]  # fmt: skip


def test_dollars_that_are_money_stay_prose() -> None:
    assert split("\\$3 and $4") == [Segment("prose", "$3 and $4")]
    assert split("$x = \\$3$") == [Segment("inline", "x = \\$3")]
    assert split("") == []
    assert split("$$") == [Segment("prose", "$$")]


@given(PIECES.map("".join))
def test_nothing_is_lost(text: str) -> None:
    letters = [char for char in text if char == "x"]
    found = split(text)
    assert [char for segment in found for char in segment.text if char == "x"] == letters
    assert all(segment.text for segment in found)
    kinds = [segment.kind for segment in found]
    assert all(kinds[at : at + 2] != ["prose", "prose"] for at in range(len(kinds)))


def test_many_fences_that_nothing_closes_are_read_once() -> None:
    text = "\\( " * 100_000
    assert split(text) == [Segment("prose", text)]


def test_what_xml_cannot_hold_is_left_out() -> None:
    assert xml_text("a\x00\x0b\ud800\ufffe\tb\n\U0001f600") == "a\tb\n\U0001f600"
