from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.facts import facts, missing_amounts
from qagen_dagster.english.sentences import Sentence, claims, split
from qagen_dagster.english.words import content_stems
from qagen_dagster.grounding.grade_by_code import grade_by_code
from qagen_dagster.grounding.source import LEAST_COPIED, Copies, Source, Window
from qagen_dagster.records.grading import SentenceStatus

WORDS = ("tank", "holds", "forty", "litres", "of", "oil")
COPIED_TEXT = (
    "3.2 Options of the solver\n"
    "\n"
    "The option tol is 1e-8 by default, and 1,024 steps are not exceeded.\n"
    "x = lsode (@f, [1; 2], t = (0:0.1:10)')\n"
    "\n"
    "It does not stop before 12.5 % of 2,000 points are done (see page 118);\n"
    "afterwards no more than 3 are tried. Without it, nothing would have been solved in 1990 or 1991 by A. Berg.\n"
    "\n"
    "- decreased costs, increased prices, -5 and +7 K\n"
    "- a second item that is no sentence\n"
    "\n"
    "Yes. No. The tank holds (40) litres.\n"
    "\n"
    "U uitable properties . . . . . . . . . . . . . . . 480\n"
    "tempdir . . . . . . . . . . . . . . . . .\n"
)


def copied(answer: str, text: str = COPIED_TEXT) -> list[int | None]:
    return Copies(split(text)).find(answer, claims(answer))


def statuses(answer: str) -> list[SentenceStatus]:
    return [one.status for one in grade_by_code(answer, Source(COPIED_TEXT)).sentences]


@pytest.mark.parametrize("sentence", [one.text for one in split(COPIED_TEXT) if len(one.text.split()) >= 4])
def test_every_sentence_of_the_document_is_supported_whatever_is_in_it(sentence: str) -> None:
    assert set(statuses(sentence)) == {SentenceStatus.SUPPORTED}


def test_any_five_sentences_in_a_row_are_supported_with_their_line_breaks_or_without() -> None:
    sentences = split(COPIED_TEXT)
    for first in range(len(sentences) - 4):
        if len(sentences[first].text.split()) < LEAST_COPIED:
            continue
        as_written = COPIED_TEXT[sentences[first].start : sentences[first + 4].end]
        for answer in (as_written, " ".join(as_written.split())):
            assert grade_by_code(answer, Source(COPIED_TEXT)).is_grounded is True, answer


def test_the_evidence_of_a_copy_is_where_it_stands() -> None:
    (graded,) = grade_by_code(
        "afterwards no more than 3 are tried. without it, nothing would have been solved in 1990 or 1991 by A. Berg",
        Source(COPIED_TEXT),
    ).sentences[-1:]
    assert graded.evidence is not None
    assert graded.evidence.quote.endswith("by A. Berg.")
    assert graded.score == 1.0


@pytest.mark.parametrize(
    "changed",
    [
        "The option tol is 1e-9 by default, and 1,024 steps are not exceeded.",
        "The option tol is 1e-8 by default, and 1,024 steps are exceeded.",
        "decreased costs, increased prices, 5 and +7 K",
        "The tank holds 40 litres.",
        "is no sentence and not the whole",
    ],
)
def test_one_word_or_sign_otherwise_is_no_copy(changed: str) -> None:
    assert copied(changed) == [None]


def test_part_of_a_sentence_is_no_copy_and_neither_are_cells() -> None:
    assert copied("nothing would have been solved in 1990 or 1991 by A. Berg.") == [None]
    assert copied("Yes. No.") == [None, None]
    assert copied("") == []


def test_a_sentence_that_opens_like_a_longer_one_is_found() -> None:
    text = "The tank holds oil and 7 more litres of water.\n\nThe tank holds oil."
    assert copied("The tank holds oil.", text) == [1]


def test_a_claim_that_says_more_than_its_copy_is_none() -> None:
    assert copied("The tank holds (40) litres. The tank holds (40) litres and 7 more of them") == [8, None]


def test_a_document_that_is_split_otherwise_is_copied_all_the_same() -> None:
    answer = "The tank holds 40 litres. It was built in 1990."
    whole = [Sentence(answer, 0, len(answer))]
    assert Copies(whole).find(answer, claims(answer)) == [0, 0]


@pytest.mark.parametrize("marker", ["- ", "1. ", ""])
def test_the_marker_of_a_list_may_be_in_the_answer_alone_or_in_both(marker: str) -> None:
    sentence = "The tank holds 40 litres of oil."
    assert copied(f"{marker}{sentence}", sentence) == [0]
    assert copied(f"{marker}{sentence}", f"{marker}{sentence}") == [0]


@given(st.lists(st.permutations(WORDS), min_size=1, max_size=8, unique_by=tuple), st.data())
def test_whole_sentences_in_a_row_are_a_copy(orders: list[list[str]], data: st.DataObject) -> None:
    sentences = split(" ".join(f"The {' '.join(words)} end." for words in orders))
    assert len(sentences) == len(orders)
    first = data.draw(st.integers(0, len(sentences) - 1))
    chosen = sentences[first : first + data.draw(st.integers(1, 5))]
    answer = " ".join(one.text for one in chosen)
    assert Copies(sentences).find(answer, claims(answer)) == [*range(first, first + len(chosen))]


@given(st.text(alphabet=st.sampled_from("ab 1.\n,-("), max_size=120), st.integers(0, 20), st.integers(1, 5))
def test_any_sentences_in_a_row_can_be_searched(text: str, first: int, count: int) -> None:
    sentences = split(text)
    chosen = sentences[first : first + count]
    answer = " ".join(one.text for one in chosen)
    said = claims(answer)
    found = Copies(sentences).find(answer, said)
    for claim, number in zip(said, found, strict=True):
        assert number is None or claim.text.strip(".,;:! -").split()[0] in sentences[number].text


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
