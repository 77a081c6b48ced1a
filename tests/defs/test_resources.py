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
    names = set(WorkspaceResource.model_fields) - {"default_profile"} | {
        "profile"
    }  # an op has a field `profile` of its own
    assert names == set(Settings.__dataclass_fields__)
