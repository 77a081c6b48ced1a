"""What a run has paid, added up over all processes that work for it, and the gate that holds it to its budget.

Every process writes one file of its own after each paid call and reads the others' before the next, so that
the limits hold across ops and machines that share the store. Files outlive a killed process.
"""

from __future__ import annotations

import os
import platform
import threading
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

from qagen_dagster.configuration.profiles import Profile, check_priced
from qagen_dagster.errors import BudgetExhaustedError, ConfigError
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget, Spent, Toll, reached
from qagen_dagster.store import Store


class SpendingBook:
    """The paid calls of one run in one partition, beside those of its other processes and partitions.

    `folder` is the partition's, `spending/<spending id>/...`: the first two segments are the run's.
    """

    def __init__(self, store: Store, folder: str) -> None:
        host = "".join(char if char.isalnum() else "-" for char in platform.node())[:40]
        process = f"{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._store, self._lock, self._own = store, threading.Lock(), Spent()
        self._run, self._partition = "/".join(folder.split("/")[:2]), folder
        self._key = f"{folder}/{process}.json"

    def add(self, spent: Spent) -> None:
        """Write down a paid call."""
        with self._lock:
            self._own = self._own.plus(spent)
            self._store.write(self._key, self._own)

    def totals(self) -> tuple[Spent, Spent]:
        """What the whole run and what this partition has paid so far."""
        run, partition = self._own, self._own
        for key in self._store.list(self._run):
            found = None if key == self._key else self._store.find_or_set_aside(key, Spent)
            if found is not None:
                run = run.plus(found)
                partition = partition.plus(found) if key.startswith(f"{self._partition}/") else partition
        return run, partition


@dataclass
class DocumentToll:
    """Lets a document's calls be paid while run, partition and document have something left.

    An exam item or a problem is held to the same limits; `subject` is what it is called then.
    """

    budget: Budget
    book: SpendingBook
    spent: Spent = field(default_factory=Spent)  # on this document, earlier runs included
    subject: str = "document"

    @cached_property
    def _counts_shared(self) -> bool:
        return not (self.budget.run.unlimited and self.budget.partition.unlimited)

    def before(self) -> None:
        """Raises BudgetExhaustedError, naming scope and limit."""
        scopes = [(self.subject, self.budget.document, self.spent)]
        if self._counts_shared:
            run, partition = self.book.totals()
            scopes += [("partition", self.budget.partition, partition), ("run", self.budget.run, run)]
        for name, allowance, spent in scopes:
            limit = reached(allowance, spent)
            if limit is not None:
                raise BudgetExhaustedError(f"the {name}'s {limit} is used up")

    def paid(self, spent: Spent) -> None:
        self.spent = self.spent.plus(spent)
        if self._counts_shared:
            self.book.add(spent)


@runtime_checkable
class _Chargeable(Protocol):
    def charged_to(self, toll: Toll) -> Model: ...


def charged(model: Model, toll: Toll) -> Model:
    """The same model, whose calls `toll` allows and counts; one that costs nothing as it is."""
    return model.charged_to(toll) if isinstance(model, _Chargeable) else model


def effective_budget(profile: Profile, run: Allowance | None) -> Budget:
    """The profile's budget, with another one for the run where it has a wish. Raises ConfigError when money is to be counted without prices."""
    if run is None:
        return profile.budget
    budget = profile.budget.model_copy(update={"run": run})
    try:
        check_priced(profile, budget)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return budget
