"""Keys of the store: where records lie, and that no name leads out of its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.records.document import CorpusIndex, Document, SearchIndex, VisualManifest
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.records.ids import Combination, Mode, document_id
from qagen_dagster.records.problems.result import ProblemBank
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import CandidateSet, GenerationResult, ValidatedSet
from tests.support.stored_keys import make, makers, parameters

COMBINATION = Combination(corpus="bells", scenario="exam", mode=Mode.VISUAL)
TEXTS = [(name, one) for name in makers() for one, kind in parameters(name).items() if kind == "str"]
NAMES = [one for one in TEXTS if one[1] != "path"]
PATHS = [one for one in TEXTS if one[1] == "path"]
BAD = ["..", ".", "", "a/b", "../x", "a\\b", "a b", "\0", "...", "~", "/etc"]


@pytest.mark.parametrize(("maker", "parameter"), NAMES)
@pytest.mark.parametrize("name", BAD)
def test_a_name_that_could_leave_its_folder_makes_no_key(maker: str, parameter: str, name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        make(maker, **{parameter: name})


@pytest.mark.parametrize(("maker", "parameter"), PATHS)
@pytest.mark.parametrize("path", ["../x", "a/../b", "/etc/passwd", "a//b", "", "a/.", "a/b/"])
def test_a_path_that_could_leave_its_folder_makes_no_key(maker: str, parameter: str, path: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        make(maker, **{parameter: path})


@given(st.text(st.sampled_from("ab./\\-~\0 é"), max_size=8), st.sampled_from(TEXTS))
def test_every_key_stays_under_the_root(name: str, which: tuple[str, str]) -> None:
    try:
        key = make(which[0], **{which[1]: name})
    except ValueError:
        return
    root = Path("/root/of/it")
    assert (root / key).is_relative_to(root)
    assert ".." not in Path(key).parts
    assert os.path.normpath(root / key) == str(root / key)


def test_the_layout_is_a_contract() -> None:
    assert Document.text_key("bells", "d.txt") == "documents/bells/d.txt/text.txt"
    assert Document.key("bells", "d.txt") == "documents/bells/d.txt/document.json"
    assert VisualManifest.key("bells", "d.txt") == "documents/bells/d.txt/visuals.json"
    assert CorpusIndex.key("bells") == "documents/bells/index.json"
    assert CorpusGenerationResult.key(COMBINATION) == "published/bells/exam/visual/corpus.json"
    assert GenerationResult.key(COMBINATION, "d.txt", "f") == "candidates/bells/exam/visual/d.txt/f.json"
    assert CandidateSet.key(COMBINATION) == "candidates/bells/exam/visual/set.json"
    assert ValidatedSet.key(COMBINATION) == "validated/bells/exam/visual/set.json"
    assert (
        GenerationResult.journal_key(COMBINATION, "d.txt", "f") == "journals/bells/exam/visual/d.txt/f.json"
    )


def test_two_combinations_of_a_run_never_share_a_key() -> None:
    one = Combination(corpus="a--b", scenario="c", mode=Mode.TEXTUAL)
    other = Combination(corpus="a", scenario="b--c", mode=Mode.TEXTUAL)
    assert CandidateSet.run_key("r", one) != CandidateSet.run_key("r", other)


def test_what_products_pay_for_one_run_lies_in_one_folder() -> None:
    """Their processes find each other's money by `spending/<spending id>`."""
    folders = (
        COMBINATION.spending_folder("r"),
        ExamPart.from_key("bells/M1/easy").spending_folder("r"),
        ProblemBank.spending_folder("r", "bells"),
        SearchIndex.spending_folder("r", "bells"),
    )
    assert folders == (
        "spending/r/bells/exam/visual",
        "spending/r/exams/bells/M1/easy",
        "spending/r/problems/bells",
        "spending/r/indexes/bells",
    )


@pytest.mark.parametrize("key", [CorpusIndex.key("c"), CandidateSet.key(COMBINATION)])
def test_no_document_is_called_like_a_file_beside_the_documents(key: str) -> None:
    """A stray index.json among a corpus' files must not stand where the index belongs."""
    folder, _, name = key.rpartition("/")
    taken = {Document.key("c", document_id(name)), GenerationResult.key(COMBINATION, document_id(name), "f")}
    assert not any(one.startswith(f"{folder}/{name}/") for one in taken)
