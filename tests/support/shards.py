"""The work on documents of a combination, as an op of a run does it."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.loop.parallel import WorkOutcome
from qagen_dagster.loop.questions.combination_run import CombinationRun, Progress
from qagen_dagster.loop.questions.document_work import DocumentPool
from qagen_dagster.loop.questions.plan import CombinationPlan
from qagen_dagster.loop.workspace import Workspace


def run_shard(
    space: Workspace,
    planned: CombinationPlan,
    names: Sequence[str],
    run_id: str,
    progress: Progress | None = None,
    spending_id: str | None = None,
) -> WorkOutcome[str]:
    """Work on the named documents. The budget is that of `spending_id`, or that of the run."""
    pool = DocumentPool(space.settings.document_workers)
    run = CombinationRun(space, planned, tuple(names), run_id, spending_id or run_id, pool)
    return run.wait_for(names, progress)
