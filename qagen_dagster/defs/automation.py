"""When Dagster may start paid work by itself: only where the configuration of a combination changed."""

from __future__ import annotations

import dagster as dg

AssetOrCheckKey = dg.AssetKey | dg.AssetCheckKey


def refresh_on_model_change() -> dg.AutomationCondition[AssetOrCheckKey]:
    """Request a combination once when an upstream data version changed: its models, prompts or documents.

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
    """For what nothing needs by itself: as `refresh_on_model_change`, but never made for the first time."""
    condition = refresh_on_model_change() & ~dg.AutomationCondition.missing()
    return condition.with_label("documents changed since it was made")


def follow_upstream() -> dg.AutomationCondition[AssetOrCheckKey]:
    """For assets that cost next to nothing: refresh after, or together with, their upstream."""
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return (
        dg.AutomationCondition.any_deps_updated().since(handled)
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
    ).with_label("follows its upstream")
