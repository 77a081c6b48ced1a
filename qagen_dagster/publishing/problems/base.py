"""The interface of export formats of problem banks: a bank becomes files by relative path. Nothing is written to disk."""

from __future__ import annotations

from typing import Protocol

from qagen_dagster.records.problems.export import BankExport


class ProblemExporter(Protocol):
    """One export format. The same bank always gives the same bytes."""

    @property
    def name(self) -> str: ...

    def export(self, bank: BankExport) -> dict[str, bytes]:
        """Files by their path under the folder of the bank's exports."""
        ...
