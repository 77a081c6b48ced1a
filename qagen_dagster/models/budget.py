"""The budgets that limit the cost of model calls, and reservations for calls in flight.

This module checks the allowances of a run, a partition and a document, and counts calls for the display of progress. `call_cost.py` has the
price of a call, `tokens.py` the most tokens that it may take. `loop/shared_budget.py` adds up the spending of all processes, and `loop/`
decides what happens to a document when its budget is exhausted.
"""

import itertools
import threading
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pydantic import Field

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.models.call_cost import usd
from qagen_dagster.models.messages import Usage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Record

_ROUNDING = 1e-9  # US dollars: sums of prices are not exact


class Allowance(Record):
    """The limits of one scope on paid calls. None means no limit. Replayed calls cost nothing."""

    max_usd: float | None = Field(default=None, ge=0)  # US dollars
    max_tokens: int | None = Field(default=None, ge=0)  # input and output together
    max_calls: int | None = Field(default=None, ge=0)

    @property
    def unlimited(self) -> bool:
        return self.max_usd is None and self.max_tokens is None and self.max_calls is None

    @property
    def limits(self) -> "Allowance | None":
        """The limits alone, without the other fields of a subclass; None if there is no limit."""
        found = Allowance(max_usd=self.max_usd, max_tokens=self.max_tokens, max_calls=self.max_calls)
        return None if found.unlimited else found


class Budget(Record):
    """The allowances of the three scopes; a call must be within all of them."""

    # All combinations of one launch: a command or a backfill
    run: Allowance = Field(default_factory=Allowance)
    partition: Allowance = Field(default_factory=Allowance)  # one combination in that launch
    document: Allowance = Field(default_factory=Allowance)  # one document in one combination, over all runs

    @property
    def unlimited(self) -> bool:
        return self.run.unlimited and self.partition.unlimited and self.document.unlimited

    @property
    def counts_money(self) -> bool:
        return any(scope.max_usd is not None for scope in (self.run, self.partition, self.document))


class Spent(Record):
    """Money, tokens and calls that have been paid."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(
            usd=self.usd + other.usd, tokens=self.tokens + other.tokens, calls=self.calls + other.calls
        )


class Meter(Protocol):
    """Keeps paid calls within a budget, and records their cost."""

    def hold(self, most: Spent) -> AbstractContextManager[None]:
        """Reserve `most`, the most that one call may cost, while the call is in flight. Raises
        BudgetExhaustedError if less is left of the budget."""
        ...

    def record(self, spent: Spent) -> None:
        """Record a paid call, even if its response cannot be read."""
        ...


def cost_of(spec: ModelSpec, usage: Usage, *, batch: bool = False) -> Spent:
    """The cost of one call with `usage`. An unknown price counts as 0, so a budget in dollars needs prices: see `check_priced`."""
    tokens = usage.input_tokens + usage.output_tokens
    return Spent(usd=usd(spec, usage, batch=batch) or 0.0, tokens=tokens, calls=1)


class Scope(NamedTuple):
    """One of the budgets that a call must be within."""

    name: str
    allowance: Allowance


class Holds:
    """Reserves the most that calls in flight of one process may cost. A call starts if its limits have room for what was spent, for the
    calls before it that have not ended, and for itself. If there would be room without those calls, it waits until one of them ends,
    because most calls cost less than they might."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: dict[int, tuple[frozenset[Hashable], Spent]] = {}  # in the order of the calls
        self._tickets, self._ended = itertools.count(), 0

    @contextmanager
    def hold(
        self, scopes: Mapping[Hashable, Scope], spent: Callable[[], Mapping[Hashable, Spent]], most: Spent
    ) -> Generator[None]:
        """Reserve `most` in all `scopes` during a call. `spent` returns what each scope has spent. Raises BudgetExhaustedError."""
        with self._changed:
            ticket = next(self._tickets)
            self._held[ticket] = frozenset(scopes), most
        try:
            while (ended := self._waits(ticket, scopes, spent, most)) is not None:
                with self._changed:
                    self._changed.wait_for(lambda seen=ended: self._ended != seen)
            yield
        finally:
            with self._changed:
                del self._held[ticket]
                self._ended += 1
                self._changed.notify_all()

    def _waits(
        self,
        ticket: int,
        scopes: Mapping[Hashable, Scope],
        spent: Callable[[], Mapping[Hashable, Spent]],
        most: Spent,
    ) -> int | None:
        """None if the call may start; else the number of calls that have ended. The caller must wait until this number changes.

        Raises BudgetExhaustedError if there would be no room even without the calls in flight.
        """
        with self._changed:
            ended = self._ended
            before = [held for number, held in self._held.items() if number < ticket]
        room = True
        for key, paid in spent().items():
            scope = scopes[key]
            limit = reached(scope.allowance, paid, most)
            if limit is not None:
                raise BudgetExhaustedError(f"the {scope.name}'s {limit} is used up")
            for among, other in before:
                paid = paid.plus(other) if key in among else paid
            room = room and reached(scope.allowance, paid, most) is None
        return None if room else ended


def reached(allowance: Allowance, spent: Spent, most: Spent) -> str | None:
    """The limit of `allowance` that a call with the cost `most` could exceed, in words; None if the call fits."""
    if allowance.max_usd is not None and spent.usd + most.usd > allowance.max_usd + _ROUNDING:
        return f"max_usd {allowance.max_usd:g} (spent {spent.usd:.4f}, the next call may cost {most.usd:.4f})"
    if allowance.max_tokens is not None and spent.tokens + most.tokens > allowance.max_tokens:
        return (
            f"max_tokens {allowance.max_tokens} (spent {spent.tokens}, the next call may take {most.tokens})"
        )
    if allowance.max_calls is not None and spent.calls + most.calls > allowance.max_calls:
        return f"max_calls {allowance.max_calls} (made {spent.calls})"
    return None


@dataclass
class Tally:
    """Counts what the process has paid and how often it has retried, for the display of progress. No decision depends on it."""

    calls: int = 0
    usd: float = 0.0  # calls without a known price count as 0
    retries: int = 0
    unmeasured: bool = False  # some calls count with at least their reserved tokens
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def paid(self, usd: float) -> None:
        with self._lock:
            self.calls += 1
            self.usd += usd

    def retried(self) -> None:
        with self._lock:
            self.retries += 1


TALLY = Tally()
