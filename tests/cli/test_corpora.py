""""""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


def test_a_new_corpus_is_valid_and_is_never_overwritten(qagen: Command) -> None:
    made = qagen("init", "field_manuals")
    assert made.code == 0
    assert qagen("corpora", "check").out == "field_manuals: valid; files: 0; scenarios: retrieval\n"
    config = qagen.project.corpora / "field_manuals/corpus.yaml"
    config.write_text("name: mine", encoding="utf-8")
    again = qagen("init", "field_manuals")
    assert again.code == 2
    assert again.errors[0].endswith("field_manuals/documents: already exists")
    assert config.read_text(encoding="utf-8") == "name: mine"


def test_an_existing_description_is_kept(qagen: Command) -> None:
    (qagen.project.corpora / "field_manuals").mkdir(parents=True)
    (qagen.project.corpora / "field_manuals/corpus.yaml").write_text("name: mine", encoding="utf-8")
    ended = qagen("init", "field_manuals")
    assert ended.errors[0].endswith("field_manuals/corpus.yaml: already exists")


@pytest.mark.parametrize("name", ["../water", "exams", "a b", "..."])
def test_a_name_that_cannot_be_a_corpus_makes_nothing(qagen: Command, name: str) -> None:
    ended = qagen("init", name)
    assert (ended.code, len(ended.errors)) == (2, 1)
    assert list(qagen.project.corpora.iterdir()) == []
