"""JATS XML articles (journal publishing and archiving tag sets)."""

from __future__ import annotations

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import (
    PageImage,
    ParsedText,
    ParseOptions,
    RenderOptions,
    RowFailure,
    Source,
)
from qagen_dagster.records.document import Visual


class JatsFormat:
    """Not read yet: the slot in the registry."""

    name = "jats"
    version = "0"
    suffixes: tuple[str, ...] = (".xml", ".nxml", ".jats")

    def sniff(self, head: bytes) -> bool:
        """Whether an article element stands near the start."""
        return b"<article" in head

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """Raises DocumentError `unsupported`."""
        raise DocumentError("unsupported", "JATS is not read yet")

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        """Nothing."""
        return ()

    def render(
        self, source: Source, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """None."""
        return None
