"""Datasets that merge records with the same inputs, as those of MLflow do."""

from __future__ import annotations

from typing import Any

import pandas

KNOWN: list[Dataset] = []


class Dataset:
    def __init__(self, name: str) -> None:
        self.name, self.rows, self.calls = name, list[dict[str, Any]](), 0

    def to_df(self) -> pandas.DataFrame:
        return pandas.DataFrame(self.rows, columns=["inputs", "expectations", "tags", "dataset_record_id"])

    def merge_records(self, records: list[dict[str, Any]]) -> None:
        self.calls += 1
        for one in records:
            known = next((row for row in self.rows if row["inputs"] == one["inputs"]), None)
            tags = {"mlflow.user": "ida", **one["tags"]}
            if known is None:
                number = f"dr-{self.calls}-{len(self.rows)}"
                self.rows.append({**one, "tags": tags, "dataset_record_id": number})
            else:
                known["expectations"] = {**known["expectations"], **one["expectations"]}
                known["tags"] = {**known["tags"], **tags}

    def delete_records(self, ids: list[str]) -> None:
        self.calls += 1
        self.rows = [row for row in self.rows if row["dataset_record_id"] not in ids]


def search_datasets(filter_string: str) -> list[Dataset]:
    return [one for one in KNOWN if filter_string == f"name = '{one.name}'"]


def create_dataset(name: str) -> Dataset:
    KNOWN.append(Dataset(name))
    return KNOWN[-1]
