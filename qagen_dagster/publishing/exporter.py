"""What an export format is: one set or bank in, files by relative path out. It does not write to disk."""

from __future__ import annotations

from typing import Protocol, TypeVar

SetT = TypeVar("SetT", contravariant=True)


class Exporter(Protocol[SetT]):
    """One export format. Pure: the same set or bank gives the same bytes."""

    @property
    def name(self) -> str: ...

    def export(self, exported: SetT, /) -> dict[str, bytes]:
        """Files by their path under the folder of the exports."""
        ...
