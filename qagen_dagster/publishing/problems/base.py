"""What an export format of problem banks is: one bank in, files by relative path out. No disk."""

from __future__ import annotations

from typing import Protocol

from qagen_dagster.records.problems.export import BankExport


class ProblemExporter(Protocol):
    """One export format. Pure: the same bank gives the same bytes."""

    @property
    def name(self) -> str: ...

    def export(self, bank: BankExport) -> dict[str, bytes]:
        """Files by their path under the folder of the bank's exports."""
        ...
