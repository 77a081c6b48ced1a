"""The judge of a command that runs outside the asset graph, with a budget for this command alone."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.shared_budget import effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import (
    Allowance,
    Holds,
    Scope,
    Spent,
)
from qagen_dagster.records.ids import Mode


@dataclass
class CommandMeter:
    """Holds the paid calls of one command to its budget, and records what they cost."""

    allowance: Allowance
    spent: Spent = field(default_factory=Spent)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _holds: Holds = field(default_factory=Holds)

    def hold(self, most: Spent) -> AbstractContextManager[None]:
        """Hold a call to the budget. Raises BudgetExhaustedError, which names the limit."""
        key = "command"
        return self._holds.hold({key: Scope(key, self.allowance)}, lambda: {key: self.spent}, most)

    def record(self, spent: Spent) -> None:
        with self._lock:
            self.spent = self.spent.plus(spent)


def command_judge(space: Workspace, profile: str, wished: Allowance | None) -> tuple[Model | None, bool]:
    """The judge of the profile, held to the budget, and whether its calls are unlimited. None: the profile has no judge.

    Raises ConfigError.
    """
    chosen = space.profile(profile)
    allowance = effective_budget(chosen, wished).run
    judge = space.find_model(chosen, Role.JUDGE, Mode.TEXTUAL)
    if judge is None or allowance.unlimited:
        return judge, True
    return metered(judge, CommandMeter(allowance)), False
