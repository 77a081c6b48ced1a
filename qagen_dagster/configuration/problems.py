"""Finds problem sets and reads their problems.yaml. A broken set is reported and does not affect the others.

The fields of a problems.yaml are in `records/problems/config.py`. This module does not read the problems.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration.folders import FolderKind, config_path
from qagen_dagster.configuration.yaml_file import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.problems.config import ProblemSetConfig

FOLDER = "problems"  # in the corpora folder
CONFIG_NAME = "problems.yaml"
SOURCES = "sources"


@dataclass(frozen=True)
class ProblemSet:
    """A valid problem set. The name of its folder is its key and its partition key."""

    key: str
    folder: Path
    config: ProblemSetConfig

    def file(self, name: str) -> Path:
        """The path of a file in sources/."""
        return self.folder / SOURCES / name

    @property
    def references(self) -> tuple[Path, ...]:
        """The folders with references. A missing one is reported when it is searched."""
        return tuple(self.folder / one for one in self.config.references)


@dataclass(frozen=True)
class ProblemSets:
    """All problem sets in a corpora folder, and the errors of the broken ones."""

    folder: Path
    sets: dict[str, ProblemSet] = field(default_factory=dict[str, ProblemSet])
    faults: tuple[ConfigError, ...] = ()

    def get(self, key: str) -> ProblemSet:
        """The set called `key`. Raises ConfigError."""
        return _SETS.pick(key, self.folder, self.sets, self.faults)


def load_problem_sets(corpora: Path) -> ProblemSets:
    """Read every `<corpora>/problems/*/problems.yaml`, in name order. A missing problems/ folder is no error."""
    return ProblemSets(corpora / FOLDER, *_SETS.load_all(corpora / FOLDER))


def find_problem_set(corpora: Path, key: str) -> ProblemSet:
    """Read only the set `key`. Raises ConfigError; for an unknown key it lists the valid ones."""
    return _SETS.find(corpora / FOLDER, key)


def load_problem_set(folder: Path) -> ProblemSet:
    """Read one set. Raises ConfigError when its problems.yaml is invalid or names a missing file."""
    path = config_path(folder, CONFIG_NAME)
    found = ProblemSet(folder.name, folder, read_yaml(path, ProblemSetConfig))
    home = (folder / SOURCES).resolve()
    for place, source in enumerate(found.config.sources):
        file, key = found.file(source.file), f"sources.{place}.file"
        if not file.is_file():
            raise ConfigError(f"there is no file {file}", file=path, key=key)
        if not file.resolve().is_relative_to(home):
            raise ConfigError(f"{source.file} is a link out of {SOURCES}/", file=path, key=key)
    return found


_SETS = FolderKind("problem set", CONFIG_NAME, load_problem_set)
