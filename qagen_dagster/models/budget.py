"""Budgets of a run, a partition and a document, and what has been spent.

What belongs here: the values and the comparison. What does not: adding up over processes (`loop/spending.py`),
and what happens to a document when its budget is exhausted (`loop/`).
"""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.messages import Usage
from qagen_dagster.models.pricing import usd
from qagen_dagster.records.base import Record


class Allowance(Record):
    """What one scope may spend on paid calls; None: no limit. Replayed calls cost nothing."""

    max_usd: float | None = Field(default=None, ge=0)  # US dollars
    max_tokens: int | None = Field(default=None, ge=0)  # input and output together
    max_calls: int | None = Field(default=None, ge=0)

    @property
    def unlimited(self) -> bool:
        return self.max_usd is None and self.max_tokens is None and self.max_calls is None


class Budget(Record):
    """The allowances of the three scopes; a call must be within all of them."""

    run: Allowance = Field(
        default_factory=Allowance
    )  # all combinations of one launch: a command or a backfill
    partition: Allowance = Field(default_factory=Allowance)  # one combination in that launch
    document: Allowance = Field(default_factory=Allowance)  # one document in one combination, over all runs

    @property
    def unlimited(self) -> bool:
        return self.run.unlimited and self.partition.unlimited and self.document.unlimited

    @property
    def counts_money(self) -> bool:
        return any(scope.max_usd is not None for scope in (self.run, self.partition, self.document))


class Spent(Record):
    """What has been paid."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def plus(self, other: Spent) -> Spent:
        return Spent(
            usd=self.usd + other.usd, tokens=self.tokens + other.tokens, calls=self.calls + other.calls
        )


class Meter(Protocol):
    """Checks the budget before a paid call, and records what the call cost."""

    def check(self) -> None:
        """Raises BudgetExhaustedError when the budget is exhausted."""
        ...

    def record(self, spent: Spent) -> None:
        """Record a paid call, even if its response cannot be read."""
        ...


def cost_of(spec: ModelSpec, usage: Usage, *, batch: bool = False) -> Spent:
    """What one call of `usage` costs. An unknown price counts as 0, so callers must check `Budget.counts_money`."""
    tokens = usage.input_tokens + usage.output_tokens
    return Spent(usd=usd(spec, usage, batch=batch) or 0.0, tokens=tokens, calls=1)


def reached(allowance: Allowance, spent: Spent) -> str | None:
    """The limit of `allowance` that is used up, in words; None when another call may be paid."""
    if allowance.max_usd is not None and spent.usd >= allowance.max_usd:
        return f"max_usd {allowance.max_usd:g} (spent {spent.usd:.4f})"
    if allowance.max_tokens is not None and spent.tokens >= allowance.max_tokens:
        return f"max_tokens {allowance.max_tokens} (spent {spent.tokens})"
    if allowance.max_calls is not None and spent.calls >= allowance.max_calls:
        return f"max_calls {allowance.max_calls} (made {spent.calls})"
    return None
