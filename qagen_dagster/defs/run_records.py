"""Keeps a record of every run of a partition in the store for the catalog: how it ended, its first error, its checks.

WorkspaceResource writes the record at its set-up and its teardown, so it does not matter what launched the run.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import dagster as dg

from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.shards import by_reason
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.unfinished import mark
from qagen_dagster.records.run import CheckOutcome, RunRecord, RunStatus
from qagen_dagster.settings import EXECUTORS, executor
from qagen_dagster.store import Store

PARTITION_TAG = "dagster/partition"
_PLANNED = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
_MADE = dg.DagsterEventType.ASSET_MATERIALIZATION
_KEPT_EVENTS = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.ASSET_CHECK_EVALUATION}
_LOG = logging.getLogger(__name__)


def open_record(layout: Layout, store: Store, instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """Record that a run of a partition has started. If each op has a process, the time at which the first op started is kept."""
    partition, key = run.tags.get(PARTITION_TAG), RunRecord.key(run.run_id)
    if partition is None:
        return
    try:
        known = store.find_valid(key, RunRecord)
        record = known or RunRecord(
            run_id=run.run_id,
            job=run.job_name,
            assets=tuple(sorted(planned_assets(layout, instance, run))),
            partition=partition,
            started=datetime.now(UTC).isoformat(),
        )
        store.write(key, record.model_copy(update={"status": RunStatus.STARTED, "ended": ""}))
        mark(store, partition, begun=record.assets)
    except (OSError, StoreError) as error:
        _LOG.warning("the catalog will not know this run: %s", error)


def planned_assets(layout: Layout, instance: dg.DagsterInstance, run: dg.DagsterRun) -> set[str]:
    return layout.own(_assets(instance, run, _PLANNED))


def close_record(layout: Layout, store: Store, instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """Record how a run ended, and the results of its checks.

    If each op has a process, only an op that fails, and the op that completes the assets, record this.
    """
    try:
        record = store.find_valid(RunRecord.key(run.run_id), RunRecord)
        if record is None:
            return
        entries = instance.all_logs(run.run_id, of_type=_KEPT_EVENTS)
        events = list(_events(entries))
        failed = any(event.is_step_failure for event in events)
        if (
            not failed
            and executor() != EXECUTORS[0]
            and layout.own(_assets(instance, run, _PLANNED) - _assets(instance, run, _MADE))
        ):
            return
        status = RunStatus.SUCCESS
        if failed:
            status = RunStatus.INTERRUPTED if was_interrupted(events) else RunStatus.FAILURE
        ended = {
            "status": status,
            "error": failure_lines(events)[0] if failed else "",
            "ended": datetime.now(UTC).isoformat(),
            "checks": tuple(_checks(layout, entries)),
        }
        store.write(RunRecord.key(run.run_id), record.model_copy(update=ended))
        if not failed:
            mark(store, record.partition, succeeded=record.assets)
    except (OSError, StoreError) as error:
        _LOG.warning("the catalog will not know how this run ended: %s", error)


def record_killed(store: Store, run_ids: Iterable[str], why: str) -> None:
    """Record that the processes of these runs were killed. Runs that have ended, or have no record in this store, are skipped."""
    for run_id in run_ids:
        record = store.find_valid(RunRecord.key(run_id), RunRecord)
        if record is not None and record.status is RunStatus.STARTED:
            ended = {"status": RunStatus.FAILURE, "error": why, "ended": datetime.now(UTC).isoformat()}
            store.write(RunRecord.key(run_id), record.model_copy(update=ended))


def was_interrupted(events: Iterable[dg.DagsterEvent]) -> bool:
    """Whether a step was interrupted, or the run was interrupted before its first step."""
    name = dg.DagsterExecutionInterruptedError.__name__
    failures = [event for event in events if event.is_step_failure or event.is_run_failure]
    errors = (
        event.step_failure_data.error if event.is_step_failure else event.job_failure_data.error
        for event in failures
    )
    return any(error is not None and name in (error.cls_name or "", error.message) for error in errors)


def failure_lines(events: Iterable[dg.DagsterEvent]) -> list[str]:
    """The errors of a failed run, one line each."""
    lines: list[str] = []
    sums: Counter[str] = Counter()  # numbers of failed documents, by the text that follows the number
    reasons: dict[str, str] = {}
    for event in events:
        if event.is_step_failure:
            data = event.step_failure_data
            error = data.error
            while error is not None and error.cause is not None and not _is_ours(error.message):
                error = error.cause
            line = _in_one_line(error.message if error else event.message or "failed")
            if data.user_failure_data is not None and data.user_failure_data.metadata:
                number, _, text = line.partition(" ")
                sums[text] += int(number)
                found = data.user_failure_data.metadata.items()
                reasons |= {name: str(value.value) for name, value in found}
            else:
                lines.append(line)
    lines += [f"{number} {text}" for text, number in sums.items()]
    lines += [f"{names}: {why}" for names, why in by_reason(reasons).items()]
    return lines or ["the run failed"]


def _assets(
    instance: dg.DagsterInstance, run: dg.DagsterRun, kind: dg.DagsterEventType
) -> set[dg.AssetKey | None]:
    return {event.asset_key for event in _events(instance.all_logs(run.run_id, of_type=kind))}


def _checks(layout: Layout, entries: Iterable[dg.EventLogEntry]) -> Iterator[CheckOutcome]:
    for entry in entries:
        event = entry.dagster_event
        if event is not None and event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            found = event.asset_check_evaluation_data
            names = layout.own([found.asset_key])
            if found.partition is None or not names:  # the check is of the whole project, or of another graph
                continue
            values = {name: one.value for name, one in found.metadata.items()}
            yield CheckOutcome(
                asset=names.pop(),
                check=found.check_name,
                partition=found.partition,
                passed=found.passed,
                severity=found.severity.value,
                at=datetime.fromtimestamp(entry.timestamp, UTC).isoformat(),
                numbers={
                    name: value if isinstance(value, float | int | str) else None
                    for name, value in values.items()
                },
            )


def _events(entries: Iterable[dg.EventLogEntry]) -> Iterator[dg.DagsterEvent]:
    return (entry.dagster_event for entry in entries if entry.dagster_event is not None)


def _in_one_line(message: str) -> str:
    """An error on one line. Errors of this package are shown without their class, because their texts are written for people."""
    kind, _, text = " ".join(message.split()).partition(": ")
    return text if _is_ours(message) else f"{kind}: {text}" if text else kind


def _is_ours(message: str) -> bool:
    """Whether an error is from this package, or is a Failure. Their messages suffice, so their causes are not shown."""
    kind = message.partition(":")[0]
    return kind.startswith("qagen_dagster.errors.") or kind.endswith(f".{dg.Failure.__name__}")
