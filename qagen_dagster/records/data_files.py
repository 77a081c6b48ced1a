"""Reads the data files of the package that are beside its code."""

import tomllib
from importlib.resources import files
from typing import Any


def read_table(package: str | None, *names: str) -> dict[str, Any]:
    """The content of one or more TOML files in the folder of a package, read as one file."""
    folder = files(package or "")
    return tomllib.loads("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names))
