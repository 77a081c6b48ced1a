"""Pushes an exported set to an MLflow server or to a dataset repository of the Hugging Face Hub. Pushing it again changes nothing."""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from qagen_dagster.errors import ConfigError, StoreError

Files = Mapping[str, bytes]
_AT_ONCE = 1_000  # records of a request
_SECONDS = 10.0  # until a server counts as absent


def push(form: str, destination: str, name: str, files: Files) -> bool:
    """Whether the files of a set in the format `form` changed anything at the destination.

    Raises ConfigError if the package for it is missing, and StoreError if the destination does not take the set.
    """
    try:
        return (_to_mlflow if form == "mlflow" else _to_hub)(destination, name, files)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--push to {form} needs {error.name}: pip install 'qagen-dagster[{form}]'"
        ) from None
    except Exception as error:  # both packages raise many kinds
        raise StoreError(f"{name} is not pushed to {destination}: {type(error).__name__}: {error}") from error


def _to_mlflow(address: str, name: str, files: Files) -> bool:
    """Adds and replaces the records of the dataset `name`, and removes those of other questions. Records of other programs stay."""
    import httpx

    mlflow, datasets = (import_module(module) for module in ("mlflow", "mlflow.genai.datasets"))
    if address.startswith("http"):  # MLflow itself tries for minutes
        httpx.get(f"{address.rstrip('/')}/health", timeout=_SECONDS).raise_for_status()
    mlflow.set_tracking_uri(address)
    known = datasets.search_datasets(filter_string=f"name = '{name}'")
    dataset = known[0] if known else datasets.create_dataset(name=name)
    ours = (one for one in dataset.to_df().to_dict("records") if "question_id" in one["inputs"])
    before: dict[str, str] = {_content(one): one["dataset_record_id"] for one in ours}
    wanted = {_content(one): one for one in map(json.loads, files["records.jsonl"].splitlines())}
    if stale := [record for key, record in before.items() if key not in wanted]:
        dataset.delete_records(stale)
    new = [one for key, one in wanted.items() if key not in before]
    for start in range(0, len(new), _AT_ONCE):
        dataset.merge_records(new[start : start + _AT_ONCE])
    return bool(stale or new)


def _content(record: Mapping[str, Any]) -> str:
    """A text that is the same for equal records. MLflow adds tags of its own."""
    tags = {name: value for name, value in record["tags"].items() if not name.startswith("mlflow.")}
    return json.dumps([record["inputs"], record["expectations"], tags], sort_keys=True)


def _to_hub(repository: str, name: str, files: Files) -> bool:
    """Commits the files to the dataset `repository`, which is made, private, if it is not there."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()
    logging.set_verbosity_error()
    hub = HfApi()
    hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
    before = hub.repo_info(repository, repo_type="dataset").sha
    added = [CommitOperationAdd(path, data) for path, data in files.items()]
    return hub.create_commit(repository, added, commit_message=name, repo_type="dataset").oid != before
