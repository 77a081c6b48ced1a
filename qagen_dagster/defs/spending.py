"""The profile and the budget that a launch may choose, and which runs share a budget."""

import dagster as dg
from pydantic import Field

from qagen_dagster.models.budget import Allowance

SPENDING_TAG = ".dagster/qagen_spending"  # runs with the same value share one budget; the UI hides it
BACKFILL_TAG = "dagster/backfill"


class SpendingConfig(dg.Config):
    """A budget for the launch; a limit that is not set is that of the profile."""

    max_usd: float | None = Field(
        None, description="Limit of the launch in US dollars, in place of the profile's."
    )
    max_tokens: int | None = Field(
        None, description="Limit of the launch in tokens, in place of the profile's."
    )
    max_calls: int | None = Field(
        None, description="Limit of the launch in model calls, in place of the profile's."
    )

    @property
    def allowance(self) -> Allowance | None:
        limits = Allowance(max_usd=self.max_usd, max_tokens=self.max_tokens, max_calls=self.max_calls)
        return None if limits.unlimited else limits


class ModelConfig(SpendingConfig):
    """The profile and the budget of the launch; what is not set is as configured."""

    profile: str | None = Field(None, description="The profile to use; by default the configured one.")


def spending_id(run: dg.DagsterRun) -> str:
    """The runs of one command or backfill share their budget, and so do a run and its retries."""
    return run.tags.get(SPENDING_TAG) or run.tags.get(BACKFILL_TAG) or run.root_run_id or run.run_id
