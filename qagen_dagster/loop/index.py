"""Brings the search index of a corpus up to date with its documents within a budget, opens it, and says why it is out of date.

The id of a document decides its file among SHARDS files, so a changed document rewrites only a part of the index. Each shard is
written as a whole. The record that names the shards is written last. An index with another fingerprint is built in a folder of its
own, and the former index is removed when the new one is complete.
"""

import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import BudgetExhaustedError, ModelError, StoreError
from qagen_dagster.index.chunk_store import ChunkTable, EmbeddedDocument, documents_in, write_shard
from qagen_dagster.index.search import Searcher, embed_document, index_fingerprint
from qagen_dagster.ingest.corpus_files import stored_text
from qagen_dagster.ingest.parallel import interruptible
from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.loop.configuration import OTHER_VERSION, Configuration, differences
from qagen_dagster.loop.parallel import FailuresInARow, counter
from qagen_dagster.loop.shared_budget import BudgetMeter, effective_budget, partition_meter
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance, Meter
from qagen_dagster.models.embedders import Embedder, EmbedderSpec, EmbeddingUse
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.providers import build_embedder
from qagen_dagster.records.document import IndexedDocument, IndexEntry, SearchIndex
from qagen_dagster.records.ids import digest
from qagen_dagster.records.text import counted
from qagen_dagster.settings import secret
from qagen_dagster.store import Store

SHARDS = 16
# consecutive documents that cannot be embedded, after which the embedder counts as broken
MAX_FAILURES = 5
BUILD_HINT = "`qagen index`, or materializing the asset `document_index`, makes it"

Progress = Callable[[int, int, str], None]  # documents done, all documents, id of the last document


@dataclass(frozen=True)
class IndexBuild:
    """The new index, and the cost of building it."""

    index: SearchIndex
    embedded: tuple[str, ...]  # ids of the documents that were embedded now
    use: EmbeddingUse
    seconds: float


@dataclass(frozen=True)
class CorpusSearch:
    """The open index of a corpus."""

    index: SearchIndex
    searcher: Searcher

    def holds(self, entry: IndexEntry) -> bool:
        """Whether the index has the current text of a document. Positions in the index fit only this text."""
        return self.index.texts.get(entry.id) == entry.text_sha256

    def close(self) -> None:
        """Free the memory."""
        self.searcher.close()


@dataclass(frozen=True)
class _Job:
    corpus: Corpus
    store: Store
    embedder: Embedder
    fingerprint: str
    threads: ThreadPoolExecutor
    failures: FailuresInARow
    done: Callable[[str], None]

    def key(self, shard: int) -> str:
        return SearchIndex.shard_key(self.corpus.key, self.fingerprint, shard)


def build_index(
    space: Workspace,
    corpus_key: str,
    profile: str | None = None,
    progress: Progress | None = None,
    meter: Meter | None = None,
) -> IndexBuild:
    """Bring the search index of a corpus up to date with its parsed documents.

    A document that cannot be embedded gets an entry with the error, even if only `meter` forbids more spending. The next build tries it
    again. Raises ConfigError, StoreError if the corpus was never parsed, and ModelError if MAX_FAILURES consecutive documents cannot
    be embedded. Documents that were finished before the error are kept.
    """
    started = time.monotonic()
    corpus = space.corpus(corpus_key)
    spec = space.profile(profile or space.settings.profile).embedder
    entries = [entry for entry in space.index(corpus_key).documents if entry.outcome in USABLE]
    cpus = space.settings.parser_workers
    embedder = embedder_of(space, spec, cpus, meter)
    workers = 1 if spec.local else space.settings.document_workers  # a local embedder uses all CPUs itself
    with interruptible(workers, "embed") as threads:
        job = _Job(
            corpus=corpus,
            store=space.store,
            embedder=embedder,
            fingerprint=index_version(space, corpus_key, profile),
            threads=threads,
            failures=FailuresInARow(MAX_FAILURES),
            done=counter(progress, len(entries)),
        )
        index, embedded = _build(job, entries)
    return IndexBuild(index, embedded, embedder.use, round(time.monotonic() - started, 3))


def _build(job: _Job, entries: Sequence[IndexEntry]) -> tuple[SearchIndex, tuple[str, ...]]:
    before = job.store.find_valid(SearchIndex.key(job.corpus.key), SearchIndex)
    known = before if before is not None and before.fingerprint == job.fingerprint else None
    documents: dict[str, IndexedDocument] = {}
    embedded: list[str] = []
    for number in range(SHARDS):
        mine = [entry for entry in entries if shard_of(entry.id) == number]
        found, fresh = _unchanged(job, number, mine, known) or _shard(job, number, mine)
        documents |= {one.id: one for one in found}
        embedded += fresh
        job.failures.check("documents in a row could not be embedded")
    index = SearchIndex(
        corpus=job.corpus.key,
        fingerprint=job.fingerprint,
        embedder=job.embedder.spec.model_dump(mode="json"),
        documents=tuple(documents[entry.id] for entry in entries),
        shards=tuple(number for number in range(SHARDS) if job.store.exists(job.key(number))),
    )
    if index != before:
        job.store.write(SearchIndex.key(job.corpus.key), index)
    for key in job.store.list(f"search/{job.corpus.key}/"):
        if key.endswith(".parquet") and f"/{job.fingerprint}/" not in key:
            job.store.remove(key)
    return index, tuple(embedded)


@lru_cache(maxsize=100_000)
def shard_of(document_id: str) -> int:
    """The shard of a document."""
    return int(digest(document_id)[:8], 16) % SHARDS


def _unchanged(
    job: _Job, number: int, entries: Sequence[IndexEntry], known: SearchIndex | None
) -> tuple[list[IndexedDocument], list[str]] | None:
    """What `_shard` returns for a shard that needs no work, with no newly embedded document; None if it needs work.

    A shard needs no work if the last record of the index and the file of the shard have exactly the texts of `entries`.
    """
    if known is None:
        return None
    recorded = {document.id: document for document in known.documents if shard_of(document.id) == number}
    wanted = {entry.id: entry.text_sha256 for entry in entries}
    same = {name: one.text_sha256 for name, one in recorded.items() if one.failure is None} == wanted
    with _local(job.store, [job.key(number)]) as files:
        held = {name for name, one in recorded.items() if one.chunks}
        if not same or (number in known.shards) != bool(files) or set(_stored(job, number, files)) != held:
            return None
    for name in wanted:
        job.done(name)
    return list(recorded.values()), []


def _shard(job: _Job, number: int, entries: Sequence[IndexEntry]) -> tuple[list[IndexedDocument], list[str]]:
    """Bring one shard up to date. Returns its documents, and the ids of the documents that were embedded now."""
    with _local(job.store, [job.key(number)]) as files:
        stored = _stored(job, number, files)
        old = files[0] if stored else None
        kept = {e.id: stored[e.id][1] for e in entries if stored.get(e.id, ("", 0))[0] == e.text_sha256}
        due = [entry for entry in entries if entry.id not in kept]
        made = list(job.threads.map(partial(_embed, job), due))
        fresh = [one for one in made if isinstance(one, EmbeddedDocument)]
        found = {one.id: _indexed(one) for one in made} | {
            entry.id: IndexedDocument(id=entry.id, text_sha256=entry.text_sha256, chunks=kept[entry.id])
            for entry in entries
            if entry.id in kept
        }
        chunked = [one for one in fresh if one.chunks]
        if not chunked and not kept:
            job.store.remove(job.key(number))
        elif chunked or set(kept) != set(stored):
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "shard.parquet"
                write_shard(target, old if kept else None, kept, chunked)
                job.store.write_bytes(job.key(number), target.read_bytes())
    for name in kept:
        job.done(name)
    return [found[entry.id] for entry in entries], [one.id for one in fresh]


def _stored(job: _Job, number: int, files: Sequence[Path]) -> dict[str, tuple[str, int]]:
    """For each document in the file of a shard, the hash of its text and its number of chunks. A damaged file is set aside."""
    try:
        return documents_in(files) if files else {}
    except StoreError as error:
        job.store.set_aside(job.key(number), files[0].read_bytes(), str(error))
        return {}


def _embed(job: _Job, entry: IndexEntry) -> EmbeddedDocument | IndexedDocument:
    """One document with its vectors; or its entry with the error if it cannot be embedded."""
    failure = ""
    try:
        if job.failures.fault is None:
            text = stored_text(job.store, job.corpus.key, entry)
            done = embed_document(entry.id, text, entry.text_sha256, job.corpus.config.index, job.embedder)
            job.failures.succeeded()
            return done
        failure = "not tried: the embedder failed for others"
    except BudgetExhaustedError as error:
        failure = str(error)
    except ModelError as error:
        job.failures.failed(error)
        failure = str(error)
    finally:
        job.done(entry.id)
    return IndexedDocument(id=entry.id, text_sha256=entry.text_sha256, failure=failure)


def _indexed(document: EmbeddedDocument | IndexedDocument) -> IndexedDocument:
    if isinstance(document, IndexedDocument):
        return document
    return IndexedDocument(id=document.id, text_sha256=document.text_sha256, chunks=len(document.chunks))


def is_indexed(space: Workspace, corpus_key: str) -> bool:
    """Whether a readable index has the current text of every usable document, made by any embedder. Raises StoreError."""
    index = space.store.find_valid(SearchIndex.key(corpus_key), SearchIndex)
    if index is None:
        return False
    wanted = {
        entry.id: entry.text_sha256 for entry in space.index(corpus_key).documents if entry.outcome in USABLE
    }
    keys = [SearchIndex.shard_key(corpus_key, index.fingerprint, number) for number in index.shards]
    try:
        with _local(space.store, keys) as files:
            held = documents_in(files).keys() if files else set[str]()
    except StoreError:
        return False
    known = index.texts
    return wanted == known and held == {document.id for document in index.documents if document.chunks}


def index_version(space: Workspace, corpus_key: str, profile: str | None = None) -> str:
    """The fingerprint of the index that a run would build. Raises ConfigError."""
    spec = space.profile(profile or space.settings.profile).embedder
    return index_fingerprint(spec, space.corpus(corpus_key).config.index)


def open_index(space: Workspace, corpus_key: str, meter: Meter | None = None) -> CorpusSearch:
    """Read the search index of a corpus into memory. `meter` checks and records paid queries.

    Raises StoreError if there is no index, or if it is incomplete. The message says how to build the index.
    """
    index = space.store.find(SearchIndex.key(corpus_key), SearchIndex)
    if index is None:
        raise StoreError(f"corpus {corpus_key} has no search index: {BUILD_HINT}")
    spec = EmbedderSpec.model_validate(index.embedder)
    chosen = space.profile(space.settings.profile).embedder  # has the present API key, limits and address
    embedder = embedder_of(space, chosen if chosen.identity() == spec.identity() else spec, meter=meter)
    keys = [SearchIndex.shard_key(corpus_key, index.fingerprint, number) for number in index.shards]
    with _local(space.store, keys) as files:
        if len(files) < len(keys):
            raise StoreError(f"the search index of corpus {corpus_key} is incomplete: {BUILD_HINT}")
        table = ChunkTable.of_shards(files) if files else None
    return CorpusSearch(index, Searcher(table, embedder))


@contextmanager
def _local(store: Store, keys: Sequence[str]) -> Generator[list[Path]]:
    """Local paths of the files with these keys. Files of a remote store are copied."""
    with tempfile.TemporaryDirectory() as folder:
        files: list[Path] = []
        for number, key in enumerate(keys):
            path = store.local_path(key)
            if path is None and (data := store.get(key)) is not None:
                path = Path(folder) / f"{number}.parquet"
                path.write_bytes(data)
            if path is not None and path.is_file():
                files.append(path)
        yield files


def embedder_of(
    space: Workspace, spec: EmbedderSpec, threads: int = 1, meter: Meter | None = None
) -> Embedder:
    """The embedder of a spec, which uses the ledger of the store. Raises ConfigError."""
    return build_embedder(
        spec, Ledger(space.store.blobs("ledger")), secret, space.settings.state, threads, meter
    )


def index_meter(
    space: Workspace,
    corpus: str,
    launch: str,
    profile: str | None = None,
    run_budget: Allowance | None = None,
) -> BudgetMeter | None:
    """The meter for paid embeddings; None if there is no limit. Raises ConfigError if dollars are limited and prices are unknown."""
    budget = effective_budget(space.profile(profile or space.settings.profile), run_budget)
    return partition_meter(space.store, budget, SearchIndex.spending_folder(launch, corpus))


def wanted_index(space: Workspace, corpus: str, profile: str | None = None) -> Configuration:
    """The configuration with which a run would build the index. Raises ConfigError."""
    spec = space.profile(profile or space.settings.profile).embedder
    options = space.corpus(corpus).config.index.model_dump()
    settings = {f"index {name}": str(value) for name, value in options.items()}
    return Configuration(index_version(space, corpus, profile), _parts(spec), settings)


def made_index(space: Workspace, corpus: str, _wanted: Configuration) -> Configuration | None:
    """The configuration of the stored index; None if there is none."""
    index = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if index is None:
        return None
    return Configuration(index.fingerprint, _parts(EmbedderSpec.model_validate(index.embedder)))


def why_index_outdated(space: Workspace, corpus: str, profile: str | None = None) -> tuple[str, ...]:
    """The reasons why an existing index is out of date, in one line each; empty without an index. Raises ConfigError and StoreError."""
    index = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if index is None:
        return ()
    wanted = wanted_index(space, corpus, profile)
    if index.fingerprint != wanted.version:
        return differences(_parts(EmbedderSpec.model_validate(index.embedder)), wanted.parts) or (
            OTHER_VERSION,
        )
    if is_indexed(space, corpus):
        return ()
    now = {one.id: one.text_sha256 for one in space.index(corpus).documents if one.outcome in USABLE}
    known = index.texts
    differing = [name for name in {**known, **now} if known.get(name) != now.get(name)]
    return tuple(counted("outdated documents", differing)) or ("one of its files is damaged",)


def _parts(spec: EmbedderSpec) -> Mapping[str, str]:
    return {"embedder": spec.name}
