from __future__ import annotations

import inspect
import json
import subprocess
import sys
from math import nan
from pathlib import Path
from typing import Any

import pytest

import qagen_dagster
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.index import build_index
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.answer import QAError
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown, waterworks
from tests.support.project import Project
from tests.support.scored import published_set


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, qagen_dagster; print(sorted(name for name in sys.modules if 'qagen' in name))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['qagen_dagster']"


def test_there_is_no_other_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'qagen_dagster' has no attribute 'publish'"):
        getattr(qagen_dagster, "publish")  # noqa: B009


def test_the_documented_names_are_the_public_ones() -> None:
    contracts = (PROJECT_ROOT / "docs/contracts.md").read_text(encoding="utf-8")
    rows = markdown.table(contracts, "## The Python interface")
    assert sorted(row[0].strip("`") for row in rows) == sorted(set(qagen_dagster.__all__) - {"__version__"})
    for name, form in ((row[0].strip("`"), row[1]) for row in rows):
        function = getattr(qagen_dagster, name)
        if inspect.isfunction(function):
            told = form.strip("`").partition("(")[2].partition(")")[0]
            names = [part.split("=")[0] for part in told.split(", ") if part not in ("", "*")]
            assert names == list(inspect.signature(function).parameters), name


def test_combinations_are_the_configured_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(modes="textual, visual"), {})
    monkeypatch.setenv("QAGEN_CORPORA", str(project.corpora))
    assert qagen_dagster.combinations() == ["water/facts/textual", "water/facts/visual"]


def test_a_set_that_was_never_published_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="water/facts/textual has no published set"):
        qagen_dagster.published("water/facts/textual", assets=tmp_path)


def test_rows_in_memory_are_scored_and_compared(tmp_path: Path) -> None:
    questions = published_set(tmp_path)
    first = [{"id": one.id, "answer": one.answer} for one in questions]
    report = qagen_dagster.score(questions, first, [{"id": "q-1", "answer": "12 m"}])
    assert [one.overall.counts["right"] for one in report.systems] == [4, 0]
    assert report.comparisons[0].only_first == ("q-1", "q-2", "q-3", "q-4")
    assert qagen_dagster.score_markdown(report).startswith("# Scores: answers and against\n")


@pytest.fixture
def bells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    project = Project.make(tmp_path / "project")
    rows = [
        {
            "id": "a",
            "title": "The Bell",
            "abstract": "A bell was cast in Oslo in 1811. It cracked in the frost of 1871.",
        },
        {
            "id": "b",
            "title": "The Mast",
            "content": "The mast of the lightship is nine metres high. It is of larch. " * 20,
        },
        {"id": "c", "title": "Nothing", "content": " "},
        {"id": 12345, "title": "The Horn", "content": "The horn sounds every 90 seconds in fog."},
    ]
    project.corpus("bells", waterworks.corpus(), {"rows.jsonl": "\n".join(map(json.dumps, rows))})
    for name, folder in {"QAGEN_CORPORA": project.corpora, "QAGEN_ASSETS": project.assets}.items():
        monkeypatch.setenv(name, str(folder))
    space = Workspace(project.settings(profile="embedded"))
    parse_corpus(space.corpus("bells"), space.store, space.parsers(), space.settings)
    return space


def test_one_document_is_asked_searched_and_described(bells: Workspace) -> None:
    found = qagen_dagster.answer_from_document("rows.jsonl--b", "How high is the mast of the lightship?")
    assert (found.answer, found.success, found.used_fulltext) == ("nine metres high", True, True)
    (best, *_) = qagen_dagster.semantic_search_document(
        "rows.jsonl--a", "damage by cold weather", threshold=-1.0
    )
    assert (best.text, best.chunk_no) == ("It cracked in the frost of 1871.", 2)
    assert qagen_dagster.semantic_search_document("rows.jsonl--a", "damage by cold", threshold=0.99) == ()
    before = [qagen_dagster.get_document_text_status(f"rows.jsonl--{row}") for row in "ab"]
    assert not any(one.can_use_fulltext_semantic or one.can_use_abstract_semantic for one in before)
    build_index(bells, "bells")
    abstract, full = (qagen_dagster.get_document_text_status(f"rows.jsonl--{row}") for row in "ab")
    assert (abstract.can_use_abstract_semantic, abstract.can_use_fulltext_semantic) == (True, False)
    assert (full.can_use_abstract_semantic, full.can_use_fulltext_semantic) == (False, True)


@pytest.mark.parametrize("document", ["", "nobody", "../x", "rows.jsonl--d"])
def test_an_unknown_document_is_a_value_of_the_answer(bells: Workspace, document: str) -> None:
    for corpus in (None, "bells"):
        found = qagen_dagster.answer_from_document(document, "Who?", corpus=corpus)
        assert (found.error, found.document_id) == (QAError.DOCUMENT_NOT_FOUND, document)
        with pytest.raises(ConfigError, match="document"):
            qagen_dagster.get_document_text_status(document, corpus=corpus)


@pytest.mark.parametrize("document", [12345, "12345", "rows.jsonl--12345"])
def test_a_row_may_be_named_by_its_own_id(bells: Workspace, document: str | int) -> None:
    found = qagen_dagster.answer_from_document(document, "How often does the horn sound in fog?")
    assert (found.success, found.document_id) == (True, "rows.jsonl--12345")
    assert qagen_dagster.get_document_text_status(document).title == "The Horn"
    assert qagen_dagster.answer_from_document(99, "Who?").error is QAError.DOCUMENT_NOT_FOUND


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -3}, {"threshold": 2.0}, {"threshold": nan}])
@pytest.mark.parametrize("row", ["a", "b"])
def test_options_of_a_search_are_checked(bells: Workspace, row: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        qagen_dagster.semantic_search_document(f"rows.jsonl--{row}", "height", **options)


def test_other_errors_are_values_too(bells: Workspace) -> None:
    asked = qagen_dagster.answer_from_document
    assert asked("rows.jsonl--b", " ").error is QAError.CONFIGURATION_ERROR
    assert asked("rows.jsonl--b", "Who?", corpus="nowhere").error is QAError.CONFIGURATION_ERROR
    assert asked("rows.jsonl--b", "Who?", profile="nowhere").error is QAError.CONFIGURATION_ERROR
    assert asked("rows.jsonl--c", "Who?").error is QAError.NO_TEXT_AVAILABLE
    assert asked("rows.jsonl--b", "How high?", temperature=-1.0).error is QAError.CONFIGURATION_ERROR
    assert qagen_dagster.get_document_text_status("rows.jsonl--c").title == "Nothing"
