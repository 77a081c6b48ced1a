"""Pushes an exported set to an MLflow server or to a dataset repository of the Hugging Face Hub. Pushing it again changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from qagen_dagster.errors import ConfigError, StoreError

Files = Mapping[str, bytes]
_AT_ONCE = 1_000  # records of a request
_SECONDS = 10.0  # until a server counts as absent


def push(form: str, destination: str, name: str, files: Files, *, endpoint: str | None, public: bool) -> bool:
    """Whether the files of a set in the format `form` changed anything at the destination.

    Raises ConfigError if the package for it is missing, and StoreError if the destination does not take the set.
    """
    try:
        if form == "mlflow":
            return _to_mlflow(destination, name, files)
        return _to_hub(destination, name, files, endpoint, public)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--push to {form} needs {error.name}: pip install 'qagen-dagster[{form}]'"
        ) from None
    except Exception as error:  # both packages raise many kinds
        raise StoreError(f"{name} is not pushed to {destination}: {type(error).__name__}: {error}") from error


def _to_mlflow(address: str, name: str, files: Files) -> bool:
    """Adds and replaces the records of the dataset `name`, and removes those of other questions. Records of other programs stay."""
    import httpx
    import mlflow  # pyright: ignore
    from mlflow.genai import datasets  # pyright: ignore

    if address.startswith("http"):
        httpx.get(
            f"{address.rstrip('/')}/health", timeout=_SECONDS
        ).raise_for_status()  # MLflow tries for minutes
    tool: Any = datasets
    mlflow.set_tracking_uri(address)
    known = tool.search_datasets(filter_string=f"name = '{name}'")
    dataset = known[0] if known else tool.create_dataset(name=name)
    rows = map(json.loads, files["records.jsonl"].splitlines())
    wanted = {row["inputs"]["question_id"]: row for row in rows}
    stale: list[str] = []
    for record in dataset.to_df().to_dict("records"):
        key = record["inputs"].get("question_id", "")
        row = wanted.get(key)
        same = (
            row is not None
            and row["expectations"] == record["expectations"]
            and row["inputs"] == record["inputs"]
        )
        if row is not None and same and row["tags"].items() <= record["tags"].items():
            del wanted[key]
        elif key:
            stale.append(record["dataset_record_id"])
    if stale:
        dataset.delete_records(stale)
    new = list(wanted.values())
    for start in range(0, len(new), _AT_ONCE):
        dataset.merge_records(new[start : start + _AT_ONCE])
    return bool(stale or new)


def _to_hub(repository: str, name: str, files: Files, endpoint: str | None, public: bool) -> bool:
    """Commits the files to the dataset `repository`, which is made first, private unless `public`."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()
    logging.set_verbosity_error()
    hub = HfApi(endpoint=endpoint)
    hub.create_repo(repository, repo_type="dataset", private=not public, exist_ok=True)
    before = hub.repo_info(repository, repo_type="dataset").sha
    added = [CommitOperationAdd(path, data) for path, data in files.items()]
    return hub.create_commit(repository, added, commit_message=name, repo_type="dataset").oid != before
