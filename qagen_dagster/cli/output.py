"""Files that a command is told to write: whole or not at all, in a folder that is there."""

from __future__ import annotations

from pathlib import Path

import click

from qagen_dagster.errors import ConfigError
from qagen_dagster.store import Store

OUTPUT = click.Path(path_type=Path, dir_okay=False)


def output_store(output: Path) -> Store:
    """The folder of `output` as a store. Raises ConfigError when it is not there."""
    if not output.parent.is_dir():
        raise ConfigError(f"cannot write {output}: {output.parent} is not a folder")
    return Store(output.absolute().parent)


def write_output(output: Path, data: bytes) -> None:
    """Write `data` to `output` atomically. Raises ConfigError when its folder is not there."""
    output_store(output).write_bytes(output.name, data)
