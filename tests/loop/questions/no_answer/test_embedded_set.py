"""A set with questions without an answer, from documents to the published files, made by the embedded models without a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.evaluation.run_questions import open_evaluation
from qagen_dagster.loop.grading.grade_set import RunMark, grade_set
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan, unfinished
from qagen_dagster.loop.questions.publication.publish import is_up_to_date, publish
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.settings import Settings
from tests.support.shards import run_shard

KEY = Combination(corpus="pumps", scenario="facts", mode=Mode.TEXTUAL)
CORPUS = """\
name: Pumps
corpus_context: Manuals of pumps.
scenarios:
  facts:
    name: Facts
    description: Facts about pumps.
    modes: [textual]
    target_count: 6
    mix: {unanswerable: 0.2, underspecified: 0.2}
"""
TEXT = """# The {name} Pump: Operator's Manual

The {name} Pump lifts sea water into the basin at Selby Quay. Martha Kellogg designed the pump in March {year}.
The {name} Pump has twelve filters. An engineer must replace the filters because salt blocks them. The pressure relief valve (PRV)
of the pump opens at 9 bar.

## Models

| Model | Weight (kg) | Voltage (V) |
|--------|---------|---------|
| Heron | {weight} | 230 |
| Plover | 62 | 400 |
"""


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    folder = tmp_path / "corpora" / "pumps" / "documents"
    folder.mkdir(parents=True)
    (folder.parent / "corpus.yaml").write_text(CORPUS)
    (folder / "harbour.md").write_text(TEXT.format(name="Harbour", year=1987, weight=45))
    (folder / "river.md").write_text(TEXT.format(name="River", year=1991, weight=51))
    return Workspace(
        Settings(corpora=tmp_path / "corpora", assets=str(tmp_path / "assets"), profile="embedded")
    )


def make(space: Workspace, run_id: str) -> list[dict[str, Any]]:
    parse_corpus(space.corpus("pumps"), space.store, space.parsers(), space.settings)
    planned = plan(space, KEY, RunOptions())
    run_shard(space, planned, unfinished(space, planned), run_id)
    collect(space, planned, run_id=run_id, started="2026-01-01", ended="2026-01-02")
    validate_set(space, KEY, space.encode)
    grade_set(space, KEY, RunMark(run_id, run_id))
    publish(space, KEY, run_id)
    return json.loads(space.store.read_bytes(CorpusGenerationResult.key(KEY)))["questions"]


def test_the_embedded_models_make_prove_and_publish_them(space: Workspace) -> None:
    questions = make(space, "run-1")
    without = [one for one in questions if not one["answerable"]]
    assert {one["question_type"] for one in without} == {"unanswerable", "underspecified"}
    for one in without:
        assert one["no_answer"]["documents"] == 2
        assert one["evidence"]
        assert one["verdict"] is None
    assert all(one["no_answer"] is None for one in questions if one["answerable"])
    assert is_up_to_date(space, KEY, RunOptions())
    evaluated = open_evaluation(space, KEY, RunMark("run-1", "run-1")).questions
    assert len(evaluated) == len(questions) - len(without)


def test_a_new_document_is_searched_too_and_a_second_run_changes_nothing(space: Workspace) -> None:
    first = make(space, "run-1")
    assert make(space, "run-2") == first
    (lost,) = [one for one in first if one["question_type"] == "unanswerable"][:1]
    thing = lost["question"].rpartition("what is the ")[2].rstrip("?")
    folder = space.settings.corpora / "pumps" / "documents"
    (folder / "more.md").write_text(f"# A letter\\n\\nThe {thing} is 0123 456 789, as the keeper says.\\n")
    parse_corpus(space.corpus("pumps"), space.store, space.parsers(), space.settings)
    assert not is_up_to_date(space, KEY, RunOptions())
    now = make(space, "run-3")
    assert {one["no_answer"]["documents"] for one in now if one["question_type"] == "unanswerable"} <= {3}
    answerable = {one["id"] for one in first if one["answerable"]}
    assert answerable <= {one["id"] for one in now}


def test_a_share_across_documents_that_the_rules_cannot_write_is_told(space: Workspace) -> None:
    file = space.settings.corpora / "pumps" / "corpus.yaml"
    file.write_text(CORPUS.replace("underspecified: 0.2", "across: 0.2"))
    space = Workspace(space.settings)
    assert make(space, "run-1")
    card = space.store.read_bytes(f"published/{KEY.key}/README.md").decode()
    assert "| across | 3 | 0 |" in card
    assert "groups of documents share something" in card
