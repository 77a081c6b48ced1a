"""JSONL: one item per line, with all its data."""

from __future__ import annotations

from qagen_dagster.records.problems.result import BankExport


class JsonLines:
    """One file."""

    name = "jsonl"

    def export(self, bank: BankExport) -> dict[str, bytes]:
        return {"items.jsonl": "".join(f"{item.model_dump_json()}\n" for item in bank.items).encode()}
