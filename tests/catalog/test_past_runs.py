"""Examples for forecasts: documents worked to their end, each request once, and the comparisons of whole sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.catalog.database import rebuild
from qagen_dagster.catalog.past_runs import past_documents, past_sets
from qagen_dagster.catalog.source import CatalogSource
from qagen_dagster.errors import StoreError
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import DocumentEnd


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.duckdb"


def test_a_row_per_document_with_its_roles(path: Path, make_world) -> None:
    rebuild(make_world(size=2).source(), path)
    found = past_documents(path, Mode.TEXTUAL)
    assert [one.document_id for one in found] == ["d0", "d1"]
    one = found[0]
    assert (one.combination, one.end, one.target_count, one.accepted) == (
        "c/s/textual",
        "target_reached",
        2,
        2,
    )
    assert (one.characters, one.pages, one.visuals) == (9, 0, 2)
    (use,) = one.uses
    assert (use.role, use.model, use.calls, use.input_tokens, use.seconds) == (
        "generator",
        "e:generator",
        6,
        600,
        3.0,
    )
    assert past_documents(path, Mode.VISUAL) == ()


def test_what_ended_early_or_asked_nothing_is_no_example(path: Path, make_world) -> None:
    world = make_world(size=3)
    rows = [world.result(0, end=DocumentEnd.BUDGET_EXHAUSTED), world.result(1), world.result(2)]
    silent = rows[2].result.model_copy(update={"calls": (), "end": DocumentEnd.NO_VISUALS})
    rows[2] = rows[2].model_copy(update={"result": silent})
    rebuild(CatalogSource(documents=world.source().documents, results=rows), path)
    assert [one.document_id for one in past_documents(path, Mode.TEXTUAL)] == ["d1"]


def test_a_request_repeated_by_its_document_counts_once_and_by_another_again(path: Path, make_world) -> None:
    world = make_world(size=2)
    row, other = world.result(0), world.result(1)
    twice = row.result.model_copy(update={"calls": (*row.result.calls, *row.result.calls)})
    shared = tuple(call.model_copy(update={"document_id": "d1"}) for call in row.result.calls)
    same = other.result.model_copy(update={"calls": shared})
    rows = [row.model_copy(update={"result": twice}), other.model_copy(update={"result": same})]
    rebuild(CatalogSource(documents=world.source().documents, results=rows), path)
    assert [one.uses[0].calls for one in past_documents(path, Mode.TEXTUAL)] == [6, 6]


def test_sets_with_and_without_comparisons(path: Path, make_world) -> None:
    rebuild(make_world(size=3).source(), path)
    (found,) = past_sets(path, Mode.TEXTUAL)
    assert (found.combination, found.accepted) == ("c/s/textual", 6)
    assert found.use is not None
    assert (found.use.calls, found.use.model, found.use.output_tokens) == (2, "e:deduplicator", 20)
    rebuild(make_world(size=1).source(), path)
    (alone,) = past_sets(path, Mode.TEXTUAL)
    assert (alone.accepted, alone.use) == (2, None)


def test_there_must_be_a_catalog(path: Path) -> None:
    for ask in (past_documents, past_sets):
        with pytest.raises(StoreError, match="there is no catalog"):
            ask(path, Mode.TEXTUAL)
