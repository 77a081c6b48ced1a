"""The resource that carries the settings into ops, where it builds a plain workspace."""

import logging
from pathlib import Path
from typing import Any, Self

import dagster as dg
from pydantic import Field

from qagen_dagster.defs.config_versions import observe_launch
from qagen_dagster.defs.layout import Layout, path_of
from qagen_dagster.defs.run_records import PARTITION_TAG, close_record, open_record, planned_assets
from qagen_dagster.loop.dagster_home import check_owner
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import OPTIONAL, PARSER_MEMORY_MB, PARSER_SECONDS, Settings
from qagen_dagster.store import Store

# Warnings of the package go to stderr and to the event log of the current run.
_LOGGER = logging.getLogger("qagen_dagster")
_LOGGER.addHandler(logging.lastResort or logging.StreamHandler())
_LOGGER.parent = dg.get_dagster_logger()
_PATHS = ("corpora", "profiles", "state")


class WorkspaceResource(dg.ConfigurableResource[Workspace]):
    """Where corpora, store and profiles are, and how much work runs at once. Shown in the launchpad."""

    corpora: str = Field(description="Folder of corpora.")
    assets: str = Field(description="Root of the store: a folder or an fsspec URL.")
    default_profile: str = Field(description="The profile of launches that name none.")
    profiles: str | None = Field(None, description="Folder searched for profiles before the shipped ones.")
    document_workers: int = Field(
        8, description="Maximum number of model calls that one process has in flight for question sets."
    )
    parser_workers: int = Field(2, description="Parser processes.")
    parser_seconds: float = Field(PARSER_SECONDS, description="Time limit for parsing one document.")
    parser_memory_mb: int = Field(PARSER_MEMORY_MB, description="Memory limit of one parser process.")
    state: str = Field(description="Local folder by which processes share rate limits.")
    shard_size: int | None = Field(None, description="Documents per op; by default at most 32 ops are used.")
    automation_max_usd: float | None = Field(
        None, description="Limit in US dollars of what one tick of a sensor or schedule launches."
    )
    automation_max_usd_per_day: float | None = Field(
        None, description="Limit in US dollars of what sensors and schedules launch in a day (UTC)."
    )
    optional: list[str] = Field(list(OPTIONAL), description="The optional products that are made.")
    key_prefix: str = Field("", description="What the asset keys of the graph begin with.")

    @classmethod
    def of(cls, settings: Settings, layout: Layout) -> Self:
        """The resource whose `open` uses `settings`."""
        values: dict[str, Any] = dict(vars(settings))
        values |= {name: str(values[name]) for name in _PATHS if values[name]}
        values |= {"optional": list(settings.optional), "key_prefix": "/".join(layout.prefix)}
        return cls(default_profile=values.pop("profile"), **values)

    @property
    def layout(self) -> Layout:
        """The layout of the graph whose ops have this resource."""
        return Layout(path_of(self.key_prefix), tuple(self.optional))

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        if context.run is not None and context.instance is not None:
            layout = self.layout
            if not layout.prefix:  # with a prefix, several stores may share the instance
                check_owner(Path(context.instance.root_directory), self.assets)
            open_record(layout, Store(self.assets), context.instance, context.run)
            key = context.run.tags.get(PARTITION_TAG)
            if key is not None:
                assets = planned_assets(layout, context.instance, context.run)
                observe_launch(layout, self.open(), context.instance, context.run, assets, key)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        if context.run is not None and context.instance is not None:
            close_record(self.layout, Store(self.assets), context.instance, context.run)

    def open(self) -> Workspace:
        """A new workspace. It reads corpora and profiles again, so that edits need no reload of the definitions."""
        values = self.model_dump(exclude={"key_prefix"})
        values |= {name: Path(values[name]) for name in _PATHS if values[name]}
        values["optional"] = tuple(self.optional)
        return Workspace(Settings(profile=values.pop("default_profile"), **values))


def build_work(layout: Layout, begun: Work | None) -> dg.ResourceDefinition:
    """The resource `work`: the work that the command has `begun`, or else new work.

    If each op runs in a process of its own, each op gets new work. The resource requires the workspace, whose set-up records the run.
    """

    @dg.resource(
        required_resource_keys={layout.name("workspace")},
        description="Parses documents and asks questions when a run wants them, or hands over what was begun before the run.",
    )
    def work(context: dg.InitResourceContext) -> Work:
        return begun or Work(getattr(context.resources, layout.name("workspace")).open())

    return work
