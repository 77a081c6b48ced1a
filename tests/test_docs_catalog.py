"""What docs/catalog.md says: its queries run on a store with a history, and the pages name every table and view."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from qagen_dagster.catalog.database import dictionary, snapshot
from qagen_dagster.catalog.queries import former_question, runs
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.history_project import History, history

pytestmark = list(DAGSTER_WARNINGS)
TEXT = (PROJECT_ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")
NOTHING = {
    15,
    16,
    17,
    18,
    21,
    22,
    23,
    24,
}  # the store has no duplicate, ungrounded answer, evaluation, exam or problem
Row = dict[str, Any]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return history(tmp_path_factory)


@pytest.fixture(scope="module")
def asked(past: History) -> Callable[[int], list[Row]]:
    """The rows of the query with this number."""
    queries = dict(zip(numbers(), markdown.fenced(TEXT, "sql"), strict=True))

    def ask(number: int) -> list[Row]:
        with snapshot(past.catalog) as connection:
            found = connection.execute(queries[number])
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return ask


def numbers() -> list[int]:
    return [int(number) for number in re.findall(r"^\*\*(\d+)\. ", TEXT, re.MULTILINE)]


def test_there_are_twenty_queries_and_more() -> None:
    assert numbers() == list(range(1, len(numbers()) + 1))
    assert len(numbers()) >= 20


def test_every_query_runs_and_finds_what_there_is(asked: Callable[[int], list[Row]]) -> None:
    assert {number for number in numbers() if not asked(number)} == NOTHING


def test_one_query_has_the_pass_rate_of_each_run(past: History, asked: Callable[[int], list[Row]]) -> None:
    rows = asked(1)
    assert [row["run_id"] for row in rows] == list(past.runs)
    assert [row["pass_rate"] for row in rows[:3]] == pytest.approx([1.0, 2 / 3, 3 / 8])
    assert [row["validator"].partition(":")[2] for row in rows[:3]] == ["judge", "strict", "harsh"]


def test_one_query_has_the_difference_of_two_sets(asked: Callable[[int], list[Row]]) -> None:
    rows = asked(2)
    assert [(row["only_in"], row["source_document"]) for row in rows] == [
        (1, "documents/quay.txt"), (1, "documents/ridge.txt"),
        (2, "documents/quay.txt"), (2, "documents/ridge.txt"),
    ]  # fmt: skip
    assert ["intake" in row["question"] for row in rows] == [True, True, False, False]


def test_rejected_candidates_keep_type_and_evidence(past: History, asked: Callable[[int], list[Row]]) -> None:
    with snapshot(past.catalog) as connection:
        current = connection.execute("SELECT DISTINCT run_id FROM outcomes").fetchall()
    assert current == [(past.runs[2],)]
    rejected = asked(13)
    assert len(rejected) == 5
    assert all(row["question_type"] == "factual" and row["evidence"] for row in rejected)


def test_contracts_name_every_view(past: History) -> None:
    contracts = (PROJECT_ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
    with snapshot(past.catalog) as connection:
        views = {name for name, one in dictionary(connection).items() if one["kind"] == "view"}
    missing = {view for view in views if f"`{view}`" not in contracts}
    assert missing == {"attempt_calls", "document_calls"}  # parts of others


def test_runs_and_former_questions_are_found(past: History) -> None:
    """What `qagen runs` and `qagen show` read."""
    found = runs(past.catalog)
    assert [one.started for one in found] == sorted((one.started for one in found), reverse=True)
    assert all(one.added <= one.accepted for one in found)
    assert any(one.added for one in found)
    with snapshot(past.catalog) as connection:
        removed = connection.execute(
            "SELECT question_id, version FROM set_changes WHERE change = 'removed'"
        ).fetchall()
        held = {row[0] for row in connection.execute("SELECT question_id FROM set_questions").fetchall()}
    for name in held:
        former = former_question(past.catalog, name)
        assert former is not None
        assert former.question_id == name
    assert {name for name, _ in removed} <= held
    assert former_question(past.catalog, "q-none") is None
