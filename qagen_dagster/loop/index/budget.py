"""Whose money makes a search index: the budget of its run, counted apart from that of questions."""

from __future__ import annotations

from qagen_dagster.loop.spending import DocumentToll, SpendingBook, effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.index import SearchIndex


def index_toll(
    space: Workspace,
    corpus: str,
    launch: str,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> DocumentToll | None:
    """Who lets embeddings be paid; None where nothing is limited. Raises ConfigError when money is to be counted without prices."""
    budget = effective_budget(space.profile(profile or space.settings.profile), run_budget)
    if budget.unlimited:
        return None
    shared = budget.model_copy(update={"document": Allowance()})  # that one is for making questions
    return DocumentToll(shared, SpendingBook(space.store, SearchIndex.spending_folder(launch, corpus)))
