"""Finds problem sets and reads their problems.yaml. A broken set is reported and does not affect the others.

The fields of a problems.yaml are in `records/problems/config.py`. This module checks that the source files
exist, but does not read the problems in them.
"""

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration import yaml_files
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.problems.config import ProblemSetConfig
from qagen_dagster.untrusted_file import open_file

FOLDER = "problems"  # in the corpora folder
CONFIG_NAME = "problems.yaml"
SOURCES = "sources"  # in the folder of a set


@dataclass(frozen=True)
class ProblemSet:
    """A valid problem set. The name of its folder is its key and its partition key."""

    key: str
    folder: Path
    config: ProblemSetConfig
    prompts: dict[str, str] = field(default_factory=dict[str, str], hash=False)  # replace shipped prompts

    def file(self, name: str) -> Path:
        """The path of a file in sources/."""
        return self.folder / SOURCES / name

    def sources_root(self) -> Path:
        """The path of sources/ after its links are resolved.

        Raises ConfigError when sources/ is missing, or when it is a link to a folder that is neither in the set's folder nor in problems/.
        """
        return yaml_files.content_folder(self.folder, SOURCES, CONFIG_NAME)

    @property
    def references(self) -> tuple[Path, ...]:
        """The paths of the folders with TikZ references. They may be missing; this is reported when the references are read."""
        return tuple(self.folder / one for one in self.config.references)


def load_problem_sets(corpora: Path) -> yaml_files.Loaded[ProblemSet]:
    """Read every `<corpora>/problems/*/problems.yaml`, in name order. A missing problems/ folder is no error."""
    return _SETS.load_all(corpora / FOLDER)


def find_problem_set(corpora: Path, key: str) -> ProblemSet:
    """Read the set `key`, without the other sets. Raises ConfigError when it is broken or does not exist.

    If it does not exist, all sets are read, because the message lists the valid keys.
    """
    return _SETS.find(corpora / FOLDER, key)


def load_problem_set(folder: Path) -> ProblemSet:
    """Read the set in `folder`.

    Raises ConfigError when the name of the folder cannot be a key, when problems.yaml is invalid, when
    sources/ cannot be used, or when a source file is missing, is not a regular file, or is outside sources/.
    """
    path = yaml_files.config_path(folder, CONFIG_NAME)
    config = yaml_files.read_yaml(path, ProblemSetConfig)
    found = ProblemSet(
        folder.name, folder, config, yaml_files.prompt_texts(folder, config.prompts, CONFIG_NAME)
    )
    home = found.sources_root()
    for place, source in enumerate(found.config.sources):
        key = f"sources.{place}.file"
        try:
            open_file(found.file(source.file), home).close()
        except FileNotFoundError:
            raise ConfigError(f"there is no file {found.file(source.file)}", file=path, key=key) from None
        except OSError as error:
            raise ConfigError(f"{source.file}: {error.strerror}", file=path, key=key) from None
    return found


_SETS = yaml_files.FolderKind("problem set", CONFIG_NAME, load_problem_set)
