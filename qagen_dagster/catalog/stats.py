"""Queries of the catalog with typed answers, also for comparing two runs, profiles or versions of published sets.
Each function reads one finished snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import duckdb
from pydantic import AwareDatetime, BeforeValidator, Field

from qagen_dagster.catalog.database import snapshot, sql
from qagen_dagster.errors import StoreError
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, normalise
from qagen_dagster.records.questions.results import Evidence


def _aware(value: object) -> object:
    """The database holds timestamps in UTC, without a zone."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _parsed(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


Utc = Annotated[AwareDatetime, BeforeValidator(_aware)]
Count = Annotated[int, Field(ge=0)]


class RoleCost(Record):
    """What was spent on one role of a combination; each request counts once."""

    combination: str
    role: str
    model: str
    calls: Count
    input_tokens: Count | None  # None: no server counted them
    cached_tokens: Count | None  # of the input
    cache_write_tokens: Count | None = 0  # of the input, too
    output_tokens: Count | None  # None: no server counted them
    reasoning_tokens: Count | None  # of the output
    usd: float | None  # None: no price is known
    unknown_price_calls: Count  # calls that usd leaves out
    seconds: float
    retries: Count
    uncounted_calls: Count = 0  # that tokens leave out


class CombinationStats(Record):
    """The results, the cost and the latest run of one combination."""

    combination: str
    corpus: str
    scenario: str
    mode: Mode
    run_id: str | None
    run_status: str | None
    run_started: Utc | None
    run_ended: Utc | None
    profile: str | None
    fingerprint: str | None
    documents: Count  # of the corpus, usable or not
    documents_done: Count  # with an outcome in this combination
    outcomes: dict[str, int]
    candidates: Count
    accepted: Count  # in the validated set
    rejected: Count
    rejected_by_reason: dict[str, int]
    validated: Count  # candidates with a verdict
    pass_rate: float | None  # share of these that passed; None: none was validated
    calls: Count  # each request counts once, also in the fields below
    replayed_calls: Count  # calls answered from the ledger: nothing was paid
    input_tokens: Count | None  # None: no server counted them
    cached_tokens: Count | None  # of the input
    cache_write_tokens: Count | None = 0  # of the input, too
    output_tokens: Count | None  # None: no server counted them
    reasoning_tokens: Count | None  # of the output
    retries: Count
    uncounted_calls: Count = 0  # that tokens leave out
    usd: float | None  # None: no price is known
    at_least: bool = False  # documents failed, or a budget ended them: calls of these may be missing in calls, tokens and usd
    unknown_price_share: float  # share of the calls that usd leaves out
    usd_per_accepted: float | None  # of all spending; None: nothing was accepted, or a price is unknown
    tokens_per_accepted: float | None  # input and output; None: nothing was accepted, or tokens are unknown
    model_seconds: float
    roles: tuple[RoleCost, ...] = ()


class CorpusStatus(Record):
    corpus: str
    documents: Count
    outcomes: dict[str, int]
    pages: Count
    visuals: Count


class CatalogStatus(Record):
    built_at: Utc
    schema_version: int
    questions: Count
    distinct_questions: Count = 0  # with different words
    corpora: tuple[CorpusStatus, ...]
    combinations: tuple[CombinationStats, ...]


class LineageCall(Record):
    """One model call behind a question. `stage` is document, corpus (corpus-wide deduplication) or grading."""

    stage: str
    role: str
    model: str
    request_key: str
    run_id: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int = 0
    reasoning_tokens: int
    usd: float | None
    seconds: float | None
    retries: int
    replayed: bool


class QuestionLineage(Record):
    """A published question and its lineage. None: unknown."""

    question_id: str
    combination: str
    corpus: str
    scenario: str
    mode: Mode
    question: str
    answer: str
    question_type: str | None
    content_refs: tuple[str, ...]
    evidence: Annotated[tuple[Evidence, ...], BeforeValidator(_parsed)]
    source_document: str
    document_id: str
    document_version: str | None
    document_sha256: str | None
    document_unchanged: bool | None  # whether the corpus still has the version that was used
    document_format: str | None
    document_title: str | None
    generator_model: str
    validator_model: str
    deduplicator_model: str | None
    models: dict[str, str] | None
    prompt_hashes: dict[str, str] | None
    profile: str | None
    fingerprint: str
    run_id: str | None  # the run that generated it
    set_run_id: str  # the run that put it into the validated set
    run_started: Utc | None
    run_ended: Utc | None
    run_status: str | None
    recorded_at: Utc | None
    attempt: int
    blind_answer: str | None
    verdict_explanation: str | None
    verdict_passed: bool | None
    leaked: bool | None  # whether a model answered it without its document; None: unknown
    calls: int  # of the attempt that proposed the question
    input_tokens: int | None  # of these calls; None: no server counted them
    cached_tokens: int | None
    cache_write_tokens: int | None = 0
    output_tokens: int | None
    reasoning_tokens: int | None
    usd: float | None  # None: no price is known
    unknown_price_calls: int
    uncounted_calls: int = 0
    seconds: float
    retries: int
    document_calls: int  # of all attempts at its document, also of failed ones
    document_usd: float | None
    model_calls: tuple[LineageCall, ...] = ()

    @property
    def tokens(self) -> str:
        least = "at least " if self.uncounted_calls else ""
        return (
            "unknown"
            if self.input_tokens is None
            else f"{least}{self.input_tokens} in, {self.output_tokens} out"
        )


def combinations(catalog: Path) -> tuple[CombinationStats, ...]:
    """One entry per combination, sorted by key. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        return _combinations(connection)


_LATEST = "SELECT combination, max_by(run_id, (started, run_id)) AS run_id FROM runs WHERE collected GROUP BY combination"


def known_runs(catalog: Path) -> tuple[set[str], dict[str, str]]:
    """The ids of the runs whose end the catalog knows, and by combination the run that made its latest set.

    Raises StoreError when there is no catalog.
    """
    with snapshot(catalog) as connection:
        ended = query(connection, "SELECT run_id FROM runs WHERE status <> 'started'")
        made = query(connection, _LATEST)
    return {row["run_id"] for row in ended}, {row["combination"]: row["run_id"] for row in made}


def status(catalog: Path) -> CatalogStatus:
    """Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        info = query(connection, "SELECT schema_version, built_at FROM catalog_info")[0]
        found = _combinations(connection)
        return CatalogStatus(
            **info,
            questions=sum(entry.accepted for entry in found),
            distinct_questions=len(
                {normalise(row["question"]) for row in query(connection, "SELECT question FROM questions")}
            ),
            corpora=tuple(CorpusStatus(**row) for row in query(connection, sql("corpora"))),
            combinations=found,
        )


class RunStats(Record):
    """One run of a combination. `added` are the accepted questions of the documents that it worked on."""

    run_id: str
    combination: str
    started: datetime | None
    status: str | None
    error: str | None
    profile: str | None
    documents: int
    accepted: int
    added: int
    usd: float | None  # None: a price is unknown
    usd_per_added: float | None


def runs(catalog: Path) -> tuple[RunStats, ...]:
    """All runs of combinations, the newest first. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        return tuple(RunStats(**row) for row in query(connection, sql("runs")))


class FormerQuestion(Record):
    """A question of an older version of a set."""

    question_id: str
    combination: str
    version: int
    run_id: str | None
    question: str
    answer: str
    source_document: str
    evidence: Any


def former_question(catalog: Path, question_id: str) -> FormerQuestion | None:
    """The question whose id begins with `question_id`, in the newest older set that has one. Raises StoreError without a catalog."""
    with snapshot(catalog) as connection:
        rows = query(connection, sql("former_question"), [question_id]) if question_id else []
        return FormerQuestion(**rows[0]) if rows else None


class UnknownQuestionError(StoreError):
    """The catalog has no such question."""


def question(catalog: Path, question_id: str) -> QuestionLineage:
    """The full lineage of a question. `question_id` may be the beginning of an id if only one id begins so.

    Raises StoreError when there is no catalog, or when no question or more than one matches.
    """
    with snapshot(catalog) as connection:
        rows = query(connection, sql("question"), [question_id]) if question_id else []
        if not rows:
            raise UnknownQuestionError(f"there is no question {question_id!r} in {catalog}")
        if len(rows) > 1 and rows[0]["question_id"] != question_id:
            raise StoreError(f"more than one question begins with {question_id!r}: give more of its id")
        row = rows[0]
        calls = _calls(connection, row["combination"], row["document_id"], row["attempt"])
        return QuestionLineage(**row, model_calls=calls)


def attempt_calls(catalog: Path, combination: str, document_id: str, attempt: int) -> tuple[LineageCall, ...]:
    """The model calls of one attempt at a document. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        return _calls(connection, combination, document_id, attempt)


def attempt_costs(catalog: Path, combination: str) -> dict[tuple[str, int], float | None]:
    """The cost of the calls of each attempt, by document and number; None: no price is known. Raises StoreError without a catalog."""
    statement = "SELECT document_id, attempt, usd FROM attempt_calls WHERE combination = $1"
    with snapshot(catalog) as connection:
        rows = query(connection, statement, [combination])
    return {(row["document_id"], row["attempt"]): row["usd"] for row in rows}


def _calls(
    connection: duckdb.DuckDBPyConnection, combination: str, document_id: str, attempt: int
) -> tuple[LineageCall, ...]:
    rows = query(connection, sql("question_calls"), [combination, document_id, attempt])
    return tuple(LineageCall(**row) for row in rows)


def _combinations(connection: duckdb.DuckDBPyConnection) -> tuple[CombinationStats, ...]:
    roles = [RoleCost(**row) for row in query(connection, sql("roles"))]
    return tuple(
        CombinationStats(**row, roles=tuple(one for one in roles if one.combination == row["combination"]))
        for row in query(connection, sql("combinations"))
    )


def query(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Sequence[object] = ()
) -> list[dict[str, Any]]:
    """The rows of a statement, by column name."""
    result = connection.execute(statement, list(parameters))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, values, strict=True)) for values in result.fetchall()]


class Side(Record):
    """A run of a combination, and the version of the published set after it. None: not known."""

    combination: str
    run_id: str | None
    version: int | None
    started: Utc | None
    ended: Utc | None
    status: str | None
    profile: str | None
    documents: int | None
    reused_documents: int | None
    candidates: int | None
    accepted: int | None
    rejected: int | None
    rejected_by_reason: dict[str, int]
    validated: int | None
    pass_rate: float | None
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    unknown_price_calls: int | None


class OneSided(Record):
    """A question that is in the set of one side only.

    The last four fields are set if the question was retired: the reason, and each quote with the text around it, before and now.
    """

    question_id: str
    source_document: str
    question: str
    answer: str
    reason: str | None = None
    detail: str | None = None
    text_before: tuple[str, ...] | None = None
    text_now: tuple[str, ...] | None = None


class Version(Record):
    """A version of a published set, and the run that made it. None: not known."""

    version: int
    published: Utc
    questions: int
    run_id: str | None
    profile: str | None


class Comparison(Record):
    """Two sides of one combination."""

    first: Side
    second: Side
    in_both: int  # questions; 0 also when a side has no set
    only_in_first: tuple[OneSided, ...]
    only_in_second: tuple[OneSided, ...]


def versions(catalog: Path, combination: str) -> tuple[Version, ...]:
    """The versions of a published set, the latest first. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        return tuple(Version(**row) for row in query(connection, sql("versions"), [combination]))


def compare(catalog: Path, first: str, second: str) -> tuple[Comparison, ...]:
    """Compare what `first` and `second` name, for each combination that both have.

    Raises StoreError when there is no catalog, a name is unknown or ambiguous, or they have no combination in common.
    """
    with snapshot(catalog) as connection:
        left, right = _sides(connection, first), _sides(connection, second)
        common = sorted(left.keys() & right.keys())
        if not common:
            raise StoreError(f"{first} and {second} have no combination in common")
        return tuple(_compared(connection, left[key], right[key]) for key in common)


def _sides(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Side]:
    found = [Side(**row) for row in query(connection, sql("sides"), [name])] if name else []
    if not found:
        raise StoreError(
            f"there is no run, profile or version {name!r} in the catalog; a version is corpus/scenario/mode@number"
        )
    sides = {one.combination: one for one in found}
    if len(sides) < len(found):
        raise StoreError(f"more than one run begins with {name!r}: give more of its id")
    return sides


def _compared(connection: duckdb.DuckDBPyConnection, first: Side, second: Side) -> Comparison:
    rows = query(connection, sql("only_in"), [first.combination, first.version, second.version])
    (common,) = query(connection, sql("in_both"), [first.combination, first.version, second.version])
    found: dict[int, list[OneSided]] = {}
    for row in rows:
        found.setdefault(row.pop("only_in"), []).append(OneSided(**row))
    return Comparison(
        first=first,
        second=second,
        in_both=common["questions"],
        only_in_first=tuple(found.get(first.version or 0, ())),
        only_in_second=tuple(found.get(second.version or 0, ())),
    )
