"""Finds corpora and reads their corpus.yaml. A broken corpus is reported and does not affect the others. The keys
and their defaults are in `records/corpus_options.py`, and the messages about wrong keys are in `yaml_files.py`."""

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration.yaml_files import FolderKind, config_path, content_folder, read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.corpus_options import CorpusConfig, ScenarioConfig
from qagen_dagster.records.ids import Combination, Mode

CONFIG_NAME = "corpus.yaml"
RESERVED = ("exams", "problems")  # folders beside the corpora that hold exams and problem sets
TEMPLATE = """\
# What a corpus is and which questions it gets. docs/corpora.md explains every key.
name: {name}

# Part of every prompt: what the documents are, who wrote them, what they contain.
corpus_context: >
  Describe the documents in two or three sentences.

scenarios:
  retrieval:
    name: Retrieval
    # Part of every prompt: who asks, what the questions are for, two examples.
    description: >
      Factual questions with one short answer, to test whether a search over the
      documents finds the right passage. Each question names what it is about.
    modes: [textual]  # visual: questions about tables, figures and page images
    target_count: 5  # accepted questions per document
"""


@dataclass(frozen=True)
class Corpus:
    """A valid corpus. The name of its folder is its key."""

    key: str
    folder: Path
    config: CorpusConfig

    @property
    def documents_folder(self) -> Path:
        return self.folder / "documents"

    def documents_root(self) -> Path:
        """The path of documents/ with its links resolved. Raises ConfigError when it is missing, or is a link out of the corpora folder."""
        return content_folder(self.folder, "documents", CONFIG_NAME)

    def scenario(self, key: str) -> ScenarioConfig:
        """The scenario called `key`. Raises ConfigError for an unknown key; the message lists the scenarios."""
        if key in self.config.scenarios:
            return self.config.scenarios[key]
        known = ", ".join(self.config.scenarios)
        raise ConfigError(
            f"there is no scenario {key!r} (there are: {known})", file=self.folder / CONFIG_NAME
        )

    def combinations(self) -> tuple[Combination, ...]:
        return tuple(
            Combination(corpus=self.key, scenario=scenario, mode=mode)
            for scenario, config in self.config.scenarios.items()
            for mode in Mode
            if mode in config.modes
        )


@dataclass(frozen=True)
class Corpora:
    """All corpora in one folder, and the errors of the broken ones."""

    folder: Path
    corpora: dict[str, Corpus] = field(default_factory=dict[str, Corpus])
    faults: tuple[ConfigError, ...] = ()

    def chosen(self, key: str | None) -> list[Corpus]:
        """The corpus called `key`; all valid corpora without a key. Raises ConfigError as `find_corpus` does, and when all are broken."""
        if key is not None:
            return [find_corpus(self.folder, key)]
        if not self.corpora and self.faults:
            raise self.faults[0]
        return list(self.corpora.values())

    def combinations(
        self, corpus: str | None = None, scenario: str | None = None, mode: Mode | None = None
    ) -> tuple[Combination, ...]:
        """The combinations that match. Raises ConfigError as `chosen` does, and when nothing matches."""
        every = [combination for each in self.chosen(corpus) for combination in each.combinations()]
        found = tuple(one for one in every if scenario in (None, one.scenario) and mode in (None, one.mode))
        if not found:
            wanted = "/".join((corpus or "*", scenario or "*", mode.value if mode else "*"))
            there = ", ".join(one.key for one in every)
            raise ConfigError(f"no combination matches {wanted} in {self.folder} (there are: {there})")
        return tuple(found)


def load_corpora(folder: Path) -> Corpora:
    """Read every `<folder>/*/corpus.yaml`, in name order. A missing folder is one of the `faults`."""
    if not folder.is_dir():
        return Corpora(folder, faults=(ConfigError("is not a folder", file=folder),))
    found, faults = _CORPORA.load_all(folder)
    return Corpora(folder, found, faults)


def find_corpus(folder: Path, key: str) -> Corpus:
    """Read the corpus `key`. Raises ConfigError for a broken corpus, and for an unknown key (the message then lists the valid keys)."""
    return _CORPORA.find(folder, key)


def load_corpus(folder: Path) -> Corpus:
    """Read the corpus in `folder`. Raises ConfigError when it is broken."""
    path = config_path(folder, CONFIG_NAME)
    if folder.name in RESERVED:
        raise ConfigError(
            f"a corpus cannot have the name {folder.name}, which is reserved for {folder.name}", file=path
        )
    corpus = Corpus(folder.name, folder, read_yaml(path, CorpusConfig))
    corpus.documents_root()
    return corpus


_CORPORA = FolderKind("corpus", CONFIG_NAME, load_corpus)
