"""The products of a graph, and the names of its parts in a Dagster instance. With prefixes, several graphs can share an instance.

Other modules use plain names of assets, jobs, ops and resources, and ask the layout for the names in Dagster.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, get_type_hints

import dagster as dg

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.product_table import ROWS, Group, Observed, Row, made_rows
from qagen_dagster.settings import OPTIONAL

GRADED = "grounding_report"  # the asset of an optional product that the runs of another product make
_GROUPS = {asset: row.group for row in ROWS for asset in row.assets} | {
    "exam_schemas": Group.EXAMS,
    "review_decisions": Group.QUESTIONS,
}
_RESOURCES = ("workspace", "work")
Function = Callable[..., Any]
Dep = str | tuple[str, dg.PartitionMapping]  # a plain name, perhaps with a mapping of partitions


def source_of(function: Function) -> dict[str, dg.CodeReferencesMetadataValue]:
    """Metadata that links an asset to the function that makes it."""
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno
    place = dg.LocalFileCodeReference(file_path=file, line_number=line, label=Path(file).name)
    return {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[place])}


def path_of(key_prefix: str) -> tuple[str, ...]:
    """The parts of a prefix such as "team/sets". Raises ConfigError if names in Dagster cannot have these parts."""
    if not re.fullmatch(r"(?:\w+(?:/\w+)*)?", key_prefix, re.ASCII):
        raise ConfigError(
            f"key_prefix: {key_prefix!r} may have letters, digits and _, and / between its parts"
        )
    return tuple(key_prefix.split("/")) if key_prefix else ()


@dataclass(frozen=True)
class Layout:
    """The products of a graph, and the names of its parts.

    Attributes:
        prefix: the path that all asset keys begin with. It is empty in this project's own code location.
        optional: the optional products that the graph has, as in Settings.
        blocking: whether a failed check keeps the assets that depend on the checked asset from being made in the same run.
    """

    prefix: tuple[str, ...] = ()
    optional: tuple[str, ...] = OPTIONAL
    blocking: bool = False

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        return made_rows(self.optional)

    @cached_property
    def observed(self) -> tuple[tuple[Row, Observed], ...]:
        """The configurations that are assets of their own."""
        return tuple((row, row.observed) for row in self.rows if row.observed is not None)

    def has(self, asset: str) -> bool:
        """Whether the graph has the asset, and runs of its products make it."""
        made = any(asset in row.assets for row in self.rows)
        return made and (asset != GRADED or "grading" in self.optional)

    def key(self, asset: str) -> dg.AssetKey:
        return dg.AssetKey([*self.prefix, asset])

    def node(self, op: str) -> str:
        """The name of an op, or of an asset as a part of a job."""
        return "__".join((*self.prefix, op))

    def name(self, plain: str) -> str:
        """The name of a job, sensor, schedule, resource, pool or group."""
        return "_".join((*self.prefix, plain))

    def group(self, asset: str) -> str:
        """The name of the group of an asset."""
        return self.name(_GROUPS[asset])

    def own(self, keys: Iterable[dg.AssetKey | None]) -> set[str]:
        """The plain names of the assets of this graph among `keys`."""
        start = len(self.prefix)
        return {"/".join(key.path[start:]) for key in keys if key is not None and self._is_own(key)}

    def is_own_run(self, run: dg.DagsterRun) -> bool:
        """Whether a run belongs to this graph. Without a prefix, every run of the instance does."""
        selected = any(self._is_own(key) for key in run.asset_selection or ())
        return selected or run.job_name.startswith(self.name(""))

    def _is_own(self, key: dg.AssetKey) -> bool:
        return tuple(key.path[: len(self.prefix)]) == self.prefix

    @property
    def selection(self) -> dg.AssetSelection:
        """All assets of the graph that can be made."""
        if not self.prefix:
            return dg.AssetSelection.all(include_sources=False)
        return dg.AssetSelection.key_prefixes(list(self.prefix), include_sources=False)

    def ops(self, configured: Mapping[str, Any]) -> dict[str, Any]:
        """The run configuration of ops by their names in Dagster, without GRADED if the graph lacks it: Dagster would refuse it."""
        return {
            self.node(name): {**config, "ops": self.ops(config["ops"])} if "ops" in config else dict(config)
            for name, config in configured.items()
            if name != GRADED or self.has(name)
        }

    def asset(
        self,
        function: Function,
        *,
        name: str = "",
        deps: Iterable[Dep] = (),
        checks: Mapping[str, str] | None = None,
        **more: Any,
    ) -> dg.AssetsDefinition:
        """The asset that `function` makes, by default with the function's name. `checks` has the descriptions of its checks by name.

        The checks have the asset's partitions, so that the result for one partition does not replace the result for another.
        """
        name, partitions = name or function.__name__, more.get("partitions_def")
        key = self.key(name)
        shown = more.pop("metadata", {})
        specs = [
            dg.AssetCheckSpec(
                check, asset=key, description=text, partitions_def=partitions, blocking=self.blocking
            )
            for check, text in (checks or {}).items()
        ]
        make: Any = dg.asset
        return make(
            key=key,
            group_name=self.group(name),
            deps=[self._dep(one) for one in deps],
            check_specs=specs,
            metadata={**shown, **source_of(function)},
            **more,
        )(self.bound(function))

    def _dep(self, dep: Dep) -> dg.AssetDep:
        name, mapping = (dep, None) if isinstance(dep, str) else dep
        return dg.AssetDep(self.key(name), partition_mapping=mapping)

    def bound(self, function: Function) -> Function:
        """A function for Dagster whose parameters `workspace` and `work` are the resources of this graph."""
        if not self.prefix:
            return function
        hints = get_type_hints(function, include_extras=True)
        shape = inspect.signature(function)
        names = {one: self.name(one) if one in _RESOURCES else one for one in shape.parameters}
        plain = {name: one for one, name in names.items()}

        @wraps(function)
        def renamed(*values: Any, **named: Any) -> Any:
            return function(*values, **{plain[name]: value for name, value in named.items()})

        parameters = [
            one.replace(name=names[one.name], annotation=hints.get(one.name, one.annotation))
            for one in shape.parameters.values()
        ]
        # Dagster ignores what a generator function returns, but `renamed` is not a generator function.
        returned = inspect.Signature.empty if inspect.isgeneratorfunction(function) else hints.get("return")
        shape = shape.replace(parameters=parameters, return_annotation=returned)
        vars(renamed)["__signature__"] = shape
        renamed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return renamed
