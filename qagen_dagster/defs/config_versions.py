"""The observations that record the versions of configurations in the Dagster instance.

The data version of an observation is the fingerprint of the configuration. Its metadata has the parts of the configuration.
The table in `loop/product_table.py` says which assets depend on which configuration.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import dagster as dg

from qagen_dagster.defs.layout import Layout
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.configuration import Configuration, what_changed
from qagen_dagster.loop.product_table import Observed, Row, Scope
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import fingerprint

VERSION_TAG = "dagster/data_version"
_PARTS = "configuration"  # label of the metadata with the parts


def changed_configurations(
    layout: Layout,
    row: Row,
    entry: Observed,
    space: Workspace,
    instance: dg.DagsterInstance,
    keys: Iterable[str],
    log: logging.Logger,
) -> Iterator[dg.AssetObservation]:
    """Observations of the partitions whose version differs from the version that was observed last. Changes are logged.

    If a partition was never observed, and its product was made with another configuration, that configuration is observed first. So
    an edit before the first observation counts as a change, too.
    """
    for key in keys:
        try:
            wanted = entry.wanted(space, key, RunOptions())
            last = latest(instance, layout.key(entry.name), key)
            before = last or entry.made(space, key, wanted)
        except (QagenError, KeyError) as error:
            log.error(f"{entry.name} {key}: {error}")
            continue
        if last is not None and last.version == wanted.version:
            continue
        if last is None and before is not None and before.version != wanted.version:
            yield observation(layout, entry, key, before)
        changes = _explained(row, space, key, before, wanted, last is not None)
        if changes:
            stale = ", ".join(f"{name} {key}" for name in entry.assets)
            log.info(f"{entry.name} {key}: {'; '.join(changes)}; stale: {stale}")
        yield observation(layout, entry, key, wanted, changes)


def all_versions(layout: Layout, space: Workspace, partitions: Mapping[str, Iterable[str]]) -> str:
    """A fingerprint of all configurations and all files of corpora. `partitions` has the partition keys by kind."""
    found: list[str] = []
    for _, entry in layout.observed:
        for key in partitions[entry.partitions]:
            try:
                found.append(entry.wanted(space, key, RunOptions()).version)
            except (QagenError, KeyError) as error:
                found.append(str(error))
    return fingerprint(found)


def _explained(
    row: Row, space: Workspace, key: str, before: Configuration | None, wanted: Configuration, observed: bool
) -> tuple[str, ...]:
    if before is None or before.version == wanted.version:
        return ()
    if not wanted.parts:
        return row.why(space, key, Scope())
    everything = {**wanted.parts, **wanted.settings} if observed else wanted.parts
    return what_changed(before, Configuration(wanted.version, everything))


def observation(
    layout: Layout, entry: Observed, key: str, found: Configuration, changes: tuple[str, ...] = ()
) -> dg.AssetObservation:
    """An observation of a version of a configuration. `changes` say what differs from the version before."""
    shown: dict[str, Any] = {_PARTS: dg.MetadataValue.json({**found.parts, **found.settings})}
    if changes:
        shown["changed"] = "; ".join(changes)
        shown["stale"] = ", ".join(f"{name} {key}" for name in entry.assets)
    return dg.AssetObservation(
        layout.key(entry.name), partition=key, metadata=shown, tags={VERSION_TAG: found.version}
    )


def latest(instance: dg.DagsterInstance, asset: dg.AssetKey, key: str) -> Configuration | None:
    """The version that was last observed for a partition, with its parts; None if the partition was never observed."""
    wanted = dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[key])
    for record in instance.fetch_observations(wanted, limit=1).records:
        found = record.asset_observation
        if found is not None and VERSION_TAG in found.tags:
            parts = found.metadata.get(_PARTS)
            named = cast(dict[str, str], {} if parts is None else parts.value)
            return Configuration(found.tags[VERSION_TAG], named)
    return None


def observe_launch(
    layout: Layout,
    space: Workspace,
    instance: dg.DagsterInstance,
    run: dg.DagsterRun,
    assets: set[str],
    key: str,
) -> None:
    """Record the changed configurations of a run's assets before the run makes the assets. `key` is the partition of the run.

    Dagster compares later observations with these to show which partitions are stale.
    """
    fields = _fields(run.run_config.get("ops", {}))
    options = RunOptions(
        profile=fields.get("profile") or None, target_count=fields.get("target_count") or None
    )
    for _, entry in layout.observed:
        if assets.isdisjoint(entry.assets):
            continue
        try:
            wanted, last = entry.wanted(space, key, options), latest(instance, layout.key(entry.name), key)
        except (QagenError, KeyError, ValueError):  # the run itself reports what is wrong
            continue
        if last is None or last.version != wanted.version:
            instance.report_runless_asset_event(observation(layout, entry, key, wanted))


def _fields(config: object) -> dict[str, Any]:
    """The innermost fields of a nested run configuration, by their names without the path. Of fields with the same name, the last wins."""
    found: dict[str, Any] = {}
    for name, value in cast(Mapping[str, Any], config).items():
        found |= _fields(cast(object, value)) if isinstance(value, Mapping) else {name: value}
    return found
