"""The judge of a command that runs outside the asset graph, with a budget for this command alone."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.spending import effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Spent, reached
from qagen_dagster.records.ids import Mode


@dataclass
class CommandMeter:
    """Checks the budget of one command before a paid call and records the spending after it."""

    allowance: Allowance
    spent: Spent = field(default_factory=Spent)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> None:
        """Raise BudgetExhaustedError, which names the limit, if a limit is reached."""
        limit = reached(self.allowance, self.spent)
        if limit is not None:
            raise BudgetExhaustedError(f"the command's {limit} is used up")

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
