"""Folders with one configuration file each: corpora, exams, problem sets. A broken one does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import check_name

T = TypeVar("T")


@dataclass(frozen=True)
class FolderKind(Generic[T]):
    """One kind of folder: its name in messages, its configuration file, and how to load it. A folder's name is its key."""

    noun: str
    config_name: str
    load: Callable[[Path], T]

    def load_all(self, parent: Path) -> tuple[dict[str, T], tuple[ConfigError, ...]]:
        """Load every `<parent>/*/<config_name>`, in name order. Returns them by key, and the errors of the broken ones."""
        found: dict[str, T] = {}
        faults: list[ConfigError] = []
        for path in sorted(parent.glob(f"*/{self.config_name}")):
            try:
                found[path.parent.name] = self.load(path.parent)
            except ConfigError as error:
                faults.append(error)
        return found, tuple(faults)

    def find(self, parent: Path, key: str) -> T:
        """Load only the folder `key`. Raises ConfigError as `load` and `pick` do."""
        if key in {path.parent.name for path in parent.glob(f"*/{self.config_name}")}:
            return self.load(parent / key)
        return self.pick(key, parent, *self.load_all(parent))

    def pick(self, key: str, parent: Path, found: Mapping[str, T], faults: Sequence[ConfigError]) -> T:
        """The loaded value of `key`. Raises its ConfigError if it is broken, else one that lists the valid keys."""
        if key in found:
            return found[key]
        for fault in faults:
            if fault.file is not None and Path(fault.file).parent.name == key:
                raise fault
        known = ", ".join(found) or "none"
        raise ConfigError(f"there is no {self.noun} {key!r} in {parent} (there are: {known})")


def content_folder(folder: Path, name: str, config_name: str) -> Path:
    """The path of `folder/name` without links.

    Raises ConfigError when it is no folder, or a link to a folder outside `folder` and outside the folder that holds it.
    """
    try:
        real = (folder / name).resolve()
        homes = (folder.resolve(), folder.parent.resolve())
    except RuntimeError:  # a cycle of links
        raise ConfigError(f"{name}/ is a link to itself", file=folder / config_name) from None
    if not real.is_dir():
        raise ConfigError(f"there is no {name}/ folder next to this file", file=folder / config_name)
    if not any(real.is_relative_to(home) for home in homes):
        fault = f"{name}/ is a link to {real}, which is outside {folder.parent}"
        raise ConfigError(fault, file=folder / config_name)
    return real


def config_path(folder: Path, config_name: str) -> Path:
    """The configuration file of a folder. Raises ConfigError when the folder's name cannot be a key."""
    path = folder / config_name
    try:
        check_name(folder.name)
    except ValueError as error:
        raise ConfigError(f"the folder's name is unusable: {error}", file=path) from None
    return path
