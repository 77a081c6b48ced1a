"""The budget of a search index: that of its run, counted separately from the budget of questions."""

from __future__ import annotations

from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.document import SearchIndex


def index_meter(
    space: Workspace,
    corpus: str,
    launch: str,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> BudgetMeter | None:
    """The check of the budget for paid embeddings; None when nothing is limited. Raises ConfigError for a limit in dollars without prices."""
    budget = effective_budget(space.profile(profile or space.settings.profile), run_budget)
    if budget.unlimited:
        return None
    shared = budget.model_copy(update={"document": Allowance()})  # that limit is for questions
    return BudgetMeter(shared, RunSpending(space.store, SearchIndex.spending_folder(launch, corpus)))
