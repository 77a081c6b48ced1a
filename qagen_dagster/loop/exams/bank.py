"""From the results of an exam's parts to its bank: what counts now, without repeats, as files and exports.

The bank is derived: it can be made again from the results at any time, and costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from qagen_dagster.configuration.exams.loading import Exam, find_exam
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.exams.duplicates import repeats
from qagen_dagster.loop.exams.plan import PartPlan, finished_slot
from qagen_dagster.loop.exams.stats import stats_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.exams.registry import BANK_EXPORTERS
from qagen_dagster.records.exams.bank import BankStats, ExamItem, ItemBank, PartSet, RejectedItem
from qagen_dagster.records.exams.item import ExamPart, Severity
from qagen_dagster.records.exams.result import SlotEnd, SlotResult

REPEATS = "repeats"  # the stage that a duplicate is rejected at
REJECTED = "rejected.jsonl"
FILES = ("accepted.jsonl", REJECTED, "logs.jsonl", "stats.json")
EXPORTS = "exports"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Bank:
    """What an exam has now, and which of its files changed."""

    bank: ItemBank
    rejected: tuple[RejectedItem, ...]
    results: tuple[SlotResult, ...]
    stats: BankStats
    paths: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def keep_part(workspace: Workspace, plan: PartPlan, run_id: str, started: str) -> PartSet:
    """Write down which results make up the part from now on."""
    keys: list[str] = []
    finished = 0
    for slot in range(1, plan.slots + 1):
        if finished_slot(workspace, plan, slot) is not None:
            keys.append(plan.result_key(slot))
            finished += 1
        elif workspace.store.find_valid(plan.partial_key(slot), SlotResult) is not None:
            keys.append(plan.partial_key(slot))
    found = PartSet(
        part=plan.part,
        schema_title=plan.schema.title,
        profile=plan.profile_name,
        seed=plan.seed,
        slots=plan.slots,
        models={role.value: spec.name for role, spec in plan.specs.items()},
        fingerprint=plan.configuration,
        results=tuple(keys),
        unfinished=plan.slots - finished,
        run_id=run_id,
        started=started,
        ended=datetime.now(UTC).isoformat(),
    )
    workspace.store.write(plan.part.set_key(), found)
    return found


def part_set(workspace: Workspace, part: ExamPart) -> PartSet | None:
    """What makes up a part; None when it was never run."""
    return workspace.store.find(part.set_key(), PartSet)


def gather(workspace: Workspace, key: str) -> Bank:
    """The bank of exam `key` from its parts' results. Raises ConfigError, StoreError. Writes nothing."""
    exam = find_exam(workspace.settings.corpora, key)
    sets = [found for part in exam.parts() if (found := part_set(workspace, part)) is not None]
    results = tuple(workspace.store.read(one, SlotResult) for found in sets for one in found.results)
    items, repeated = _without_repeats(results)
    rejected = tuple(one.rejected for one in results if one.rejected is not None) + repeated
    bank = ItemBank(exam=key, name=exam.config.name, items=items, timestamp=_latest(items))
    return Bank(bank, rejected, results, stats_of(exam, sets, results, items, repeated))


def publish_bank(workspace: Workspace, key: str, run_id: str) -> Bank:
    """Write the bank's files and all its exports; what changed is kept under the run, too. As `gather`."""
    found = gather(workspace, key)
    files = bank_files(found) | export_files(found.bank)
    changed: list[str] = []
    for path, data in files.items():
        if workspace.store.write_if_changed(ItemBank.file_key(key, path), data):
            changed.append(path)
            if path in FILES:
                workspace.store.write_bytes(ItemBank.history_key(key, run_id, path), data)
    paths = tuple(workspace.store.path(ItemBank.file_key(key, path)) for path in files)
    return Bank(found.bank, found.rejected, found.results, found.stats, paths, tuple(changed))


def bank_files(found: Bank) -> dict[str, bytes]:
    """accepted.jsonl, rejected.jsonl, logs.jsonl and stats.json."""
    logs = [
        {"part": result.part.key, "slot": result.slot, **entry.model_dump(mode="json")}
        for result in found.results
        for entry in result.log
    ]
    lines = (
        [item.model_dump_json() for item in found.bank.items],
        [one.model_dump_json() for one in found.rejected],
        [json.dumps(entry, ensure_ascii=False) for entry in logs],
    )
    texts = ["".join(f"{line}\n" for line in part) for part in lines]
    return dict(
        zip(
            FILES,
            [text.encode() for text in (*texts, found.stats.model_dump_json(indent=1) + "\n")],
            strict=True,
        )
    )


def export_files(bank: ItemBank) -> dict[str, bytes]:
    """The bank in every format, by path beside its files."""
    return {
        f"{EXPORTS}/{path}": data
        for exporter in BANK_EXPORTERS
        for path, data in exporter.export(bank).items()
    }


def schema_library(exam: Exam) -> bytes:
    """The exam's schemas as they were read, for lineage."""
    return (
        json.dumps(
            [one.model_dump(mode="json") for one in exam.schemas.values()], indent=1, ensure_ascii=False
        )
        + "\n"
    ).encode()


def _without_repeats(results: Sequence[SlotResult]) -> tuple[tuple[ExamItem, ...], tuple[RejectedItem, ...]]:
    """Accepted items, and those that ask what an earlier one asks."""
    first: dict[str, SlotResult] = {}
    again: list[tuple[SlotResult, str, str]] = []
    for result in results:
        if result.end is not SlotEnd.ACCEPTED or result.item is None:
            continue
        if result.item.id in first:
            again.append((result, result.item.id, "the questions are the same"))
        else:
            first[result.item.id] = result
    items = [result.item for result in first.values() if result.item is not None]
    for later, (kept, why) in repeats(items).items():
        again.append((first.pop(later), kept, why))
    kept_items = tuple(item for item in items if item.id in first)
    return kept_items, tuple(_repeated(result, other, why) for result, other, why in again)


def _repeated(result: SlotResult, other: str, why: str) -> RejectedItem:
    item = result.item
    if item is None:
        raise ValueError("only an accepted item can be a repeat")
    return RejectedItem(
        exam=item.exam,
        schema_id=item.schema_id,
        schema_title=item.schema_title,
        difficulty=item.difficulty,
        slot=result.slot,
        stage=REPEATS,
        failure_type="duplicate",
        severity=Severity.FIXABLE,
        reasons=(f"it repeats {other}: {why}",),
        idea_plan=item.idea_plan,
        question_package=item.question_package,
        blind_solution=item.blind_solution,
        verifier_report=item.verifier_report,
        style_report=item.style_report,
        models=item.models,
        attempts=item.attempts,
        timestamp=item.timestamp,
    )


def _latest(items: Sequence[ExamItem]) -> datetime:
    """When the newest item was accepted: the same items give the same files."""
    return max((datetime.fromisoformat(item.timestamp) for item in items), default=_NEVER)


def is_part_current(workspace: Workspace, plan: PartPlan) -> bool:
    """Whether running the part again would change nothing. A part that was never run and has no slots is current;
    a damaged record is not."""
    slots, key = range(1, plan.slots + 1), plan.part.set_key()
    found = workspace.store.find_valid(key, PartSet)
    if found is None:
        return plan.slots == 0 and not workspace.store.exists(key)
    wanted = tuple(map(plan.result_key, slots))
    return found.results == wanted and all(finished_slot(workspace, plan, slot) for slot in slots)


def is_bank_current(workspace: Workspace, key: str) -> bool:
    """Whether the bank's files and exports say what the results say, and all can be read. Raises ConfigError."""
    try:
        found = gather(workspace, key)
    except StoreError:
        return False
    files = bank_files(found) | export_files(found.bank)
    return all(workspace.store.get(ItemBank.file_key(key, path)) == data for path, data in files.items())
