"""The observations that record the versions of configurations in the Dagster instance.

An observation has a fingerprint as its data version, and the parts of the configuration as metadata. The table of products says
which assets depend on which configuration.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import dagster as dg

from qagen_dagster.errors import QagenError
from qagen_dagster.loop.configuration import Configuration, what_changed
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.refresh.products import ROWS, Observed, Row, Scope
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import fingerprint

VERSION_TAG = "dagster/data_version"
OBSERVED = tuple((row, row.observed) for row in ROWS if row.observed is not None)
_PARTS = "configuration"  # name of the metadata with the parts


def changed_configurations(
    row: Row,
    entry: Observed,
    space: Workspace,
    instance: dg.DagsterInstance,
    keys: Iterable[str],
    log: logging.Logger,
) -> Iterator[dg.AssetObservation]:
    """Observations of the partitions whose version differs from the one that was observed last. Changes are logged.

    The first observation of a partition is that of what is stored, so that an edit made before it counts as a change.
    """
    for key in keys:
        try:
            wanted = entry.wanted(space, key, RunOptions())
            last = latest(instance, entry.name, key)
            before = last or entry.made(space, key, wanted)
        except (QagenError, KeyError) as error:
            log.error(f"{entry.name} {key}: {error}")
            continue
        if last is not None and last.version == wanted.version:
            continue
        if last is None and before is not None and before.version != wanted.version:
            yield observation(entry, key, before)
        changes = _explained(row, space, key, before, wanted, last is not None)
        if changes:
            stale = ", ".join(f"{name} {key}" for name in entry.assets)
            log.info(f"{entry.name} {key}: {'; '.join(changes)}; stale: {stale}")
        yield observation(entry, key, wanted, changes)


def all_versions(space: Workspace, partitions: Mapping[str, Iterable[str]]) -> str:
    """Changes when any configuration or any file does. `partitions` has the keys of each kind."""
    found: list[str] = []
    for _, entry in OBSERVED:
        for key in partitions[entry.partitions]:
            try:
                found.append(entry.wanted(space, key, RunOptions()).version)
            except (QagenError, KeyError) as error:
                found.append(str(error))
    return fingerprint(found)


def _explained(
    row: Row,
    space: Workspace,
    key: str,
    before: Configuration | None,
    wanted: Configuration,
    observed: bool,
) -> tuple[str, ...]:
    if before is None or before.version == wanted.version:
        return ()
    if not wanted.parts:
        return row.why(space, key, Scope())
    everything = {**wanted.parts, **wanted.settings} if observed else wanted.parts
    return what_changed(before, Configuration(wanted.version, everything))


def observation(
    entry: Observed, key: str, found: Configuration, changes: tuple[str, ...] = ()
) -> dg.AssetObservation:
    """An observation of a version. `changes` say what differs from the version before it."""
    shown: dict[str, Any] = {_PARTS: dg.MetadataValue.json({**found.parts, **found.settings})}
    if changes:
        shown["changed"] = "; ".join(changes)
        shown["stale"] = ", ".join(f"{name} {key}" for name in entry.assets)
    return dg.AssetObservation(entry.name, partition=key, metadata=shown, tags={VERSION_TAG: found.version})


def latest(instance: dg.DagsterInstance, name: str, key: str) -> Configuration | None:
    """The version of a partition that was observed last, with its parts."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(name), asset_partitions=[key])
    for record in instance.fetch_observations(wanted, limit=1).records:
        found = record.asset_observation
        if found is not None and VERSION_TAG in found.tags:
            parts = found.metadata.get(_PARTS)
            named = cast(dict[str, str], {} if parts is None else parts.value)
            return Configuration(found.tags[VERSION_TAG], named)
    return None


def observe_launch(
    space: Workspace, instance: dg.DagsterInstance, run: dg.DagsterRun, assets: set[str], key: str
) -> None:
    """Record the configurations with which a run makes its assets, before it makes them.

    Dagster compares later observations with this one to show which partitions are stale.
    """
    fields = _fields(run.run_config.get("ops", {}))
    options = RunOptions(
        profile=fields.get("profile") or None, target_count=fields.get("target_count") or None
    )
    for _, entry in OBSERVED:
        if assets.isdisjoint(entry.assets):
            continue
        try:
            wanted, last = entry.wanted(space, key, options), latest(instance, entry.name, key)
        except (QagenError, KeyError, ValueError):  # the run itself reports what is wrong
            continue
        if last is None or last.version != wanted.version:
            instance.report_runless_asset_event(observation(entry, key, wanted))


def _fields(config: object) -> dict[str, Any]:
    """The fields of a run configuration, without their places."""
    found: dict[str, Any] = {}
    for name, value in cast(Mapping[str, Any], config).items():
        found |= _fields(cast(object, value)) if isinstance(value, Mapping) else {name: value}
    return found
