"""Spreads the work on a partition over ops: its documents or problems are split into shards, with one op for each shard. `QAGEN_SHARD_SIZE`
(`settings.py`) sets the size of a shard. By default, it is the least size that the product allows with at most MOST_SHARDS ops."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from pydantic import Field

from qagen_dagster.defs.layout import Function, Layout, source_of
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.spending import ModelConfig
from qagen_dagster.loop.parallel import WorkOutcome
from qagen_dagster.loop.workspace import Workspace

MOST_SHARDS = 32  # with more ops, the page of a run is slow and its chart cannot be read
Payload = dict[str, Any]  # the output of an op: plain JSON, which any executor can store
_MOST_REASONS = 50  # maximum number of different reasons that are listed
MOST_NAMES = 100  # maximum number of failed documents or problems in the metadata of an op


class ShardConfig(ModelConfig):
    """The profile, the budget and the size of shards. Fields that are not set keep their configured value."""

    shard_size: int | None = Field(
        None, description="Documents or problems per op; by default at most 32 ops are used."
    )


def sharded_asset(
    layout: Layout,
    name: str,
    ops: Mapping[str, Function],
    upstream: Mapping[str, dg.PartitionMapping | None],
    **more: Any,
) -> dg.AssetsDefinition:
    """An asset that asks models, made of three `ops`: the first plans shards, the second works on a shard, the third collects the results.

    `upstream` has the mappings of partitions by the plain names of the upstream assets. `more` goes to `dagster.graph_asset`.
    """
    key: Any = {"io_manager_key": layout.name("io_manager")}
    payload = dg.Out(dict, **key)
    outs: Any = ({"shards": dg.DynamicOut(dict, **key), "options": payload}, payload, dg.Out(dg.Nothing))
    ins: Any = ({one: dg.In(dg.Nothing) for one in upstream}, None, None)
    make: Any = dg.op
    plan, run, collect = (
        make(name=layout.node(op), out=out, ins=needs)(layout.bound(function))
        for (op, function), out, needs in zip(ops.items(), outs, ins, strict=True)
    )

    @dg.graph_asset(  # pyright: ignore[reportUnknownMemberType]
        key=layout.key(name),
        group_name=layout.group(name),
        kinds={MODELS},
        ins={
            asset: dg.AssetIn(layout.key(asset), partition_mapping=mapping, dagster_type=dg.Nothing)
            for asset, mapping in upstream.items()
        },
        metadata=source_of(next(iter(ops.values()))),
        **more,
    )
    def asset(**inputs: Any) -> Any:
        shards, options = plan(**inputs)
        return collect(shards.map(run).collect(), options)

    return asset


def split(
    context: dg.OpExecutionContext,
    space: Workspace,
    config: ShardConfig,
    names: Sequence[str],
    what: str,
    *,
    least: int,
    started: str | None = None,
) -> Iterator[dg.DynamicOutput[Payload] | dg.Output[Payload]]:
    """The outputs of an op that plans: the `names` in shards, and the options that all ops share, with the `config`.

    The default size of a shard is `least`; it is larger if there would be more than MOST_SHARDS ops. `what` names the work in the log.
    """
    usual = max(least, math.ceil(len(names) / MOST_SHARDS))
    size = config.shard_size or space.settings.shard_size or usual
    context.log.info(f"{len(names)} {what} to work on, {size} per op, profile {config.profile}")
    shared: Payload = {"config": config.model_dump(), "started": started or datetime.now(UTC).isoformat()}
    shared["total"] = len(names)
    for number, start in enumerate(range(0, len(names), size)):
        shard = shared | {"names": list(names[start : start + size]), "before": start}
        yield dg.DynamicOutput(shard, f"shard_{number:04d}", output_name="shards")
    yield dg.Output(shared, output_name="options")


def close(
    log: dg.DagsterLogManager, outcome: WorkOutcome[Any], total: int, what: str, *, fatal: bool = True
) -> Payload:
    """Log how some work ended and return the output of its op. Raises Failure if part of it failed, unless `fatal` is False."""
    if outcome.stopped:
        log.warning(f"the budget is used up: the next run resumes {len(outcome.stopped)} {what}")
    if outcome.failed:
        failure = f"{len(outcome.failed)} of {total} {what} failed; the others are kept, and a rerun works only on the failed {what}"
        reasons = {str(name): why[:500] for name, why in sorted(outcome.failed.items())}
        if fatal:
            raise dg.Failure(failure, metadata=dict(list(reasons.items())[:MOST_NAMES]))
        log.warning(f"{failure}: {by_reason(reasons)}")
    return {"finished": len(outcome.finished)}


def by_reason(reasons: dict[str, str]) -> dict[str, str]:
    """At most _MOST_REASONS different reasons. The key of a reason lists names with this reason. `reasons` has the reason of each name."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return {_several(group): why for why, group in list(names.items())[:_MOST_REASONS]}


def _several(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    more = [f"{len(names) - 3} more"] if len(names) > 3 else []
    return ", ".join([*names[:3], *more])
