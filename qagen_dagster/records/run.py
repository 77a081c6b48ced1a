"""What is kept of a Dagster run after it: how it ended, and the outcome of its asset checks."""

from __future__ import annotations

from enum import StrEnum

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import store_key


class RunStatus(StrEnum):
    """How a run ended."""

    STARTED = "started"  # it is running, or its process was killed
    SUCCESS = "success"
    FAILURE = "failure"
    INTERRUPTED = "interrupted"


class CheckOutcome(Record):
    """One evaluation of an asset check."""

    asset: str
    check: str
    partition: str | None
    passed: bool
    severity: str
    at: str  # ISO 8601, UTC
    numbers: dict[str, float | int | str | bool | None]


class Unfinished(Record):
    """The assets of a partition whose last run is not finished, failed, was interrupted or was killed."""

    assets: tuple[str, ...]

    @staticmethod
    def key(path: str) -> str:
        """`path` is the key of the partition."""
        return store_key(f"unfinished/{path}", suffix=".json")


class RunRecord(Record):
    """One run of one partition. Only the run itself writes it, and who finds that its process was killed."""

    run_id: str
    job: str
    assets: tuple[str, ...]
    partition: str
    started: str  # ISO 8601, UTC
    ended: str = ""
    status: RunStatus = RunStatus.STARTED
    error: str = ""  # the first line of the first error
    checks: tuple[CheckOutcome, ...] = ()

    @staticmethod
    def key(run_id: str) -> str:
        return store_key("runs", run_id, "run.json")
