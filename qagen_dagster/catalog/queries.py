"""Queries of the catalog, including comparisons of two runs, profiles or versions of published sets. Each function that takes a catalog
reads one finished snapshot, and raises StoreError when there is none. `sql/` has the columns of each result, `comments.toml` their meanings."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from pydantic import TypeAdapter

from qagen_dagster.catalog.database import snapshot, sql
from qagen_dagster.errors import StoreError
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.questions.results import Evidence

_EVIDENCE = TypeAdapter(tuple[Evidence, ...])
_LATEST = "SELECT combination, max_by(run_id, (started, run_id)) AS run_id FROM runs WHERE collected GROUP BY combination"


class Row(dict[str, Any]):
    """A row of the result of a query. Its columns are also attributes. Times are in UTC. None means not known."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def combinations(catalog: Path, *, roles: bool = True) -> tuple[Row, ...]:
    """The results, the cost and the latest run of each combination, sorted by key. With `roles`, each has the cost of each role.

    A request that was replayed counts once.
    """
    with snapshot(catalog) as connection:
        return _combinations(connection, roles=roles)


def known_runs(catalog: Path) -> tuple[set[str], dict[str, str]]:
    """The ids of the runs whose end the catalog knows, and by combination the id of the run that made its latest set."""
    with snapshot(catalog) as connection:
        ended = query(connection, "SELECT run_id FROM runs WHERE status <> 'started'")
        made = query(connection, _LATEST)
    return {row["run_id"] for row in ended}, {row["combination"]: row["run_id"] for row in made}


def status(catalog: Path) -> Row:
    """The number of accepted questions, the number of distinct questions among them, the corpora, and the rows of `combinations`."""
    with snapshot(catalog) as connection:
        info = query(connection, "SELECT built_at, schema_version FROM catalog_info")[0]
        found = _combinations(connection)
        return Row(
            **info,
            questions=sum(entry.accepted for entry in found),
            distinct_questions=len(
                {normalise(row["question"]) for row in query(connection, "SELECT question FROM questions")}
            ),
            corpora=query(connection, sql("corpora")),
            combinations=found,
        )


def runs(catalog: Path) -> list[Row]:
    """All runs of combinations, the newest first. `added` counts the accepted questions of documents whose results the run made."""
    with snapshot(catalog) as connection:
        return query(connection, sql("runs"))


def former_question(catalog: Path, question_id: str) -> Row | None:
    """A question whose id begins with `question_id`, from the newest version of a set that has such a question; None if no version has one."""
    with snapshot(catalog) as connection:
        rows = query(connection, sql("former_question"), [question_id]) if question_id else []
        return rows[0] if rows else None


class UnknownQuestionError(StoreError):
    """The catalog has no such question."""


def question(catalog: Path, question_id: str) -> Row:
    """A published question with its lineage. `question_id` may be the beginning of an id if only one id begins with it.

    `model_calls` has the calls that led to the question. Their `stage` is document, corpus (corpus-wide deduplication) or grading.

    Raises StoreError when no question or more than one matches.
    """
    with snapshot(catalog) as connection:
        rows = query(connection, sql("question"), [question_id]) if question_id else []
        if not rows:
            raise UnknownQuestionError(f"there is no question {question_id!r} in {catalog}")
        if len(rows) > 1 and rows[0]["question_id"] != question_id:
            raise StoreError(f"more than one question begins with {question_id!r}: give more of its id")
        row = rows[0]
        row["evidence"] = _EVIDENCE.validate_json(row.evidence)
        made = [row.combination, row.document_id, row.attempt]
        row["model_calls"] = query(connection, sql("question_calls"), made)
        return row


def told_tokens(row: Row) -> str:
    """The tokens of a question's calls, in words. "at least" means that some calls are not counted, "unknown" that none is counted."""
    least = "at least " if row.uncounted_calls else ""
    return "unknown" if row.input_tokens is None else f"{least}{row.input_tokens} in, {row.output_tokens} out"


def attempt_calls(catalog: Path, combination: str, document_id: str, attempt: int) -> list[Row]:
    """The model calls of one attempt at a document."""
    with snapshot(catalog) as connection:
        return query(connection, sql("question_calls"), [combination, document_id, attempt])


def attempt_costs(catalog: Path, combination: str) -> dict[tuple[str, int], float | None]:
    """The cost of the calls of each attempt, by document and attempt; None: no price is known."""
    statement = "SELECT document_id, attempt, usd FROM attempt_calls WHERE combination = $1"
    with snapshot(catalog) as connection:
        rows = query(connection, statement, [combination])
    return {(row["document_id"], row["attempt"]): row["usd"] for row in rows}


def _combinations(connection: duckdb.DuckDBPyConnection, *, roles: bool = True) -> tuple[Row, ...]:
    spent = query(connection, sql("roles")) if roles else []
    return tuple(
        Row(row, roles=tuple(one for one in spent if one.combination == row.combination))
        for row in query(connection, sql("combinations"))
    )


def query(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Sequence[object] = ()
) -> list[Row]:
    """The rows of the result of a statement."""
    result = connection.execute(statement, list(parameters))
    names = [column[0] for column in result.description or ()]
    return [Row(zip(names, map(_aware, values), strict=True)) for values in result.fetchall()]


def _aware(value: object) -> object:
    """The value; a timestamp gets the zone UTC, because the database holds timestamps in UTC without a zone."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def versions(catalog: Path, combination: str) -> list[Row]:
    """The versions of a published set with the runs that made them, the latest first."""
    with snapshot(catalog) as connection:
        return query(connection, sql("versions"), [combination])


def compare(catalog: Path, first: str, second: str) -> list[Row]:
    """Compare two runs, profiles (their latest runs) or versions (`corpus/scenario/mode@number`). Each common combination has a row.

    Its `first` and `second` are the runs of the sides, with the version of the set after each. `in_both` is the number of questions in both
    versions, 0 if a side has no set. `only_in_first` and `only_in_second` are lists of questions. A retired question has its `reason`, and
    for each quote the text around it before and now.
    Raises StoreError when a name is unknown or ambiguous, or the two have no combination in common.
    """
    with snapshot(catalog) as connection:
        left, right = _sides(connection, first), _sides(connection, second)
        common = sorted(left.keys() & right.keys())
        if not common:
            raise StoreError(f"{first} and {second} have no combination in common")
        return [_compared(connection, left[key], right[key]) for key in common]


def _sides(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Row]:
    found = query(connection, sql("sides"), [name]) if name else []
    if not found:
        raise StoreError(
            f"there is no run, profile or version {name!r} in the catalog; a version is corpus/scenario/mode@number"
        )
    sides = {one.combination: one for one in found}
    if len(sides) < len(found):
        raise StoreError(f"more than one run begins with {name!r}: give more of its id")
    return sides


def _compared(connection: duckdb.DuckDBPyConnection, first: Row, second: Row) -> Row:
    rows = query(connection, sql("only_in"), [first.combination, first.version, second.version])
    (common,) = query(connection, sql("in_both"), [first.combination, first.version, second.version])
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.pop("only_in"), []).append(row)
    return Row(
        first=first,
        second=second,
        in_both=common.questions,
        only_in_first=found.get(first.version or 0, []),
        only_in_second=found.get(second.version or 0, []),
    )
