"""The schedule; it is off until switched on."""

from collections.abc import Iterator

import dagster as dg

from qagen_dagster.defs.jobs import QUESTION_SET
from qagen_dagster.defs.model_config import wanted_versions
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import CandidateSet


def build_nightly_refresh(partitions: Partitions) -> dg.ScheduleDefinition:
    """Every night, one run for each combination whose candidates were made with another configuration, or never."""

    @dg.schedule(  # pyright: ignore[reportUnknownMemberType]
        name="nightly_refresh",
        job_name=QUESTION_SET,
        cron_schedule="0 2 * * *",
        description="Every night at 02:00, run the combinations that are out of date. The runs cost money.",
    )
    def nightly_refresh(
        context: dg.ScheduleEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        space = workspace.open()
        keys = list(partitions.combinations.get_partition_keys())
        outdated = out_of_date(space, keys)
        if not outdated:
            yield dg.SkipReason("every combination is up to date")
        when = context.scheduled_execution_time.date().isoformat()
        for key, version in outdated.items():
            yield dg.RunRequest(run_key=f"{when}/{key}/{version}", partition_key=key)

    return nightly_refresh


def out_of_date(space: Workspace, keys: list[str]) -> dict[str, str]:
    """Combinations whose candidate set was made with another configuration or never, with the version it should have."""
    versions, _ = wanted_versions(space, keys)
    found: dict[str, str] = {}
    for key, version in versions.items():
        made = space.store.find_valid(CandidateSet.key(Combination.from_key(key)), CandidateSet)
        if made is None or made.configuration != version:
            found[key] = version
    return found
