"""The report on an exam in the store, as a record and as a table."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.configuration.exams import Exam
from qagen_dagster.loop.exams.bank import gather
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.bank import BankStats, Counts


class PartReport(Record):
    """One part that was run. Accepted and rejected items are those of the bank, so a duplicate counts as rejected."""

    part: str
    slots: int
    accepted: int
    rejected: int
    unfinished: int
    profile: str
    seed: int
    run_id: str
    ended: str


class ExamReport(Record):
    """One exam. `difficulties` are in the exam's order; `schemas` gives the title of each."""

    exam: str
    difficulties: tuple[str, ...]
    schemas: dict[str, str]
    stats: BankStats
    parts: tuple[PartReport, ...]


def report(space: Workspace, exam: Exam) -> ExamReport:
    """Read the report from the store. Raises ConfigError, StoreError."""
    found = gather(space, exam.key)
    parts: list[PartReport] = []
    for made in found.sets:
        part = made.part
        counts = found.stats.by_part.get(f"{part.schema_id}/{part.difficulty.value}", Counts())
        parts.append(
            PartReport(
                part=part.key,
                slots=made.slots,
                accepted=counts.accepted,
                rejected=counts.rejected,
                unfinished=made.unfinished,
                profile=made.profile,
                seed=made.seed,
                run_id=made.run_id,
                ended=made.ended,
            )
        )
    return ExamReport(
        exam=exam.key,
        difficulties=tuple(one.value for one in exam.config.difficulties),
        schemas={one.id: one.title for one in exam.schemas.values()}
        | {one.part.schema_id: one.schema_title for one in found.sets},
        stats=found.stats,
        parts=tuple(parts),
    )


def show(console: Console, one: ExamReport, assets: str) -> None:
    """Print a table of schemas and difficulties, then the failed attempts and the cost."""
    stats = one.stats
    table = Table(title=f"{escape(stats.name)}: {stats.accepted} accepted items, {stats.rejected} rejected")
    for name in ("schema", *one.difficulties, "accepted"):
        table.add_column(name, justify="left" if name == "schema" else "right")
    for schema, title in one.schemas.items():
        counts = [stats.by_part.get(f"{schema}/{name}", Counts()) for name in one.difficulties]
        every = stats.by_schema.get(schema, Counts())
        table.add_row(f"{schema} {escape(title)}", *map(_share, counts), _share(every))
    console.print(table)
    if stats.caught_by:
        caught = ", ".join(f"{name} {count}" for name, count in sorted(stats.caught_by.items()))
        console.print(f"failed attempts by the step that failed: {caught}")
    if stats.unfinished:
        console.print(f"{stats.unfinished} unfinished items; run `qagen exam run` again to resume")
    if stats.attempts:
        usd = "unknown cost" if stats.usd is None else f"{stats.usd:.4f} USD"
        console.print(f"{stats.attempts} attempts, {stats.calls} model calls, {usd}")
    if stats.accepted:
        console.print(
            f"items: {assets}/exams/{one.exam}/accepted.jsonl; exports: {assets}/exams/{one.exam}/exports/",
            soft_wrap=True,
        )


def _share(counts: Counts) -> str:
    total = counts.accepted + counts.rejected
    return f"{counts.accepted} of {total}" if total else "-"
