"""What was spent, by call, document, role, combination and accepted question: each request once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.catalog import queries
from qagen_dagster.catalog.database import rebuild, snapshot, sql
from qagen_dagster.grounding.grade import grade_document, report
from qagen_dagster.records.grading import AnswerGrade, GradedAnswer, Method
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import DocumentEnd
from qagen_dagster.settings import PROJECT_ROOT
from tests.catalog.conftest import Source, call


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.duckdb"


def view(path: Path, name: str, columns: str = "*", where: str = "true") -> list[tuple[Any, ...]]:
    with snapshot(path) as connection:
        return connection.execute(f"SELECT {columns} FROM {name} WHERE {where}").fetchall()


def test_roles_documents_and_questions_add_up(path: Path, make_world) -> None:
    rebuild(make_world(size=3).source(), path)
    (found,) = queries.combinations(path)
    assert [(one.role, one.calls, one.usd) for one in found.roles] == [
        ("deduplicator", 2, 1.0),
        ("generator", 18, 9.0),
    ]
    assert view(path, "document_costs", "document_id, calls, usd, accepted, usd_per_accepted") == [
        ("d0", 6, 3.0, 2, 1.5),
        ("d1", 7, 3.5, 1, 3.5),
        ("d2", 7, 3.5, 1, 3.5),
    ]
    assert (found.usd, found.usd_per_accepted, found.tokens_per_accepted) == (10.0, 2.5, 550.0)
    assert view(path, "question_costs", "count(*), sum(calls), sum(input_tokens), sum(usd)") == [
        (4, 8, 800, 4.0)
    ]


def test_every_kind_of_token_retries_and_time_are_kept(path: Path, make_world) -> None:
    world = make_world(size=1)
    row = world.result(0)
    more = {"cached_tokens": 40, "reasoning_tokens": 4, "retries": 1, "seconds": 2.0}
    calls = tuple(call.model_copy(update=more) for call in row.result.calls)
    result = row.result.model_copy(update={"calls": calls})
    rebuild(Source(results=[row.model_copy(update={"result": result})], sets=world.source().sets), path)
    (found,) = queries.combinations(path)
    assert (found.cached_tokens, found.reasoning_tokens, found.retries, found.model_seconds) == (
        240,
        24,
        6,
        12.0,
    )
    (role,) = found.roles
    assert (role.cached_tokens, role.reasoning_tokens, role.retries, role.seconds) == (240, 24, 6, 12.0)
    accepted = queries.question(path, result.accepted[0].id)
    assert (accepted.cached_tokens, accepted.reasoning_tokens, accepted.retries, accepted.seconds) == (
        80,
        8,
        2,
        4.0,
    )


def test_a_request_shared_by_two_combinations_is_paid_by_one(path: Path, make_world) -> None:
    world = make_world(size=1)
    row = world.result(0)
    other = row.model_copy(update={"combination": row.combination.model_copy(update={"mode": Mode.VISUAL})})
    rebuild(Source(results=[row, other]), path)
    first, second = queries.combinations(path)
    assert (first.calls, first.usd, first.replayed_calls) == (6, 3.0, 0)
    assert (second.calls, second.usd, second.replayed_calls, second.roles) == (0, 0.0, 6, ())


def test_replaced_results_were_paid_too(path: Path, make_world) -> None:
    world = make_world(size=1)
    world.results.append(world.result(0, run_id="r2", later=60, key="other"))
    rebuild(world.source(), path)
    (found,) = queries.combinations(path)
    assert (found.calls, found.usd, found.usd_per_accepted) == (12, 6.0, 3.0)
    assert view(path, "document_costs", "calls, usd") == [(12, 6.0)]
    assert view(path, "question_costs", "calls, usd") == [(2, 1.0), (2, 1.0)]


def test_unknown_prices_are_never_nothing(path: Path, make_world) -> None:
    rebuild(make_world(size=1, usd=None).source(), path)
    (found,) = queries.combinations(path)
    assert (found.usd, found.usd_per_accepted, found.roles[0].usd) == (None, None, None)
    assert found.roles[0].unknown_price_calls == 6
    assert view(path, "document_costs", "usd, unknown_price_calls, usd_per_accepted") == [(None, 6, None)]
    assert view(path, "question_costs", "usd, unknown_price_calls") == [(None, 2), (None, 2)]


def test_money_without_a_question_has_no_price_per_question(path: Path, make_world) -> None:
    rebuild(Source(results=[make_world(size=1).result(0)]), path)
    (found,) = queries.combinations(path)
    assert (found.usd, found.accepted, found.usd_per_accepted, found.tokens_per_accepted) == (
        3.0,
        0,
        None,
        None,
    )


def test_views_are_documented() -> None:
    told = (
        (PROJECT_ROOT / "docs/contracts.md")
        .read_text(encoding="utf-8")
        .split("## The catalog")[1]
        .split("\n## ")[0]
    )
    made = set(re.findall(r"CREATE VIEW (\w+)", sql("views")))
    assert made - set(re.findall(r"`(\w+)`", told)) == {"attempt_calls", "document_calls"}  # parts of others


def test_a_verdict_that_was_asked_for_twice_is_spent_once(path: Path, make_world) -> None:
    """While the batch strategy makes a question it asks the judge what the report asks again."""
    world = make_world(size=1)
    calls = (call("d0", 1, "k-0-1-0", 0.5), call("d0", 1, "only-the-report", 0.5, "judge"))
    grading = AnswerGrade(is_grounded=True, confidence=1.0, method="hybrid", calls=calls)
    graded = GradedAnswer(id="q-1", question="What is 0?", answer="42", grading=grading)
    grades = report(
        [grade_document("d0", "d0", [graded])],
        corpus="c",
        scenario="s",
        mode=Mode.TEXTUAL,
        method=Method.HYBRID,
        run_id="r1",
    )
    rebuild(replace(world.source(), reports=iter([grades])), path)
    assert view(path, "question_costs", "calls, usd", "attempt = 1") == [(3, 1.5)]
    (lineage,) = view(path, "question_lineage", "document_calls", "attempt = 1")
    assert lineage == (7,)


def test_tokens_that_no_server_counted_are_never_nothing(path: Path, make_world) -> None:
    world = make_world(size=1, usd=None)
    row = world.result(0)
    tokens = {"input_tokens": 0, "output_tokens": 0}

    def known(*lost: int) -> queries.Row:
        calls = tuple(
            one.model_copy(update=tokens if place in lost else {})
            for place, one in enumerate(row.result.calls)
        )
        result = row.result.model_copy(update={"calls": calls})
        rebuild(Source(results=[row.model_copy(update={"result": result})]), path)
        return queries.combinations(path)[0]

    count = len(row.result.calls)
    (role,) = (found := known(*range(count))).roles
    assert (found.input_tokens, found.output_tokens, found.tokens_per_accepted) == (None, None, None)
    assert (role.input_tokens, role.uncounted_calls, found.uncounted_calls) == (None, count, count)
    (role,) = (found := known(0)).roles
    assert (role.uncounted_calls, found.uncounted_calls) == (1, 1)
    assert found.input_tokens == role.input_tokens == sum(one.input_tokens for one in row.result.calls[1:])


@pytest.mark.parametrize("called", [False, True])
def test_a_document_that_a_budget_ended_costs_at_least_what_is_known(
    path: Path, make_world, called: bool
) -> None:
    row = make_world(size=1).result(0)
    calls = row.result.calls if called else ()
    ended = {"end": DocumentEnd.BUDGET_EXHAUSTED, "calls": calls}
    rebuild(
        Source(
            results=[row.model_copy(update={"result": row.result.model_copy(update=ended), "partial": True})]
        ),
        path,
    )
    (found,) = queries.combinations(path)
    assert (found.at_least, found.usd) == (True, 3.0 if called else None)
