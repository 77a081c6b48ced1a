"""The records of a run: its model calls, the results of asking models, the end of the run, and its asset checks.

The requests and responses of the calls are in the ledger.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, Self, TypeVar

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import store_key


class CallSummary(Record):
    """The counts and the cost of one model call, without its content and without secrets."""

    request_key: str  # hash of the request, which is the key of its response in the ledger
    role: str
    model: str
    document_id: str
    attempt: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0  # of the input
    reasoning_tokens: int = 0  # of the output
    usd: float | None = None  # None: the price is unknown, or the server did not count the tokens
    seconds: float = 0.0
    retries: int = 0
    replayed: bool = False  # served from the ledger: nothing was paid
    cache_write_tokens: int = 0  # of the input
    unused: bool = False  # the call was made in advance for a step that was then not needed
    # If the server did not count the tokens: the amounts that the budgets of the document count for the call.
    charged_usd: float | None = None
    charged_tokens: int | None = None


class Usage(NamedTuple):
    """The values of a call that are added up. A tuple takes a fifth of the memory of a record, and a large corpus has a million calls."""

    role: str
    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_write_tokens: int
    usd: float | None
    seconds: float
    retries: int
    replayed: bool
    unused: bool

    @classmethod
    def of(cls, call: CallSummary) -> Self:
        return cls(*(getattr(call, name) for name in cls._fields))


def cost_of(calls: Iterable[CallSummary | Usage]) -> float | None:
    """The sum of the prices of calls; None if one of them is unknown."""
    prices = [call.usd for call in calls]
    return None if None in prices else float(sum(price or 0.0 for price in prices))


ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Outcome(Generic[ResultT]):
    """The result of asking a model, or in `failure` the reason for its absence, with the calls that were made for it.

    `calls` is empty if the caller itself records the calls of its model.
    """

    result: ResultT | None
    failure: str = ""
    calls: tuple[CallSummary, ...] = ()


class RunStatus(StrEnum):
    STARTED = "started"  # the run is not over, or its process was killed
    SUCCESS = "success"
    FAILURE = "failure"
    INTERRUPTED = "interrupted"


class CheckOutcome(Record):
    """The outcome of one asset check. `numbers` has the metadata of the check; values that are neither numbers nor text are None."""

    asset: str
    check: str
    partition: str | None
    passed: bool
    severity: str
    at: str  # ISO 8601, UTC
    numbers: dict[str, float | int | str | bool | None]


class Unfinished(Record):
    """The assets of a partition that have not succeeded since their last run began."""

    assets: tuple[str, ...]

    @staticmethod
    def key(path: str) -> str:
        """The key of the record. `path` is the key of the partition."""
        return store_key(f"unfinished/{path}", suffix=".json")


class RunRecord(Record):
    """One run of one partition. The run writes the record itself. If the run was killed, a later process completes the record."""

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
