"""The project as one op uses it: settings, store, corpora, profiles, models, parsers. Each op builds one."""

import atexit
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from qagen_dagster.configuration.corpora import CONFIG_NAME, Corpora, Corpus, find_corpus, load_corpora
from qagen_dagster.configuration.profiles import Profile, Role, load_profile
from qagen_dagster.errors import StoreError
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.models import embedders
from qagen_dagster.models.base import Model
from qagen_dagster.models.batch_records import JobBook
from qagen_dagster.models.batcher import Batchers
from qagen_dagster.models.embedders import Encode
from qagen_dagster.models.ledger import Breaker, Ledger
from qagen_dagster.models.providers import build_model
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.document import CorpusIndex, IndexEntry
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.settings import Settings, secret
from qagen_dagster.store import Store

_KEPT = 1_000  # maximum corpora, and maximum profiles, that are kept until their files change


@dataclass(frozen=True)
class Workspace:
    """The project as one op uses it."""

    settings: Settings

    @cached_property
    def store(self) -> Store:
        return Store(self.settings.assets)

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self.store.blobs("ledger"))

    @cached_property
    def corpora(self) -> Corpora:
        return load_corpora(self.settings.corpora)

    def corpus(self, key: str) -> Corpus:
        """A corpus as its file now describes it. Raises ConfigError for an unknown or broken corpus."""
        folder = self.settings.corpora
        return _corpus(folder, key, _state(folder / key / CONFIG_NAME))

    def index(self, corpus: str) -> CorpusIndex:
        """The parsed documents of a corpus. Raises StoreError if the corpus was never parsed."""
        found = self.store.find(CorpusIndex.key(corpus), CorpusIndex)
        if found is None:
            raise StoreError(f"corpus {corpus} has not been parsed: materialize parsed_documents first")
        return found

    def entries(self, corpus: str) -> Iterator[IndexEntry]:
        """The parsed documents of a corpus, one at a time. Raises StoreError, perhaps only after some documents."""
        return self.store.rows(CorpusIndex.key(corpus), CorpusIndex, IndexEntry)

    def profile_name(self, combination: Combination, wanted: str | None) -> str:
        """The name of the profile that the run wants, else of the scenario's profile, else of the default profile."""
        scenario = self.corpus(combination.corpus).scenario(combination.scenario)
        return wanted or scenario.profile or self.settings.profile

    def profile(self, name: str) -> Profile:
        """A profile as its file now describes it. Raises ConfigError for an unknown or broken profile."""
        folder = self.settings.profiles
        return _profile(name, folder, _state(None if folder is None else folder / f"{name}.yaml"))

    def find_model(self, profile: Profile, role: Role, mode: Mode) -> Model | None:
        """The model of a role; None if the profile has none. Raises ConfigError as `model` does."""
        spec = profile.find(role, mode)
        return None if spec is None else self.model(spec)

    def model(self, spec: ModelSpec) -> Model:
        """The model of a spec. Raises ConfigError for an unknown provider or a missing key."""
        settings = self.settings
        shared = _batchers(settings.assets), _breaker(settings.assets, spec.model_dump_json())
        return build_model(spec, self._ledger, secret, settings.state, *shared)

    @property
    def encode(self) -> Encode:
        """The function that embeds questions in order to compare them."""
        return embedders.encode

    def parsers(self) -> ParserPool:
        """The parser workers of this process. They start at first use and end with the process."""
        chosen = self.settings
        return _parsers(chosen.parser_workers, chosen.parser_seconds, chosen.parser_memory_mb * 1_000_000)


def _state(file: Path | None) -> tuple[int, ...] | None:
    """Identity, size and times of a file, which change with its content; None if there is no file."""
    try:
        found = None if file is None else file.stat()
    except (OSError, ValueError):  # ValueError for a name with a null character
        return None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(maxsize=_KEPT)
def _corpus(folder: Path, key: str, _state: tuple[int, ...] | None) -> Corpus:
    return find_corpus(folder, key)


@lru_cache(maxsize=_KEPT)
def _profile(name: str, folder: Path | None, _state: tuple[int, ...] | None) -> Profile:
    return load_profile(name, folder)


@cache
def _batchers(assets: str) -> Batchers:
    """The batchers of a store. They are cached, so that all ops of a process share their batches."""
    return Batchers(JobBook(Store(assets).blobs("batches")))


@cache
def _breaker(assets: str, spec: str) -> Breaker:
    """The breaker of a model. It is cached, so that all ops of a process stop together if the model is useless."""
    return Breaker()


@cache
def _parsers(workers: int, seconds: float, memory_bytes: int) -> ParserPool:
    """The parser workers. They are cached, because starting a worker takes longer than parsing most documents."""
    pool = ParserPool(workers=workers, seconds=seconds, memory_bytes=memory_bytes)
    atexit.register(pool.close)
    return pool
