"""The summary of a combination after a run: one record, one table row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from pydantic import Field
from rich.table import Table

from qagen_dagster.loop.call_totals import unique_prices
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    DocumentEnd,
    GenerationResult,
    QAPair,
    ValidatedSet,
)
from qagen_dagster.records.run import CallSummary


class CombinationReport(Record):
    """The state of one combination, read from the store."""

    combination: str
    documents: int = 0
    outcomes: dict[str, int] = Field(default_factory=dict)
    accepted: int = 0
    distinct: int = 0  # accepted questions with different words
    rejected: dict[str, int] = Field(default_factory=dict)
    model_calls: int = 0
    usd: float | None = 0.0  # None: the price of some calls is unknown
    published: str | None = None


def report(space: Workspace, combination: Combination) -> CombinationReport:
    """Read the state of a combination from the store."""
    store, made, questions = space.store, CandidateSet.key(combination), ValidatedSet.key(combination)
    if store.find_head(made, CandidateSet, CandidateDocument) is None:
        return CombinationReport(combination=combination.key)
    validated = store.find_head(questions, ValidatedSet, QAPair)
    removed = validated.removed if validated else ()
    asked = asked_questions(space, combination) if validated else []
    rejected = Counter(one.rejection_reason.value for one in removed)
    outcomes: Counter[str] = Counter()

    def read() -> Iterator[CallSummary]:
        for document in store.rows(made, CandidateSet, CandidateDocument):
            outcomes[document.end.value] += 1
            if document.result_key is not None:
                result = store.read(document.result_key, GenerationResult)
                rejected.update(one.rejection_reason.value for one in result.rejected)
                yield from result.calls

    prices = unique_prices(chain(read(), validated.calls if validated else ()))
    key = CorpusGenerationResult.key(combination)
    return CombinationReport(
        combination=combination.key,
        documents=outcomes.total(),
        outcomes=dict(outcomes),
        accepted=len(asked),
        distinct=len(set(asked)),
        rejected=dict(rejected.most_common()),
        model_calls=len(prices),
        usd=_sum(prices, complete=DocumentEnd.BUDGET_EXHAUSTED.value not in outcomes),
        published=space.store.path(key) if space.store.exists(key) else None,
    )


def asked_questions(space: Workspace, combination: Combination) -> list[str]:
    """The normalised texts of the accepted questions."""
    rows = space.store.rows(ValidatedSet.key(combination), ValidatedSet, QAPair)
    return [normalise(one.question) for one in rows]


def distinct_questions(space: Workspace, reports: Sequence[CombinationReport]) -> int:
    """The number of different questions in all sets together. The textual and the visual set may have the same one."""
    combinations = (Combination.from_key(one.combination) for one in reports if one.accepted)
    return len({text for one in combinations for text in asked_questions(space, one)})


def as_table(reports: Sequence[CombinationReport]) -> Table:
    """The reports as a terminal table that fits 80 columns."""
    table = Table(title="Question sets", show_lines=True)
    table.add_column("combination", overflow="fold", ratio=1)
    for name in ("documents", "accepted", "rejected", "calls", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in reports:
        details = (
            f"documents by outcome: {_counts(one.outcomes)}\nrejected by reason: {_counts(one.rejected)}"
        )
        table.add_row(
            f"[bold]{one.combination}[/bold]\n[dim]{details}[/dim]",
            str(one.documents),
            str(one.accepted),
            str(sum(one.rejected.values())),
            str(one.model_calls),
            _cost(one),
        )
    return table


def _sum(prices: Sequence[float | None], *, complete: bool) -> float | None:
    """What the calls cost; None if that is unknown, or if nothing is known of calls that a budget ended."""
    known = None if None in prices else round(float(sum(price or 0.0 for price in prices)), 6)
    return known if known or complete else None


def _cost(one: CombinationReport) -> str:
    """A budget may end a candidate whose first calls are paid. The results have no calls of it."""
    if one.usd is None:
        return "unknown"
    least = "at least\n" if DocumentEnd.BUDGET_EXHAUSTED.value in one.outcomes else ""
    return f"{least}${one.usd:.4f}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"
