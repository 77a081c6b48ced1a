"""What a run may spend, as the launcher sees it: config fields of ops and assets, and whose money it is."""

import dagster as dg

from qagen_dagster.models.budget import Allowance

SPENDING_TAG = "qagen/spending"  # runs with the same value share one budget
BACKFILL_TAG = "dagster/backfill"


class SpendingConfig(dg.Config):
    """Limits of the whole run in place of the profile's; empty means as configured."""

    max_usd: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None

    @property
    def allowance(self) -> Allowance | None:
        wished = Allowance(max_usd=self.max_usd, max_tokens=self.max_tokens, max_calls=self.max_calls)
        return None if wished.unlimited else wished


def spending_id(run: dg.DagsterRun) -> str:
    """Runs of one command or backfill share their budget, and so do a run and its retries."""
    return run.tags.get(SPENDING_TAG) or run.tags.get(BACKFILL_TAG) or run.root_run_id or run.run_id
