from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.copies import Copies, covering
from qagen_dagster.grounding.methods.semantic import grade
from qagen_dagster.grounding.source import Source
from qagen_dagster.index.sentences import claims, split
from qagen_dagster.records.grading import SentenceStatus

WORDS = ("tank", "holds", "forty", "litres", "of", "oil")
TEXT = (
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


def statuses(answer: str) -> list[SentenceStatus]:
    return [one.status for one in grade(answer, Source(TEXT)).sentences]


@pytest.mark.parametrize("sentence", [one.text for one in split(TEXT) if len(one.text.split()) >= 4])
def test_every_sentence_of_the_document_is_supported_whatever_is_in_it(sentence: str) -> None:
    assert set(statuses(sentence)) == {SentenceStatus.SUPPORTED}


def test_any_five_sentences_in_a_row_are_supported_with_their_line_breaks_or_without() -> None:
    sentences = split(TEXT)
    for first in range(len(sentences) - 4):
        as_written = TEXT[sentences[first].start : sentences[first + 4].end]
        for answer in (as_written, " ".join(as_written.split())):
            assert grade(answer, Source(TEXT)).is_grounded is True, answer


def test_the_evidence_of_a_copy_is_where_it_stands() -> None:
    (graded,) = grade(
        "afterwards no more than 3 are tried. without it, nothing would have been solved in 1990 or 1991 by A. Berg",
        Source(TEXT),
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
    assert Copies(split(TEXT)).find(changed) == []


def test_part_of_a_sentence_is_no_copy_and_neither_are_cells() -> None:
    copies = Copies(split(TEXT))
    assert copies.find("nothing would have been solved in 1990 or 1991 by A. Berg.") == []
    assert copies.find("Yes. No.") == []
    assert copies.find("") == []


def test_a_sentence_that_opens_like_a_longer_one_is_found() -> None:
    copies = Copies(split("The tank holds oil.\n\nThe tank holds oil and 7 more litres of water."))
    (found,) = copies.find("The tank holds oil.")
    assert (found.first, found.count, found.end) == (0, 1, 19)


def test_a_claim_that_says_more_than_its_copy_is_not_covered() -> None:
    answer = "The tank holds (40) litres. The tank holds (40) litres and 7 more of them"
    first, second = claims(answer)
    copies = Copies(split(TEXT)).find(answer)
    assert covering(copies, first) is not None
    assert covering(copies, second) is None


@given(st.lists(st.permutations(WORDS), min_size=1, max_size=8, unique_by=tuple), st.data())
def test_whole_sentences_in_a_row_are_a_copy(orders: list[list[str]], data: st.DataObject) -> None:
    sentences = split(" ".join(f"The {' '.join(words)} end." for words in orders))
    assert len(sentences) == len(orders)
    first = data.draw(st.integers(0, len(sentences) - 1))
    chosen = sentences[first : first + data.draw(st.integers(1, 5))]
    (found,) = Copies(sentences).find(" ".join(one.text for one in chosen))
    assert (found.first, found.count) == (first, len(chosen))


@given(st.text(alphabet=st.sampled_from("ab 1.\n,-("), max_size=120), st.integers(0, 20), st.integers(1, 5))
def test_consecutive_sentences_are_found_whole(text: str, first: int, count: int) -> None:
    sentences = split(text)
    chosen = sentences[first : first + count]
    answer = " ".join(one.text for one in chosen)
    found = Copies(sentences).find(answer)
    assert [(one.start, one.end) for one in found] == sorted((one.start, one.end) for one in found)
    for one in found:
        held = " ".join(sentence.text for sentence in sentences[one.first : one.first + one.count])
        assert answer[one.start : one.end].strip(".,;:! ").split()[:1] == held.strip(".,;:! ").split()[:1]
