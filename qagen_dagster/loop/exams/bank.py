"""Builds the item bank of an exam from the results of its parts: items without duplicates, counts, files and exports.

It also tells which parts of an exam are out of date, and why. A part that was never made is not out of date.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from qagen_dagster.configuration.exams import Exam, find_exam
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.configuration import Configuration, model_names, model_settings, what_changed
from qagen_dagster.loop.exams.duplicates import find_duplicates
from qagen_dagster.loop.exams.plan import ExamOptions, PartPlan, finished_slot, part_set, plan_part
from qagen_dagster.loop.exams.run_part import result_keys
from qagen_dagster.loop.exams.state_machine import finding_of
from qagen_dagster.loop.figures import Drawing, draw_figures
from qagen_dagster.loop.review_decisions import edits_of, rejections_of
from qagen_dagster.loop.shared_budget import unique_calls
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.exams.formats import BANK_EXPORTERS
from qagen_dagster.publishing.markup import exported
from qagen_dagster.records.decisions import BY_REVIEWER, Decision, exam_key
from qagen_dagster.records.exams.bank import (
    DUPLICATE_STAGE,
    REJECTED,
    REVIEW_STAGE,
    BankStats,
    Counts,
    ExamItem,
    ItemBank,
    PartSet,
    RejectedItem,
    SlotEnd,
    SlotResult,
    Stage,
)
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.submissions import ExamPart, Severity
from qagen_dagster.records.run import cost_of

FILES = ("accepted.jsonl", REJECTED, "logs.jsonl", "stats.json")
EXPORTS = "exports"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def stats_of(
    exam: Exam,
    sets: Sequence[PartSet],
    results: Sequence[SlotResult],
    items: Sequence[ExamItem],
    left_out: Sequence[RejectedItem],
) -> BankStats:
    """The counts of a whole exam. `left_out` has the items that passed all checks, but are not in the bank."""
    rejected = [*(one.rejected for one in results if one.rejected is not None), *left_out]
    every: list[tuple[str, str, str]] = [
        (item.schema_id, item.difficulty.value, kind)
        for kind, group in (("accepted", items), ("rejected", rejected))
        for item in group
    ]
    calls = unique_calls(call for result in results for call in result.calls)
    return BankStats(
        exam=exam.key,
        name=exam.config.name,
        accepted=len(items),
        rejected=len(rejected),
        unfinished=sum(one.unfinished for one in sets),
        by_schema=_counts((schema, kind) for schema, _, kind in every),
        by_difficulty=_counts((difficulty, kind) for _, difficulty, kind in every),
        by_part=_counts((f"{schema}/{difficulty}", kind) for schema, difficulty, kind in every),
        failure_types=dict(Counter(one.failure_type for one in rejected)),
        caught_by=caught_by(results, exam.config.thresholds) | Counter(one.stage for one in left_out),
        proofs=dict(Counter(item.proof.status.value for item in items)),
        keys_by=dict(Counter(item.key_by for item in items)),
        first_time=sum(item.attempts == 1 for item in items),
        attempts=sum(len(result.attempts) for result in results),
        calls=len(calls),
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        usd=cost_of(calls),
        models=_models(sets, results),
    )


def caught_by(results: Iterable[SlotResult], thresholds: StyleThresholds) -> dict[str, int]:
    """The number of failed attempts and failed designs, by the check that found the failure."""
    found: Counter[str] = Counter()
    for result in results:
        found[Stage.DESIGNER.value] += result.plan is None and result.rejected is not None
        findings = (finding_of(attempt, thresholds) for attempt in result.attempts)
        found.update(finding.stage.value for finding in findings if finding is not None)
    return dict(+found)


def _counts(pairs: Iterable[tuple[str, str]]) -> dict[str, Counts]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, kind in pairs:
        found[name][kind] += 1
    return {
        name: Counts(accepted=counts["accepted"], rejected=counts["rejected"])
        for name, counts in sorted(found.items())
    }


def _models(sets: Sequence[PartSet], results: Sequence[SlotResult]) -> dict[str, list[str]]:
    """The models by role.

    `results` must contain the results of the sets, in the order of the sets. It may also contain results of other parts.
    """
    found: dict[str, set[str]] = defaultdict(set)
    parts = [one.part for one in sets]
    listed = [result for result in results if result.part in parts]
    keys = ((one, key) for one in sets for key in one.results)
    of_results = (
        made.models_of(key, one.item or one.rejected) for (made, key), one in zip(keys, listed, strict=True)
    )
    for models in (*(one.models for one in sets if one.slots), *of_results):
        for role, model in models.items():
            found[role].add(model)
    return {role: sorted(models) for role, models in sorted(found.items())}


@dataclass(frozen=True)
class Bank:
    """The current bank of an exam. After publication, `paths` has the paths of its files, and `changed` the names of changed files."""

    bank: ItemBank
    rejected: tuple[RejectedItem, ...]
    results: tuple[SlotResult, ...]
    stats: BankStats
    sets: tuple[PartSet, ...]
    paths: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def keep_part(workspace: Workspace, plan: PartPlan, run_id: str, started: str) -> PartSet:
    """Store the list of results that the part has from now on.

    A run that replaces the results of a stored set stores nothing until all slots have ended. An unchanged set is not stored again.
    """
    keys = result_keys(workspace, plan)
    former = part_set(workspace, plan.part)
    slots = max([plan.slots, *keys, 0 if former is None or plan.replace else former.slots])
    found = PartSet(
        part=plan.part,
        schema_title=plan.schema.title,
        profile=plan.profile_name,
        seed=plan.seed,
        slots=slots,
        models={role.value: spec.name for role, spec in plan.specs.items()},
        fingerprint=plan.configuration,
        results=tuple(keys.values()),
        given=plan.given,
        run_id=run_id,
        started=started,
        ended=datetime.now(UTC).isoformat(),
    )
    found = found.model_copy(update={"unfinished": slots - len(found.finished)})
    if former is not None and (
        (plan.replace and found.unfinished)
        or (former.results, former.slots, former.unfinished) == (found.results, found.slots, found.unfinished)
    ):
        return former
    workspace.store.write(plan.part.set_key(), found)
    return found


def gather(workspace: Workspace, key: str, *, former: bool = True, draw: bool = False) -> Bank:
    """Build the bank of exam `key` from the results of its parts. Raises ConfigError and StoreError.

    `former=False` leaves out the results of `former_parts`. Writes nothing unless `draw`: then missing pictures are drawn and stored.
    """
    exam = find_exam(workspace.settings.corpora, key)
    parts = (*exam.parts(), *(former_parts(workspace, exam) if former else ()))
    lines = workspace.store.get(ItemBank.file_key(key, FILES[0])) or b""
    published = {one.decode() for one in re.findall(rb'^\{"id":"([^"]+)"', lines, re.MULTILINE)}
    by_part = {part: part_set(workspace, part) for part in parts}
    sets = tuple(one for one in by_part.values() if one is not None)
    results = tuple(
        result for part, found in by_part.items() for result in _results(workspace, part, found, published)
    )
    results = _with_edits(results, edits_of(workspace, exam_key(key)))
    kept, withdrawn = _without_rejections(results, rejections_of(workspace, exam_key(key)))
    items, duplicates = _without_duplicates(kept, published)
    left_out = (*duplicates, *withdrawn)
    rejected = (*(result.rejected for result in results if result.rejected is not None), *left_out)
    figures = draw_figures(workspace, map(Drawing, item_texts(items).values()), draw=draw)
    # exports have the date of the newest item, so that the same items give the same files
    newest = max((datetime.fromisoformat(item.timestamp) for item in items), default=_NEVER)
    bank = ItemBank(exam=key, name=exam.config.name, items=items, timestamp=newest, figures=figures)
    return Bank(bank, rejected, results, stats_of(exam, sets, results, items, left_out), sets)


def item_texts(items: Iterable[ExamItem]) -> dict[str, str]:
    """The stem and the options of items, by their ids."""
    return {item.id: "\n".join((item.question.stem, *item.question.options.values())) for item in items}


def _results(
    workspace: Workspace, part: ExamPart, found: PartSet | None, published: Collection[str]
) -> list[SlotResult]:
    """The results of a part. If its set is damaged, these are the results whose items are published."""
    store = workspace.store
    if found is not None:
        return [store.read(result, SlotResult) for result in found.results]
    if not store.exists(part.set_key()):
        return []
    whole = (store.find_valid(key, SlotResult) for key in store.list(part.results_folder()))
    kept = [one for one in whole if one is not None and one.item is not None and one.item.id in published]
    return sorted(kept, key=lambda one: one.slot)


def former_parts(workspace: Workspace, exam: Exam) -> tuple[ExamPart, ...]:
    """The parts that have results, but are no longer in the exam, because their schema or difficulty was removed."""
    keys = (key.split("/")[-2:] for key in workspace.store.list(f"exams/{exam.key}/sets"))
    parts = (
        ExamPart.from_key(f"{exam.key}/{schema}/{name.removesuffix('.json')}")
        for schema, name in keys
        if name.endswith(".json")
    )
    known = set(exam.parts())
    return tuple(part for part in parts if part not in known)


def publish_bank(workspace: Workspace, key: str, run_id: str, *, replace: bool = False) -> Bank:
    """Write the bank's files and all its exports. Changed files are also kept in the history of the run. Raises as `gather` does.

    `replace` also removes the items of `former_parts`.
    """
    found = gather(workspace, key, former=not replace, draw=True)
    files = bank_files(found) | export_files(found.bank)
    changed: list[str] = []
    for path, data in files.items():
        if workspace.store.write_if_changed(ItemBank.file_key(key, path), data):
            changed.append(path)
            if path in FILES:
                workspace.store.write_bytes(ItemBank.history_key(key, run_id, path), data)
    for part in former_parts(workspace, find_exam(workspace.settings.corpora, key)) if replace else ():
        workspace.store.remove(part.set_key())
    paths = tuple(workspace.store.path(ItemBank.file_key(key, path)) for path in files)
    return Bank(found.bank, found.rejected, found.results, found.stats, found.sets, paths, tuple(changed))


def bank_files(found: Bank) -> dict[str, bytes]:
    """The contents of accepted.jsonl, rejected.jsonl, logs.jsonl and stats.json, by name."""
    logs = [
        {"part": result.part.key, "slot": result.slot, **entry.model_dump(mode="json")}
        for result in found.results
        for entry in result.log
    ]
    lines = (
        [item.model_dump_json() for item in found.bank.items],
        [one.model_dump_json() for one in found.rejected],
        [json.dumps(entry, ensure_ascii=False) for entry in logs],
        [found.stats.model_dump_json(indent=1)],
    )
    texts = ["".join(f"{line}\n" for line in part).encode() for part in lines]
    return dict(zip(FILES, texts, strict=True))


def export_files(bank: ItemBank) -> dict[str, bytes]:
    """The bank in every format, by path relative to its files."""
    return {
        f"{EXPORTS}/{path}": data
        for exporter in BANK_EXPORTERS
        for path, data in exported(exporter.export(bank), bank.figures).items()
    }


def schema_library(exam: Exam) -> bytes:
    """The schemas of the exam as they were read, as a list in JSON."""
    rows = [schema.model_dump(mode="json") for schema in exam.schemas.values()]
    return f"{json.dumps(rows, indent=1, ensure_ascii=False)}\n".encode()


def _with_edits(results: Sequence[SlotResult], edits: Mapping[str, Decision]) -> tuple[SlotResult, ...]:
    """The results, with the items that reviewers edited in place of the originals."""
    found = list(results)
    for place, result in enumerate(results):
        edit = None if result.item is None else edits.get(result.item.id)
        if edit is not None:
            item = ExamItem.model_validate_json(edit.new_item)
            item = item.model_copy(update={"edited": edit.reviewer})
            found[place] = result.model_copy(update={"item": item})
    return tuple(found)


def _without_rejections(
    results: Sequence[SlotResult], rejections: Mapping[str, str]
) -> tuple[tuple[SlotResult, ...], tuple[RejectedItem, ...]]:
    """The results without the items that reviewers rejected, and the rejected items."""
    kept: list[SlotResult] = []
    withdrawn: list[RejectedItem] = []
    for result in results:
        why = None if result.item is None else rejections.get(result.item.id)
        if why is None:
            kept.append(result)
        else:
            withdrawn.append(_left_out(result, REVIEW_STAGE, BY_REVIEWER, why))
    return tuple(kept), tuple(withdrawn)


def _without_duplicates(
    results: Sequence[SlotResult], published: Collection[str]
) -> tuple[tuple[ExamItem, ...], tuple[RejectedItem, ...]]:
    """The accepted items without duplicates, and the duplicates. If only one of two duplicates is published, that one is kept."""
    first: dict[str, SlotResult] = {}
    again: list[tuple[SlotResult, str, str]] = []
    for result in sorted(results, key=lambda one: one.item is None or one.item.id not in published):
        if result.end is not SlotEnd.ACCEPTED or result.item is None:
            continue
        if result.item.id in first:
            again.append((result, result.item.id, "the questions are the same"))
        else:
            first[result.item.id] = result
    items = [result.item for result in first.values() if result.item is not None]
    for later, (kept, why) in find_duplicates(items).items():
        again.append((first.pop(later), kept, why))
    kept = {id(result) for result in first.values()}
    kept_items = tuple(one.item for one in results if one.item is not None and id(one) in kept)
    duplicates = (
        _left_out(result, DUPLICATE_STAGE, "duplicate", f"it repeats {other}: {why}")
        for result, other, why in again
    )
    return kept_items, tuple(duplicates)


def _left_out(result: SlotResult, stage: str, failure_type: str, why: str) -> RejectedItem:
    item = result.item
    if item is None:
        raise ValueError("only an accepted item can be left out")
    return RejectedItem(
        **item.shared(RejectedItem),
        slot=result.slot,
        stage=stage,
        failure_type=failure_type,
        severity=Severity.FIXABLE,
        reasons=(why,),
    )


def is_part_current(workspace: Workspace, plan: PartPlan) -> bool:
    """Whether another run of the part would change nothing. True for a part that was never run and has no slots.

    A part whose record is damaged is not current.
    """
    found = part_set(workspace, plan.part)
    if found is None:
        return plan.slots == 0 and not workspace.store.exists(plan.part.set_key())
    if plan.replace:
        wanted = tuple(plan.result_key(slot) for slot in plan.numbers)
        return found.results == wanted and all(finished_slot(workspace, plan, one) for one in plan.numbers)
    return plan.kept == found.finished and all(slot in plan.kept for slot in plan.numbers)


def is_bank_current(workspace: Workspace, key: str) -> bool:
    """Whether the bank's files and exports can all be read and match the results. Raises ConfigError."""
    try:
        found = gather(workspace, key)
    except StoreError:
        return False
    files = bank_files(found) | export_files(found.bank)
    return all(workspace.store.get(ItemBank.file_key(key, path)) == data for path, data in files.items())


def wanted_part(space: Workspace, part: ExamPart, profile: str | None = None) -> Configuration:
    """The configuration with which a run would make the part. Raises ConfigError."""
    plan = _planned(space, part, profile)
    settings = {"thresholds": plan.limits.thresholds.model_dump_json()} | model_settings(dict(plan.specs))
    parts = {"profile": plan.profile_name, **model_names(plan.specs), "seed": str(plan.seed)}
    return Configuration(plan.configuration, parts, settings)


def made_part(space: Workspace, part: ExamPart, wanted: Configuration) -> Configuration | None:
    """`wanted` if the part is not out of date, otherwise the configuration of its last change; None if the part was never made."""
    made = part_set(space, part)
    if made is None:
        return None
    return _made(made) if why_part_outdated(space, part) else wanted


def why_part_outdated(space: Workspace, part: ExamPart) -> tuple[str, ...]:
    """The reasons why a part is out of date, in one line each; empty if it is current or was never made. Raises ConfigError.

    Fewer wanted items are no reason. A part that was made with models from the command line is never out of date,
    because the profile does not tell the cost of another such run.
    """
    made = part_set(space, part)
    if made is None or made.given.models:
        return ()
    plan = _planned(space, part, None)
    if is_part_current(space, plan):
        return ()
    found = what_changed(_made(made), wanted_part(space, part))
    slots = (f"items: {made.slots} → {plan.slots}",) if made.slots != plan.slots else ()
    return (*found, *slots) or (f"{made.unfinished} items are unfinished",)


def _planned(space: Workspace, part: ExamPart, profile: str | None) -> PartPlan:
    """The plan of a run that brings the part up to date."""
    return plan_part(space, part, ExamOptions(profile=profile, refresh=True))


def _made(made: PartSet) -> Configuration:
    return Configuration(made.fingerprint, {"profile": made.profile, **made.models, "seed": str(made.seed)})
