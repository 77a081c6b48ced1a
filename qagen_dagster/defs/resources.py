"""The resource that carries the settings into ops, where it builds a plain workspace."""

from pathlib import Path
from typing import Self

import dagster as dg

from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings


class WorkspaceResource(dg.ConfigurableResource[Workspace]):
    """Where corpora, store and profiles are, and how much work runs at once. Shown in the launchpad."""

    corpora: str
    assets: str
    profile: str
    profiles: str | None = None
    document_workers: int = 8
    parser_workers: int = 2
    parser_seconds: float = 300.0
    parser_memory_mb: int = 4096
    state: str
    shard_size: int | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The resource that rebuilds `settings`."""
        return cls(
            corpora=str(settings.corpora),
            assets=settings.assets,
            profile=settings.profile,
            profiles=str(settings.profiles) if settings.profiles else None,
            document_workers=settings.document_workers,
            parser_workers=settings.parser_workers,
            parser_seconds=settings.parser_seconds,
            parser_memory_mb=settings.parser_memory_mb,
            state=str(settings.state),
            shard_size=settings.shard_size,
        )

    def open(self) -> Workspace:
        """A workspace. It reads corpora and profiles again, so edits need no reload."""
        return Workspace(
            Settings(
                corpora=Path(self.corpora),
                assets=self.assets,
                profile=self.profile,
                profiles=Path(self.profiles) if self.profiles else None,
                document_workers=self.document_workers,
                parser_workers=self.parser_workers,
                parser_seconds=self.parser_seconds,
                parser_memory_mb=self.parser_memory_mb,
                state=Path(self.state),
                shard_size=self.shard_size,
            )
        )
