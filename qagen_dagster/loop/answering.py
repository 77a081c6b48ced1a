"""Finds the document, the index and the model with which a question about a document of a corpus, or about any file, is answered."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qagen_dagster.answering.answer_from_document import Place
from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError, StoreError, TooLargeError
from qagen_dagster.index.search import ChunkSource, Indexed
from qagen_dagster.ingest.corpus_files import parse_options
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.index import open_index
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.embedders import Embedder
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.providers import build_embedder, build_model
from qagen_dagster.records.corpus_options import CorpusConfig, ScenarioConfig
from qagen_dagster.records.document import CorpusIndex
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import secret
from qagen_dagster.store import Store
from qagen_dagster.untrusted_file import checked_size, open_file

_LOOSE = "file"  # the name of the corpus for a file that belongs to none
_LOOSE_CONFIG = CorpusConfig(
    name=_LOOSE,
    corpus_context="one file",
    scenarios={"answer": ScenarioConfig(name="answer", description="one answer")},
)


class UnknownDocumentError(ConfigError):
    """No corpus has a document with the given name."""


@dataclass(frozen=True)
class Asked:
    """A document, and the `Place` with everything that answers questions about it."""

    document_id: str
    place: Place


def in_corpus(space: Workspace, document: str, corpus: str | None, profile: str | None) -> Asked:
    """The stored document that has `document` as its id, as its path under documents/, or as the id of its row.

    Raises ConfigError for an unknown corpus, if several documents match, and if none matches and `corpus` is None. If `corpus` is
    given, an unknown document is no error here; the answer reports it.
    """
    keys = [corpus] if corpus is not None else sorted(space.corpora.corpora)
    found = [(key, entry) for key in keys for entry in _entries(space, key, document)]
    if len(found) > 1:
        named = ", ".join(f"{key}/{entry}" for key, entry in found[:8])
        raise ConfigError(f"several documents match {document} ({named}): give one id and --corpus")
    if not found and corpus is None:
        raise UnknownDocumentError(
            f"{document!r} is not a file, and no parsed corpus has a document with this name"
        )
    key, name = found[0] if found else (corpus or "", document)
    return Asked(name, corpus_place(space, key, profile))


def corpus_place(
    space: Workspace, corpus: str, profile: str | None = None, meter: Meter | None = None
) -> Place:
    """The place for answering from the documents of a corpus, with the search index if there is one. Raises ConfigError.

    `meter` checks the budget of embeddings and records their cost.
    """
    index = _index(space, corpus, meter)
    return _place(space, space.store, space.corpus(corpus), profile, index, meter)


@contextmanager
def loose_file(space: Workspace, path: Path, row: str | None, profile: str | None) -> Generator[Asked]:
    """Parse any file into a temporary store, which exists only inside the `with` block. `row` names one of several rows.

    Raises ConfigError if the file cannot be copied, or if not exactly one of its documents matches `row`.
    """
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(_LOOSE, Path(folder) / _LOOSE, _LOOSE_CONFIG)
        corpus.documents_folder.mkdir(parents=True)
        _copy(path, corpus)
        store = Store(Path(folder) / "store")
        index = parse_corpus(corpus, store, space.parsers(), space.settings).index
        yield Asked(_row(path, index, row), _place(space, store, corpus, profile, None))


def _copy(path: Path, corpus: Corpus) -> None:
    """Copy a file into a corpus. Raises ConfigError for a file that cannot be read or is too large."""
    try:
        with open_file(path) as given, (corpus.documents_folder / path.name).open("wb") as copy:
            checked_size(given, parse_options(corpus.config.documents).max_bytes)
            shutil.copyfileobj(given, copy)
    except TooLargeError as error:
        raise ConfigError(str(error), file=path) from None
    except OSError as error:
        raise ConfigError(f"cannot be copied: {error.strerror}", file=path) from None


def _row(path: Path, index: CorpusIndex, row: str | None) -> str:
    found = [entry.id for entry in index.documents if row is None or entry.row == row]
    if len(found) == 1:
        return found[0]
    rows = ", ".join(str(entry.row) for entry in index.documents[:8])
    raise ConfigError(f"{path} has {len(index.documents)} documents: name one with --row (rows: {rows} ...)")


def _entries(space: Workspace, corpus: str, document: str) -> list[str]:
    index = space.store.find(CorpusIndex.key(corpus), CorpusIndex)
    entries = index.documents if index is not None else ()
    named = (
        [entry.id for entry in entries if getattr(entry, key) == document] for key in ("id", "source", "row")
    )
    return next((ids for ids in named if ids), list[str]())


def _index(space: Workspace, corpus: str, meter: Meter | None) -> Indexed | None:
    try:
        opened = open_index(space, corpus, meter)
    except StoreError:
        return None  # never built: texts are embedded when a question about them is asked
    return Indexed(opened.searcher, opened.index.texts)


def _place(
    space: Workspace,
    store: Store,
    corpus: Corpus,
    profile: str | None,
    index: Indexed | None,
    meter: Meter | None = None,
) -> Place:
    chosen = space.profile(profile or space.settings.profile)
    ledger = Ledger(space.store.blobs("ledger"))
    embedder: Embedder = build_embedder(chosen.embedder, ledger, secret, space.settings.state, meter=meter)

    def model(name: str | None, temperature: float | None) -> Model:
        spec = chosen.spec(Role.ANSWERER, Mode.TEXTUAL)
        changes: dict[str, object] = {"execution": "direct"}  # a person waits for the answer
        if name is not None:
            changes["model"] = name
        if temperature is not None:
            changes["temperature"] = temperature
        return build_model(spec.model_copy(update=changes), ledger, secret, space.settings.state)

    return Place(
        store=store,
        corpus=corpus.key,
        options=corpus.config.answering,
        pool=space.parsers(),
        model=model,
        chunks=ChunkSource(embedder, corpus.config.index, index),
    )
