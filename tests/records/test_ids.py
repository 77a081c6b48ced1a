from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from qagen_dagster.records.ids import (
    Combination,
    Mode,
    check_name,
    content_hash,
    digest,
    document_id,
    fingerprint,
    normalise,
    question_id,
)

SEGMENT = st.text(
    st.sampled_from("ab.-_ é#\n" + string.ascii_uppercase[:2] + "1"), min_size=1, max_size=12
).filter(lambda one: one not in {".", ".."})
PATH = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)
ROW = st.none() | st.text(min_size=1, max_size=10)
COMBINATION = Combination(corpus="bells", scenario="exam", mode=Mode.TEXTUAL)


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "x" * 128, "..a", "a..b", "1"])
def test_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "a b", "a...b", "x" * 129, "é", "a\n", "\n", "a\0", "a\\b", "~", "a:b", "*"],
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        check_name(name)


@pytest.mark.parametrize(
    ("path", "row", "expected"),
    [
        ("manual.pdf", None, "manual.pdf"),
        ("2023/minutes.txt", None, "2023--minutes.txt"),
        ("notices.jsonl", "17", "notices.jsonl--17"),
    ],
)
def test_ordinary_documents_keep_their_names(path: str, row: str | None, expected: str) -> None:
    assert document_id(path, row) == expected


@pytest.mark.parametrize(
    "path", ["wait... what.txt", "a--b.txt", ".hidden", "naïve.txt", "x" * 300, "...", "a....b"]
)
def test_names_that_had_to_change_carry_a_hash(path: str) -> None:
    found = document_id(path)
    assert found != path
    assert found[-9] == "-"
    assert set(found[-8:]) <= set("0123456789abcdef")


@given(PATH | st.text(min_size=1, max_size=200), ROW)
def test_every_document_id_is_a_name(path: str, row: str | None) -> None:
    assert check_name(document_id(path, row)) == document_id(path, row)


@given(PATH, ROW, PATH, ROW)
def test_no_two_documents_share_an_id(path: str, row: str | None, other: str, other_row: str | None) -> None:
    assume((path, row) != (other, other_row))
    below = (f"{path}/{row}", None) == (other, other_row) or (path, row) == (f"{other}/{other_row}", None)
    assume(not below)  # a file of rows cannot be a folder too
    assert document_id(path, row) != document_id(other, other_row)


def test_a_combination_is_its_key() -> None:
    assert COMBINATION.key == "bells/exam/textual"
    assert Combination.from_key("bells/exam/textual") == COMBINATION


@pytest.mark.parametrize(
    "key", ["", "a/b", "a/b/c", "a/b/textual/d", "a//textual", "../b/textual", "a/b/Textual"]
)
def test_what_is_no_combination(key: str) -> None:
    with pytest.raises(ValueError, match=r"is not|valid"):
        Combination.from_key(key)


def test_a_combination_has_names_only() -> None:
    with pytest.raises(ValidationError):
        Combination(corpus="a/../b", scenario="x", mode=Mode.TEXTUAL)


@given(st.lists(st.text(max_size=5), max_size=5), st.lists(st.text(max_size=5), max_size=5))
def test_digests_tell_parts_apart(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)
    assert (fingerprint(one) == fingerprint(other)) == (one == other)


def test_hashes_are_those_they_say() -> None:
    assert content_hash(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest("é") == digest("é".encode())
    assert len(fingerprint(["x"])) == 16
    assert len(digest("\ud800")) == 64


def test_normal_text_forgets_case_space_and_form() -> None:
    assert normalise("  Wie  GROSS\nist die ﬁnale Straße? ") == normalise("wie gross ist die finale strasse?")


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more_but_for_odd_letters(text: str) -> None:
    once = normalise(text)
    assert once == " ".join(once.split())
    assert normalise(once) == normalise(normalise(once))


def test_a_question_id_depends_on_content_alone() -> None:
    found = question_id(COMBINATION, "d.txt", "Who cast it?", "Ida Holm")
    assert found == question_id(COMBINATION, "d.txt", "who  cast IT?", "ida holm")
    assert found.startswith("q-")
    assert len(found) == 18
    others = {
        question_id(COMBINATION, "e.txt", "Who cast it?", "Ida Holm"),
        question_id(COMBINATION, "d.txt", "Who cast them?", "Ida Holm"),
        question_id(COMBINATION, "d.txt", "Who cast it?", "Nils Berg"),
        question_id(
            Combination(corpus="bells", scenario="exam", mode=Mode.VISUAL),
            "d.txt",
            "Who cast it?",
            "Ida Holm",
        ),
    }
    assert len(others | {found}) == 5


def test_question_ids_never_change() -> None:
    """They are published: a change here breaks every set that was."""
    assert question_id(COMBINATION, "d.txt", "Who cast it?", "Ida Holm") == "q-4ab4eb3ffa934f50"
