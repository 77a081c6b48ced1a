from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.facts import facts, missing_amounts
from qagen_dagster.english.words import content_stems
from qagen_dagster.grounding.source import Source, Window

TEXT = st.text(alphabet=st.sampled_from("ab AB.\n!?é1 "), max_size=300)
LONG = "\n".join(f"The barrel number {n} holds {n * 7} litres of oil." for n in range(1, 2001))


@given(TEXT)
def test_windows_cover_every_sentence(text: str) -> None:
    source = Source(text)
    covered = {
        number for window in source.windows() for number in range(window.first, window.first + window.size)
    }
    assert covered == set(range(len(source.sentences)))


@given(TEXT)
def test_lines_of_the_evidence_hold_the_quote(text: str) -> None:
    source = Source(text)
    lines = text.split("\n")
    for window in source.windows():
        span = source.evidence(window)
        assert span.quote in text
        assert span.quote in "\n".join(lines[span.start_line - 1 : span.end_line])
        assert span.quote not in "\n".join(lines[span.start_line : span.end_line])
        assert span.quote not in "\n".join(lines[span.start_line - 1 : span.end_line - 1])


def test_a_long_document_is_searched_to_its_end() -> None:
    source = Source(LONG)
    found = source.candidates(content_stems("Barrel 1998 holds how much?"), 2)
    assert Window(1997, 1) in found
    assert source.evidence(Window(1997, 1)).start_line == 1998


def test_rare_words_tell_more() -> None:
    source = Source(LONG)
    assert source.rarity("1998") > source.rarity("barrel")
    assert source.has("barrel")
    assert not source.has("zebra")


@given(TEXT, st.integers(-2, 12), st.integers(-2, 12))
def test_sentences_on_lines_are_those_that_have_a_character_there(text: str, one: int, other: int) -> None:
    source = Source(text)
    first, last = sorted((one, other))
    lines = text.splitlines(keepends=True) if "\n" in text else [text]
    first_line = min(max(first, 1), text.count("\n") + 1)
    begin = sum(map(len, lines[: first_line - 1]))
    end = sum(map(len, lines[: max(last, 0)]))
    there = {
        number
        for number, sentence in enumerate(source.sentences)
        if sentence.end > begin and sentence.start < end
    }
    assert {*source.sentences_on(first, last)} == there


def test_a_heading_is_not_joined_with_the_next_line() -> None:
    source = Source("Town Library\n\nAgnes Whitlow opened it. It has rooms.")
    assert source.window_text(Window(0, 2)) == "Town Library\nAgnes Whitlow opened it."
    assert source.window_text(Window(1, 2)) == "Agnes Whitlow opened it. It has rooms."


TABLE = "| Region | Sales (£m) | Share (%) |\n|---|---|---|\n| North | 85 | 4 |\n| South | 12 | |\n"


def test_a_row_of_a_table_is_read_under_its_heads() -> None:
    source = Source(TABLE)
    assert source.window_text(Window(2, 1)) == "Region: North; Sales: £85 m; Share: 4%"
    assert source.window_text(Window(3, 1)) == "Region: South; Sales: £12 m"
    assert source.evidence(Window(2, 1)).quote == "| North | 85 | 4 |"
    claim = facts("The North sold for £85 million, a share of 4 percent.")
    assert missing_amounts(claim, source.facts) == []


def test_lines_with_bars_but_no_head_stay_as_they_are() -> None:
    source = Source("3 | 5\n4 | 6\n")
    assert source.window_text(Window(1, 1)) == "4 | 6"
