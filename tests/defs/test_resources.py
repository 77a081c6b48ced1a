from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.settings import Settings


@pytest.mark.parametrize(
    "settings",
    [
        Settings(corpora=Path("/a/corpora"), assets="/a/assets"),
        Settings(
            corpora=Path("/a/corpora"),
            assets="memory://assets",
            profile="other",
            profiles=Path("/a/profiles"),
            document_workers=3,
            parser_workers=4,
            parser_seconds=5.0,
            parser_memory_mb=600,
            state=Path("/a/state"),
            shard_size=7,
        ),
    ],
)
def test_the_resource_carries_every_setting_into_an_op(settings: Settings) -> None:
    resource = WorkspaceResource.of(settings, Layout())
    assert resource.open().settings == settings
    assert WorkspaceResource(**resource.model_dump()).open().settings == settings
    renamed = {"default_profile": "profile"}  # an op has a field `profile` of its own
    names = {renamed.get(name, name) for name in WorkspaceResource.model_fields} - {"key_prefix"}
    assert names == set(Settings.__dataclass_fields__)


@pytest.mark.parametrize("layout", [Layout(), Layout(("a",)), Layout(("a", "b_c"), ("exams",))])
def test_the_resource_knows_the_layout_of_its_graph(layout: Layout) -> None:
    settings = Settings(corpora=Path("/a/corpora"), assets="/a/store", optional=layout.optional)
    assert WorkspaceResource.of(settings, layout).layout == layout
