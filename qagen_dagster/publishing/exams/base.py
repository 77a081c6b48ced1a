"""What an export format of item banks is: one bank in, files by relative path out. No disk."""

from __future__ import annotations

from typing import Protocol

from qagen_dagster.records.exams.bank import ItemBank


class BankExporter(Protocol):
    """One export format. Pure: the same bank gives the same bytes."""

    @property
    def name(self) -> str: ...

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        """Files by their path under the folder of the bank's exports."""
        ...
