"""Keeps the processes of a run within their shared budget: adds up the cost of calls, and checks the sum before each paid call.

Each process writes its own file after each paid call, and reads the files of the others before the next call. So the limits
hold across ops and machines that share the store, and the spending of a killed process is not lost. A process also
reserves the possible cost of its own calls in flight, but does not know the calls in flight of other processes.
"""

import os
import platform
import threading
import uuid
from collections.abc import Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

from qagen_dagster.configuration.profiles import Profile, check_priced
from qagen_dagster.errors import ConfigError
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget, Holds, Meter, Scope, Spent
from qagen_dagster.records.run import CallSummary, Usage
from qagen_dagster.store import Store

_KeyT = TypeVar("_KeyT")
_IN_FLIGHT = Holds()  # the reservations of all runs in this process


class RunSpending:
    """Records the paid calls of this process for a run and a partition, and reads the spending of the other processes.

    `folder` is the folder of the partition, `spending/<spending id>/...`. Its first two segments are the folder of the run.
    """

    def __init__(self, store: Store, folder: str) -> None:
        host = "".join(char if char.isalnum() else "-" for char in platform.node())[:40]
        process = f"{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._store, self._lock, self._own = store, threading.Lock(), Spent()
        self._run, self._partition = "/".join(folder.split("/")[:2]), folder
        self.run, self.partition = store.path(self._run), store.path(folder)  # names of the scopes
        self._key = f"{folder}/{process}.json"

    def add(self, spent: Spent) -> None:
        """Record a paid call."""
        with self._lock:
            self._own = self._own.plus(spent)
            self._store.write(self._key, self._own)

    def totals(self) -> tuple[Spent, Spent]:
        """The spending of the whole run and of this partition."""
        run, partition = self._own, self._own
        for key in self._store.list(self._run):
            found = None if key == self._key else self._store.find_or_set_aside(key, Spent)
            if found is not None:
                run = run.plus(found)
                partition = partition.plus(found) if key.startswith(f"{self._partition}/") else partition
        return run, partition


def spent_by(store: Store, prefix: str) -> float:
    """The US dollars that were paid by the runs whose spending id begins with `prefix`."""
    keys = (key for key in store.list("spending") if key.startswith(f"spending/{prefix}"))
    return sum(found.usd for key in keys if (found := store.find_or_set_aside(key, Spent)) is not None)


@dataclass
class BudgetMeter:
    """Keeps paid calls within the budgets of run, partition and document, and records their cost.

    The budget of a document also applies to an exam item, to a problem, and to a command outside the asset graph, which shares no
    `spending`. `subject` is the name of this document, item, problem or command in messages.
    """

    budget: Budget
    spending: RunSpending | None = None
    spent: Spent = field(default_factory=Spent)  # on this document, including earlier runs
    subject: str = "document"
    _lock: threading.Lock = field(default_factory=threading.Lock)  # calls of one document may overlap

    @cached_property
    def _shared(self) -> RunSpending | None:
        """The spending of run and partition; None if neither has a limit."""
        return None if self.budget.run.unlimited and self.budget.partition.unlimited else self.spending

    def hold(self, most: Spent) -> AbstractContextManager[None]:
        """Reserve `most` in the three budgets during a call. Raises BudgetExhaustedError, which names the scope and the limit."""
        scopes: dict[Hashable, Scope] = {id(self): Scope(self.subject, self.budget.document)}
        if self._shared is not None:
            scopes[self._shared.partition] = Scope("partition", self.budget.partition)
            scopes[self._shared.run] = Scope("run", self.budget.run)
        return _IN_FLIGHT.hold(scopes, self._spent, most)

    def _spent(self) -> dict[Hashable, Spent]:
        found: dict[Hashable, Spent] = {id(self): self.spent}
        if self._shared is not None:
            found[self._shared.run], found[self._shared.partition] = self._shared.totals()
        return found

    def record(self, spent: Spent) -> None:
        with self._lock:
            self.spent = self.spent.plus(spent)
        if self._shared is not None:
            self._shared.add(spent)


def partition_meter(store: Store, budget: Budget, folder: str) -> BudgetMeter | None:
    """The meter for work on a whole partition, with its spending in `folder`; None if there is no limit.

    The limit per document does not apply, because it is for generating the questions of a document.
    """
    shared = budget.model_copy(update={"document": Allowance()})
    return None if budget.unlimited else BudgetMeter(shared, RunSpending(store, folder))


@runtime_checkable
class _Meterable(Protocol):
    def metered(self, meter: Meter) -> Model: ...


def metered(model: Model, meter: Meter | None) -> Model:
    """The model with `meter`, which checks each paid call and records its cost. Without a meter, `model` is returned unchanged.

    A model whose calls cannot be metered is returned unchanged, too.
    """
    return model.metered(meter) if meter is not None and isinstance(model, _Meterable) else model


def all_metered(models: Mapping[_KeyT, Model], meter: Meter) -> dict[_KeyT, Model]:
    """The models, each with `meter`."""
    return {key: metered(model, meter) for key, model in models.items()}


def effective_budget(profile: Profile, run: Allowance | None) -> Budget:
    """The profile's budget, in which `run` replaces the budget of the run, unless `run` is None.

    Raises ConfigError if there is a limit in dollars, but prices are unknown.
    """
    if run is None:
        return profile.budget
    budget = profile.budget.model_copy(update={"run": run})
    try:
        check_priced(profile, budget)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return budget


def unique_calls(calls: Iterable[CallSummary]) -> list[Usage]:
    """The usage of the calls. Calls with the same request key count once. Each call without a key counts."""
    by_request = {call.request_key or str(number): Usage.of(call) for number, call in enumerate(calls)}
    return list(by_request.values())


def total_spent(calls: Iterable[CallSummary]) -> Spent:
    """The total spending on calls. An unknown price counts as 0. Tokens that no server counted count as the reserved tokens."""
    made = list(calls)
    return Spent(
        usd=sum(call.charged_usd or call.usd or 0.0 for call in made),
        tokens=sum(call.charged_tokens or call.input_tokens + call.output_tokens for call in made),
        calls=len(made),
    )
