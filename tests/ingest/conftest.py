from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.formats.base import ParsedFile, ParseOptions, Source
from qagen_dagster.formats.parser_pool import FileSource, ParserPool
from qagen_dagster.ingest.parsing import ParsingResult, parse_corpus
from qagen_dagster.records.corpus_options import CorpusConfig, DocumentOptions, ScenarioConfig
from qagen_dagster.records.document import IndexEntry
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


class CountingPool(ParserPool):
    """The real pool; keeps the names of the files it parsed."""

    def __init__(self) -> None:
        super().__init__(workers=2, seconds=60)
        self.parsed: list[str] = []
        self.before: Callable[[str], object] = str

    def parse(self, source: Source | FileSource, options: ParseOptions) -> ParsedFile:
        self.parsed.append(source.name)
        self.before(source.name)
        return super().parse(source, options)


@dataclass
class Desk:
    """A corpus on disk, its store, and how often its files were parsed."""

    folder: Path
    store: Store
    pool: CountingPool
    settings: Settings
    options: DocumentOptions = field(default_factory=DocumentOptions)

    @property
    def corpus(self) -> Corpus:
        config = CorpusConfig(
            name="Notes",
            corpus_context="Notes.",
            scenarios={"s": ScenarioConfig(name="s", description="s")},
            documents=self.options,
        )
        return Corpus("notes", self.folder, config)

    @property
    def documents(self) -> Path:
        return self.folder / "documents"

    def add(self, name: str, content: str | bytes) -> Path:
        path = self.documents / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def parse(self, **settings: Any) -> ParsingResult:
        self.pool.parsed.clear()
        chosen = Settings(**{**vars(self.settings), **settings})
        return parse_corpus(self.corpus, self.store, self.pool, chosen)

    def entry(self, document_id: str) -> IndexEntry:
        (found,) = (entry for entry in self.parse().index.documents if entry.id == document_id)
        return found


@pytest.fixture(scope="session")
def pool() -> Iterator[CountingPool]:
    with CountingPool() as pool:
        yield pool


@pytest.fixture
def desk(tmp_path: Path, pool: CountingPool) -> Desk:
    (tmp_path / "notes" / "documents").mkdir(parents=True)
    pool.parsed.clear()
    pool.before = str
    store = Store(tmp_path / "assets")
    settings = Settings(corpora=tmp_path, assets=str(tmp_path / "assets"), parser_workers=2)
    return Desk(tmp_path / "notes", store, pool, settings)
