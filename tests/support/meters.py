"""A budget for tests of models: lets so many calls be paid."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.models.budget import Spent


class CallMeter:
    """A `Meter` that ends after `calls` paid calls. It shows what each call held back and what it cost."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.held: list[Spent] = []
        self.paid: list[Spent] = []

    @property
    def spent(self) -> Spent:
        total = Spent()
        for one in self.paid:
            total = total.plus(one)
        return total

    @contextmanager
    def hold(self, most: Spent) -> Generator[None]:
        if self.spent.calls >= self.calls:
            raise BudgetExhaustedError("nothing is left")
        self.held.append(most)
        yield

    def record(self, spent: Spent) -> None:
        self.paid.append(spent)
