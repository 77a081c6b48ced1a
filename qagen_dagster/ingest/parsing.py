"""Parses a corpus into the store, and finds the visuals of its documents. Unchanged files are kept.

Each file gives documents, or an outcome that states why there are none.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache, partial
from itertools import groupby, islice
from operator import attrgetter
from threading import Event

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import VERSIONS, ParsedFile, ParsedText, ParseOptions, RowFailure
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.ingest import corpus_files
from qagen_dagster.ingest.parallel import Progress, apply_to_all
from qagen_dagster.records.document import (
    CorpusIndex,
    Document,
    DocumentChanges,
    IndexEntry,
    Metadata,
    Outcome,
    VisualManifest,
)
from qagen_dagster.records.ids import content_hash, document_id, fingerprint
from qagen_dagster.records.text import counted
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

NEVER_PARSED = "its documents were never parsed"
USABLE = (Outcome.PARSED, Outcome.NO_TEXT)
_PARSERS = tuple(f"{name}-{version}" for name, version in VERSIONS.items())
_NO_PARSER = f"none-{fingerprint(_PARSERS)[:8]}"  # for a file that no parser accepts; it is tried again when a parser changes


class _Fault(Enum):
    """The reason why a file of a corpus is parsed, in words for a person."""

    NEW = "new files"
    CHANGED = "changed files"
    REMOVED = "removed files"
    OPTIONS = "files parsed with other options"
    PARSER = "files parsed by another version of the parser"
    DAMAGED = "files with a damaged or missing record"
    UNSEEN = "documents without a list of their tables and figures"


@dataclass(frozen=True)
class ParsingResult:
    """The new index, the former index, and the number of files that were parsed."""

    index: CorpusIndex
    former: CorpusIndex
    parsed_files: int

    def changes(self, run_id: str, at: str) -> DocumentChanges:
        """The differences between the two indexes."""
        before, now = ({one.id: one for one in index.documents} for index in (self.former, self.index))
        return DocumentChanges(
            corpus=self.index.corpus,
            run_id=run_id,
            at=at,
            changed=tuple(one for name, one in now.items() if _state(one) != _state(before.get(name))),
            removed=tuple(one for name, one in before.items() if name not in now),
        )


def _state(entry: IndexEntry | None) -> tuple[str, ...]:
    return () if entry is None else (entry.version, entry.outcome, entry.text_sha256)


@dataclass(frozen=True)
class _Reading:
    """The parse options, and their tag in the entries of an index."""

    options: ParseOptions
    tag: str

    @classmethod
    def of(cls, corpus: Corpus, settings: Settings) -> "_Reading":
        """Raises ConfigError when a configured password variable is not set."""
        options = corpus.config.documents
        return cls(corpus_files.parse_options(options), corpus_files.options_fingerprint(options, settings))

    def tag_for(self, outcome: Outcome, sha256: str) -> str:
        """The tag of a file. If no password opened the file, the tag changes with the passwords, so that the file is retried."""
        given = tuple(sorted(self.options.passwords.values()))
        if outcome is not Outcome.ENCRYPTED or not given:
            return self.tag
        return f"{self.tag}-{_passwords_hash(sha256, given)}"


@lru_cache(maxsize=10_000)
def _passwords_hash(salt: str, passwords: tuple[str, ...]) -> str:
    """A hash from which passwords are slow to guess (RFC 7914)."""
    text = fingerprint(passwords).encode()
    return hashlib.scrypt(text, salt=salt.encode(), n=2**14, r=8, p=1, dklen=8).hex()


@dataclass(frozen=True)
class _Job:
    corpus: str
    store: Store
    pool: ParserPool
    reading: _Reading
    previous: dict[str, tuple[IndexEntry, ...]]
    stopped: Event = field(default_factory=Event)


def parse_corpus(
    corpus: Corpus,
    store: Store,
    pool: ParserPool,
    settings: Settings,
    progress: Progress | None = None,
    *,
    run_id: str = "",
) -> ParsingResult:
    """Parse the new and changed files of the corpus, and write its index if it has changed. With a `run_id`, the changes of the index
    are stored, too. Raises ConfigError when a configured password variable is not set."""
    known = store.find_valid(CorpusIndex.key(corpus.key), CorpusIndex)
    job = _Job(
        corpus=corpus.key,
        store=store,
        pool=pool,
        reading=_Reading.of(corpus, settings),
        previous={name: tuple(entries) for name, entries in _by_source(known.documents if known else ())},
    )
    files = corpus_files.discover(corpus)
    try:
        names = [file.name for file in files]
        done = apply_to_all(partial(_one_file, job), files, names, settings.parser_workers, progress)
    finally:
        job.stopped.set()
    index = CorpusIndex(corpus=corpus.key, documents=tuple(entry for found, _ in done for entry in found))
    if index != known:
        store.write(CorpusIndex.key(corpus.key), index)
    result = ParsingResult(index, known or CorpusIndex(corpus=corpus.key), sum(is_new for _, is_new in done))
    changes = result.changes(run_id, datetime.now(UTC).isoformat())
    if run_id and (changes.changed or changes.removed):
        # The catalog gets every version of a document from these changes
        store.write(DocumentChanges.key(run_id, corpus.key), changes)
    return result


def is_current(corpus: Corpus, store: Store, settings: Settings) -> bool:
    """Whether the stored documents are up to date with the files and the parse options."""
    return not why_outdated(corpus, store, settings)


def why_outdated(corpus: Corpus, store: Store, settings: Settings) -> tuple[str, ...]:
    """The reasons why the stored documents are not up to date with the files and the parse options, one line each."""
    key = CorpusIndex.key(corpus.key)
    if store.find_head(key, CorpusIndex, IndexEntry) is None:
        return (NEVER_PARSED,)
    faults, removed = _faults(corpus, store, settings)
    why: dict[str, list[str]] = {}
    for name, fault in sorted(faults):
        why.setdefault(fault, []).append(name)
    why |= {_Fault.REMOVED.value: removed} if removed else {}
    if not why:
        usable = (entry for entry in store.rows(key, CorpusIndex, IndexEntry) if entry.outcome in USABLE)
        unseen = [entry.id for entry in usable if not _has_manifest(entry, corpus.key, store)]
        why |= {_Fault.UNSEEN.value: unseen}
    return tuple(line for what, names in why.items() for line in counted(what, names))


def _faults(corpus: Corpus, store: Store, settings: Settings) -> tuple[list[tuple[str, str]], list[str]]:
    """The files that must be parsed, each with the fault; and the files that are gone."""
    reading = _Reading.of(corpus, settings)
    files = {file.name: file for file in corpus_files.discover(corpus)}
    faults: list[tuple[str, str]] = []
    removed: list[str] = []
    known = store.rows(CorpusIndex.key(corpus.key), CorpusIndex, IndexEntry)
    for source, entries in _by_source(known):
        file = files.pop(source, None)
        if file is None:
            removed.append(source)
            continue
        sha256 = corpus_files.hash_or_outcome(file, reading.options.max_bytes, Event())
        found = (_fault(entry, sha256, reading, corpus.key, store) for entry in entries)
        faults += [(source, fault.value) for fault in islice(filter(None, found), 1)]
    return [*faults, *((name, _Fault.NEW.value) for name in files)], removed


def _by_source(entries: Iterable[IndexEntry]) -> Iterator[tuple[str, Iterator[IndexEntry]]]:
    return groupby(entries, key=attrgetter("source"))  # an index keeps the entries of a file together


def files_version(corpus: Corpus, settings: Settings) -> str:
    """A hash that changes with the files of a corpus, the parse options and the parsers. Raises ConfigError. The content
    of a file is reread only if its size or times differ from the last call in this process."""
    options = corpus.config.documents
    max_bytes = corpus_files.parse_options(options).max_bytes
    files = (f"{file.name} {_known_hash(file, max_bytes)}" for file in corpus_files.discover(corpus))
    return fingerprint([corpus_files.options_fingerprint(options, settings), *_PARSERS, *files])


def _known_hash(file: corpus_files.CorpusFile, max_bytes: int) -> str:
    try:
        found = file.path.stat()
    except OSError as error:
        return f"{error.strerror}"
    return _hash_of(file, max_bytes, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


@lru_cache(maxsize=100_000)
def _hash_of(file: corpus_files.CorpusFile, max_bytes: int, _state: tuple[int, ...]) -> str:
    found = corpus_files.hash_or_outcome(file, max_bytes, Event())
    return found if isinstance(found, str) else f"{found.outcome.value} {found.detail}"


def _has_manifest(entry: IndexEntry, corpus: str, store: Store) -> bool:
    """Whether there is a list of visuals for this version of the document."""
    found = store.find_valid(VisualManifest.key(corpus, entry.id), VisualManifest)
    return found is not None and found.document_version == entry.version


def _one_file(job: _Job, file: corpus_files.CorpusFile) -> tuple[list[IndexEntry], bool]:
    sha256 = corpus_files.hash_or_outcome(file, job.reading.options.max_bytes, job.stopped)
    kept = job.previous.get(file.name, ())
    crashed = any(entry.outcome is Outcome.CRASHED for entry in kept)  # a crash may not happen again
    faults = (_fault(entry, sha256, job.reading, job.corpus, job.store) for entry in kept)
    if kept and not crashed and not any(faults):
        return list(kept), False
    if isinstance(sha256, ParsedFile):
        return [_failed_file(file, sha256, "", job)], False
    found = job.pool.parse(file.source, job.reading.options)
    sha256 = found.sha256 or sha256  # the hash of the parsed content, since the file may have changed
    if not found.entries:
        return [_failed_file(file, found, sha256, job)], True
    return [_store(file, found, entry, sha256, job) for entry in found.entries], True


def _fault(
    entry: IndexEntry, sha256: str | ParsedFile, reading: _Reading, corpus: str, store: Store
) -> _Fault | None:
    """The reason why a file must be reparsed; None if the stored document is still valid."""
    if isinstance(sha256, ParsedFile):
        same = (entry.outcome, entry.detail) == (sha256.outcome, sha256.detail)
        return None if same and store.exists(Document.key(corpus, entry.id)) else _Fault.CHANGED
    if entry.source_sha256 != sha256:
        return _Fault.CHANGED
    if entry.options != reading.tag_for(entry.outcome, sha256):
        return _Fault.OPTIONS
    if entry.parser not in {*_PARSERS, _NO_PARSER}:
        return _Fault.PARSER
    if store.find_valid(Document.key(corpus, entry.id), Document) is None:
        return _Fault.DAMAGED
    text = store.get(Document.text_key(corpus, entry.id)) if entry.text_sha256 else None
    return None if not entry.text_sha256 or corpus_files.has_text(text, entry) else _Fault.DAMAGED


def _store(
    file: corpus_files.CorpusFile, found: ParsedFile, entry: ParsedText | RowFailure, sha256: str, job: _Job
) -> IndexEntry:
    document = _document(file, found, entry, sha256)
    if isinstance(entry, ParsedText):
        text = entry.text.encode("utf-8", "replace")
        document = document.model_copy(update={"text_sha256": content_hash(text)})
        _write_text(job, document, text)
    job.store.write(Document.key(job.corpus, document.id), document)
    return _entry(document, job.reading.tag)


def _write_text(job: _Job, document: Document, text: bytes) -> None:
    """Write the text of a document. A stored text that does not match the index is set aside."""
    key = Document.text_key(job.corpus, document.id)
    stored = job.store.get(key)
    before = [one for one in job.previous.get(document.source, ()) if one.id == document.id]
    if stored not in (None, text) and not all(corpus_files.has_text(stored, one) for one in before):
        job.store.set_aside(key, stored or b"", f"{job.store.path(key)} is not the text that was parsed")
    job.store.write_bytes(key, text)


def _document(
    file: corpus_files.CorpusFile, found: ParsedFile, entry: ParsedText | RowFailure | None, sha256: str
) -> Document:
    """The record of one entry of a file, or of a file without entries."""
    row = entry.row if entry else None
    document = Document(
        id=document_id(file.name, row),
        source=file.name,
        row=row,
        format=found.format,
        outcome=(entry or found).outcome,
        detail=(entry or found).detail,
        source_sha256=sha256,
        parser=found.parser or _NO_PARSER,
        bytes=found.bytes,
        metadata=entry.metadata if entry else Metadata(),
    )
    if not isinstance(entry, ParsedText):
        return document
    return document.model_copy(
        update={
            "line_count": entry.text.count("\n") + 1 if entry.text else 0,
            "char_count": len(entry.text),
            "page_count": entry.page_count,
            "ocr": entry.ocr,
            "pages": entry.pages,
            "sections": entry.sections,
            "wrapped": entry.wrapped,
        }
    )


def _entry(document: Document, options: str) -> IndexEntry:
    return IndexEntry(**document.shared(IndexEntry), options=options)


def _failed_file(file: corpus_files.CorpusFile, found: ParsedFile, sha256: str, job: _Job) -> IndexEntry:
    document = _document(file, found, None, sha256)
    job.store.remove(Document.text_key(job.corpus, document.id))  # the text of an earlier version
    job.store.write(Document.key(job.corpus, document.id), document)
    return _entry(document, job.reading.tag_for(document.outcome, sha256))


def build_manifests(
    corpus: Corpus,
    index: CorpusIndex,
    store: Store,
    pool: ParserPool,
    settings: Settings,
    progress: Progress | None = None,
) -> list[VisualManifest]:
    """The manifest of every usable document, in index order. A failure is recorded in the manifest."""
    options = corpus_files.parse_options(corpus.config.documents)
    usable = [entry for entry in index.documents if entry.outcome in USABLE]
    work = partial(_manifest, corpus, store, pool, options)
    return apply_to_all(work, usable, [entry.id for entry in usable], settings.parser_workers, progress)


def _manifest(
    corpus: Corpus, store: Store, pool: ParserPool, options: ParseOptions, entry: IndexEntry
) -> VisualManifest:
    key = VisualManifest.key(corpus.key, entry.id)
    known = store.find_valid(key, VisualManifest)
    if known is not None and known.document_version == entry.version and known.failure is None:
        return known
    source = corpus_files.source_of(corpus, entry.source)
    document = store.find(Document.key(corpus.key, entry.id), Document)
    options = replace(options, known_pages=document.pages if document else ())
    try:
        visuals, failure = pool.visuals(source, entry.row, options), None
    except DocumentError as error:
        visuals, failure = (), str(error)
    manifest = VisualManifest(
        document_id=entry.id, document_version=entry.version, visuals=visuals, failure=failure
    )
    store.write(key, manifest)
    return manifest
