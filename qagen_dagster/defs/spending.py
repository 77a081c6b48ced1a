"""The profile and the budget that a launch may choose, and the id of the budget that several runs share."""

import dagster as dg
from pydantic import Field, field_validator

from qagen_dagster.models.budget import Allowance

SPENDING_TAG = ".dagster/qagen_spending"  # runs with the same value share one budget; the UI hides it
BACKFILL_TAG = "dagster/backfill"


class SpendingConfig(dg.Config, Allowance):
    """A budget for the launch. The limits of the profile hold for fields that are not set."""

    max_usd: float | None = Field(
        None, description="Limit of the launch in US dollars, in place of the profile's."
    )
    max_tokens: int | None = Field(
        None, description="Limit of the launch in tokens, in place of the profile's."
    )
    max_calls: int | None = Field(
        None, description="Limit of the launch in model calls, in place of the profile's."
    )


class ModelConfig(SpendingConfig):
    """The profile and the budget of the launch. Fields that are not set keep their configured value.

    The launchpad shows only fields whose default is not null. So the defaults of fields that people often change are "" or 0.
    """

    profile: str | None = Field(
        "", description="The profile to use. Empty: the configured one.", validate_default=True
    )

    @field_validator("profile", "target_count", "num_documents", check_fields=False)
    @classmethod
    def _as_configured(cls, value: str | int | None) -> str | int | None:
        return value or None


def spending_id(run: dg.DagsterRun) -> str:
    """The id under which a run counts its spending. Runs of one command or backfill have the same id, and so have a run and its retries."""
    return run.tags.get(SPENDING_TAG) or run.tags.get(BACKFILL_TAG) or run.root_run_id or run.run_id
