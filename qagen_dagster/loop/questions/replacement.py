"""Whether a run may replace a published set. A trial must not replace a set that was paid for, or one of more documents."""

from __future__ import annotations

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import CandidateSet


def why_kept(workspace: Workspace, combination: Combination, options: RunOptions) -> str | None:
    """Why a run with these options must not replace the published set unless it is told to; None if it may.

    Raises ConfigError for a profile that cannot be used.
    """
    store, limit = workspace.store, options.num_documents
    published = store.find_valid(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    if published is None or not published.questions:
        return None
    name = workspace.profile_name(combination, options.profile)
    makers = {one.generation_metadata.generator_model for one in published.questions}
    paid = sorted(maker for maker in makers if maker.partition(":")[0] not in FREE_PROVIDERS)
    if paid and workspace.profile(name).spec(Role.GENERATOR, combination.mode).provider in FREE_PROVIDERS:
        return (
            f"not run: {', '.join(paid)} made the published set, and profile {name} has no such model "
            "(choose a profile, or replace the set with --replace)"
        )
    made = store.find_valid(CandidateSet.key(combination), CandidateSet)
    if limit is not None and made is not None and len(made.documents) > limit:
        return (
            f"not run: the published set covers {len(made.documents)} documents, and the run would cover {limit} "
            "(--replace replaces the set)"
        )
    return None
