"""Find corpora and read their corpus.yaml. A broken one is reported and never takes the others down."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration.yaml_file import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.corpus import CorpusConfig, ScenarioConfig
from qagen_dagster.records.ids import Combination, Mode, check_name

CONFIG_NAME = "corpus.yaml"
RESERVED = ("exams", "problems")  # folders of other kinds of input


@dataclass(frozen=True)
class Corpus:
    """A readable corpus: its folder name is its key."""

    key: str
    folder: Path
    config: CorpusConfig

    @property
    def documents_folder(self) -> Path:
        return self.folder / "documents"

    def scenario(self, key: str) -> ScenarioConfig:
        """The scenario called `key`. Raises ConfigError that names those there are."""
        if key in self.config.scenarios:
            return self.config.scenarios[key]
        known = ", ".join(self.config.scenarios)
        raise ConfigError(
            f"there is no scenario {key!r} (there are: {known})", file=self.folder / CONFIG_NAME
        )

    def combinations(self) -> tuple[Combination, ...]:
        """Every scenario x mode that the corpus declares, in order."""
        return tuple(
            Combination(corpus=self.key, scenario=scenario, mode=mode)
            for scenario, config in self.config.scenarios.items()
            for mode in Mode
            if mode in config.modes
        )


@dataclass(frozen=True)
class Corpora:
    """All corpora under one folder, and what is wrong with the broken ones."""

    folder: Path
    corpora: dict[str, Corpus] = field(default_factory=dict[str, Corpus])
    faults: tuple[ConfigError, ...] = ()

    def get(self, key: str) -> Corpus:
        """The corpus called `key`. Raises ConfigError that names what there is, or what is wrong with it."""
        if key in self.corpora:
            return self.corpora[key]
        for fault in self.faults:
            if fault.file is not None and Path(fault.file).parent.name == key:
                raise fault
        raise ConfigError(
            f"there is no corpus {key!r} in {self.folder} (there are: {', '.join(self.corpora) or 'none'})"
        )

    def chosen(self, key: str | None) -> list[Corpus]:
        """The corpus called `key`, or all without a key. Raises ConfigError as `get` does, and when none is readable."""
        if key is not None:
            return [self.get(key)]
        if not self.corpora and self.faults:
            raise self.faults[0]
        return list(self.corpora.values())

    def combinations(
        self, corpus: str | None = None, scenario: str | None = None, mode: Mode | None = None
    ) -> tuple[Combination, ...]:
        """Combinations that match. Raises ConfigError when a name is unknown or nothing matches."""
        found = tuple(
            combination
            for each in self.chosen(corpus)
            for combination in each.combinations()
            if scenario in (None, combination.scenario) and mode in (None, combination.mode)
        )
        if not found:
            wanted = "/".join((corpus or "*", scenario or "*", mode.value if mode else "*"))
            raise ConfigError(f"no combination matches {wanted} in {self.folder}")
        return found


def load_corpora(folder: Path) -> Corpora:
    """Read every `<folder>/*/corpus.yaml`, in name order."""
    found: dict[str, Corpus] = {}
    faults: list[ConfigError] = []
    if not folder.is_dir():
        return Corpora(folder, faults=(ConfigError("is not a folder", file=folder),))
    for path in sorted(folder.glob(f"*/{CONFIG_NAME}")):
        try:
            found[path.parent.name] = load_corpus(path.parent)
        except ConfigError as error:
            faults.append(error)
    return Corpora(folder, found, tuple(faults))


def find_corpus(folder: Path, key: str) -> Corpus:
    """Read the corpus `key` alone. Raises ConfigError; for an unknown one it names those that exist."""
    if key in {path.parent.name for path in folder.glob(f"*/{CONFIG_NAME}")}:
        return load_corpus(folder / key)
    return load_corpora(folder).get(key)


def load_corpus(folder: Path) -> Corpus:
    """Read one corpus. Raises ConfigError."""
    path = folder / CONFIG_NAME
    try:
        check_name(folder.name)
    except ValueError as error:
        raise ConfigError(f"the folder's name is unusable: {error}", file=path) from None
    if folder.name in RESERVED:
        raise ConfigError(
            f"a corpus may not be called {folder.name}: the folder is for {folder.name}", file=path
        )
    config = read_yaml(path, CorpusConfig)
    if not (folder / "documents").is_dir():
        raise ConfigError("there is no documents/ folder beside it", file=path)
    return Corpus(folder.name, folder, config)
