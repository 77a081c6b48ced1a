"""Find problem sets and read their problems.yaml. A broken set is reported and never takes the others down.

What a problems.yaml may say is `records/problems/config.py`; the problems themselves are read elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration.yaml_file import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import check_name
from qagen_dagster.records.problems.config import ProblemSetConfig

FOLDER = "problems"  # under the folder of corpora
CONFIG_NAME = "problems.yaml"
SOURCES = "sources"


@dataclass(frozen=True)
class ProblemSet:
    """A readable problem set: its folder name is its key and its partition."""

    key: str
    folder: Path
    config: ProblemSetConfig

    def file(self, name: str) -> Path:
        """A file under sources."""
        return self.folder / SOURCES / name

    @property
    def references(self) -> tuple[Path, ...]:
        """Folders with references, missing ones too: what searches them says so."""
        return tuple(self.folder / one for one in self.config.references)


@dataclass(frozen=True)
class ProblemSets:
    """All problem sets under one folder of corpora, and what is wrong with the broken ones."""

    folder: Path
    sets: dict[str, ProblemSet] = field(default_factory=dict[str, ProblemSet])
    faults: tuple[ConfigError, ...] = ()

    def get(self, key: str) -> ProblemSet:
        """The set called `key`. Raises ConfigError that names what there is, or what is wrong with it."""
        if key in self.sets:
            return self.sets[key]
        for fault in self.faults:
            if fault.file is not None and Path(fault.file).parent.name == key:
                raise fault
        known = ", ".join(self.sets) or "none"
        raise ConfigError(f"there is no problem set {key!r} in {self.folder} (there are: {known})")


def load_problem_sets(corpora: Path) -> ProblemSets:
    """Read every `<corpora>/problems/*/problems.yaml`, in name order. No folder of problems is no fault."""
    folder = corpora / FOLDER
    found: dict[str, ProblemSet] = {}
    faults: list[ConfigError] = []
    for path in sorted(folder.glob(f"*/{CONFIG_NAME}")):
        try:
            one = load_problem_set(path.parent)
        except ConfigError as error:
            faults.append(error)
        else:
            found[one.key] = one
    return ProblemSets(folder, found, tuple(faults))


def find_problem_set(corpora: Path, key: str) -> ProblemSet:
    """Read the set `key` alone. Raises ConfigError; for an unknown one it names those that exist."""
    folder = corpora / FOLDER
    if key in {path.parent.name for path in folder.glob(f"*/{CONFIG_NAME}")}:
        return load_problem_set(folder / key)
    return load_problem_sets(corpora).get(key)


def load_problem_set(folder: Path) -> ProblemSet:
    """Read one set. Raises ConfigError when its problems.yaml cannot be used or names a file that is not there."""
    path = folder / CONFIG_NAME
    try:
        check_name(folder.name)
    except ValueError as error:
        raise ConfigError(f"the folder's name is unusable: {error}", file=path) from None
    found = ProblemSet(folder.name, folder, read_yaml(path, ProblemSetConfig))
    home = (folder / SOURCES).resolve()
    for place, source in enumerate(found.config.sources):
        file, key = found.file(source.file), f"sources.{place}.file"
        if not file.is_file():
            raise ConfigError(f"there is no file {file}", file=path, key=key)
        if not file.resolve().is_relative_to(home):
            raise ConfigError(f"{source.file} leads out of {SOURCES}", file=path, key=key)
    return found
