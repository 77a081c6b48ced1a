"""When Dagster may start runs by itself. Paid work starts only where configuration or documents changed."""

from __future__ import annotations

import dagster as dg

AssetOrCheckKey = dg.AssetKey | dg.AssetCheckKey


def refresh_on_model_change() -> dg.AutomationCondition[AssetOrCheckKey]:
    """Request a combination once when an upstream data version changes: its models, prompts or documents.

    `eager()` would also fire on every upstream materialization and spend money.
    """
    changed = dg.AutomationCondition.any_deps_match(  # pyright: ignore[reportUnknownMemberType]
        dg.AutomationCondition.data_version_changed()
    )
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return (
        changed.since(handled)
        & ~dg.AutomationCondition.any_deps_missing()
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
    ).with_label("configuration or documents changed")


def keep_once_made() -> dg.AutomationCondition[AssetOrCheckKey]:
    """For optional assets: as `refresh_on_model_change`, but a person materializes them the first time."""
    condition = refresh_on_model_change() & ~dg.AutomationCondition.missing()
    return condition.with_label("documents changed since it was made")


def follow_upstream() -> dg.AutomationCondition[AssetOrCheckKey]:
    """For assets that cost little or nothing: refresh after their upstream, or together with it."""
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return (
        dg.AutomationCondition.any_deps_updated().since(handled)
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
    ).with_label("follows its upstream")
